import { type AuditEntry, detailsOf } from '../../audit/entry';
import { shorten } from '../../lib/text';
import { Table } from '../parts/blocks';
import { Badge, Code, Named, Time, Written } from '../parts/inline';
import { MAX_IN_LIST } from '../parts/request';
import { auditAddress, type Filters, isNarrowed } from './filters';
import { Decider, EVENT_NAMES } from './words';

const COLUMNS = ['Entry', 'Time', 'Event', 'Agent', 'Action', 'Resource', 'Decided by'];

/** The entries in a table. A click on an agent, event or action shows only entries with the same. */
export function EntryList({ entries, filters }: { entries: AuditEntry[]; filters: Filters }) {
  // With other filters than the time, entries are also missing because the filters leave them out.
  const isComplete = !isNarrowed(filters);
  return (
    <Table caption="Entries" columns={COLUMNS}>
      {entries.map((entry, index) => {
        const { id, sequence, created_at, event_type, agent_id } = entry;
        const details = detailsOf(entry);
        const [low = 0, high = 0] = [entries[index - 1]?.sequence ?? sequence, sequence].sort((a, b) => a - b);
        return (
          <>
            {isComplete && high - low > 1 && (
              <tr class="gap">
                <td colspan={COLUMNS.length}>
                  <Gap first={low + 1} last={high - 1} />
                </td>
              </tr>
            )}
            <tr>
              <th scope="row">
                <a href={`/console/audit/${id}`}>{`#${sequence}`}</a>
              </th>
              <td class="time">
                <Time at={created_at} toSeconds />
              </td>
              <td>
                <a class="filter" href={auditAddress(filters, { event_type })}>
                  <Badge state={event_type} label={EVENT_NAMES[event_type]} />
                </a>
              </td>
              <td>
                <a class="filter" href={auditAddress(filters, { agent_id })}>
                  <Named id={agent_id} />
                </a>
              </td>
              <td>
                <a class="filter" href={auditAddress(filters, { action: details.action })}>
                  <Code text={details.action} />
                </a>
              </td>
              <td class="resource">
                <Written text={shorten(details.resource, MAX_IN_LIST)} />
              </td>
              <td>{details.decided_by ? <Decider id={details.decided_by} /> : '–'}</td>
            </tr>
          </>
        );
      })}
    </Table>
  );
}

/** Explains why the log shows no entries with some sequences. Sequences have no gaps by themselves. */
export function Gap({ first, last }: { first: number; last: number }) {
  const isOne = first === last;
  return (
    <p class="soft">
      {isOne ? `Entry #${first} was erased` : `Entries #${first} to #${last} were erased`}: deleting an agent erases its
      entries, and so does the end of the time for which the plan keeps them.{' '}
      {isOne ? 'Its hash stays' : 'Their hashes stay'} in the log, so that the other entries can still be verified.
    </p>
  );
}

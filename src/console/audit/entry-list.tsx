import { type AuditEntry, detailsOf } from '../../audit/entry';
import { shorten } from '../../lib/text';
import type { Names } from '../frame/names';
import { Badge } from '../parts/badge';
import { Table } from '../parts/list';
import { MAX_IN_LIST } from '../parts/request-title';
import { Code, Named, Written } from '../parts/text';
import { Time } from '../parts/time';
import { auditAddress, type Filters } from './filters';
import { Gap } from './gap';
import { Decider, EVENT_NAMES } from './words';

const COLUMNS = ['Entry', 'Time', 'Event', 'Agent', 'Action', 'Resource', 'Decided by'];

interface EntryListProps {
  entries: AuditEntry[];
  names: Names;
  filters: Filters;
}

/** The entries in a table. A click on an agent, event or action shows only entries with the same. */
export function EntryList({ entries, names, filters }: EntryListProps) {
  // With other filters than the time, entries are also missing because the filters leave them out.
  const isComplete = ['agent_id', 'event_type', 'action', 'permission_id'].every((name) => !(name in filters));
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
                  <Named id={agent_id} names={names} />
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
              <td>{details.decided_by ? <Decider id={details.decided_by} names={names} /> : '–'}</td>
            </tr>
          </>
        );
      })}
    </Table>
  );
}

import type { Child } from 'hono/jsx';
import { type AuditEntry, detailsOf } from '../../audit/entry';
import { shorten } from '../../lib/text';
import { Badge, Code, Named, Time, Written } from '../parts/inline';
import { MAX_IN_LIST } from '../parts/request';
import { StackingTable } from '../parts/stacking-table';
import { auditAddress, type Filters, isNarrowed } from './filters';
import { Decider, EVENT_NAMES } from './words';

const COLUMNS = [
  { name: 'Entry' },
  { name: 'Time', class: 'time' },
  { name: 'Event' },
  { name: 'Agent' },
  { name: 'Action' },
  { name: 'Resource', class: 'resource' },
  { name: 'Decided by', hasLabel: true },
];

/**
 * The entries in a table. A click on an agent, event, action, resource or decider shows only entries
 * with the same.
 */
export function EntryList({ entries, filters }: { entries: AuditEntry[]; filters: Filters }) {
  // With other filters than the time, entries are also missing because the filters leave them out.
  const isComplete = !isNarrowed(filters);
  const rows = entries.flatMap((entry, index) => {
    const { sequence } = entry;
    const above = entries[index - 1]?.sequence ?? sequence;
    const low = Math.min(above, sequence);
    const high = Math.max(above, sequence);
    const cells = cellsOf(entry, filters);
    if (!isComplete || high - low <= 1) return [cells];
    return [[erasedText(low + 1, high - 1)], cells];
  });
  return (
    <>
      <StackingTable caption="Entries" columns={COLUMNS} rows={rows} />
      {rows.length > entries.length && <p class="hint">{WHY_ERASED}</p>}
    </>
  );
}

function cellsOf(entry: AuditEntry, filters: Filters): Child[] {
  const { id, sequence, created_at, event_type, agent_id } = entry;
  const { action, resource, decided_by } = detailsOf(entry);
  return [
    <a href={`/console/audit/${id}`}>{`#${sequence}`}</a>,
    <Time at={created_at} toSeconds />,
    <a class="filter" href={auditAddress(filters, { event_type })}>
      <Badge state={event_type} label={EVENT_NAMES[event_type]} />
    </a>,
    <a class="filter" href={auditAddress(filters, { agent_id })}>
      <Named id={agent_id} isShort />
    </a>,
    <a class="filter" href={auditAddress(filters, { action })}>
      <Code text={action} />
    </a>,
    <a class="filter" href={auditAddress(filters, { resource })}>
      <Written text={shorten(resource, MAX_IN_LIST)} />
    </a>,
    decided_by && (
      <a class="filter" href={auditAddress(filters, { decided_by })}>
        <Decider id={decided_by} isShort />
      </a>
    ),
  ];
}

const WHY_ERASED =
  'Deleting an agent erases its entries, and so does the end of the time for which the plan keeps ' +
  'them. Their hashes stay in the log, so that the other entries can still be verified.';

function erasedText(first: number, last: number): string {
  if (first === last) return `Entry #${first} was erased.`;
  return `Entries #${first} to #${last} were erased.`;
}

/**
 * Explains why the log shows no entries with some sequences. Sequences have no gaps by themselves.
 */
export function Gap({ first, last }: { first: number; last: number }) {
  return (
    <p class="soft">
      {erasedText(first, last)} {WHY_ERASED}
    </p>
  );
}

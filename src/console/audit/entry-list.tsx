import type { Child } from 'hono/jsx';
import { type AuditEntry, detailsOf } from '../../audit/entry';
import type { JsonObject } from '../../lib/json';
import { formatTime } from '../../lib/time';
import { amountText, leadingLimit } from '../../permissions/amount';
import { usePage } from '../frame/page-context';
import { Badge, Breakable, Named, Time, Written } from '../parts/inline';
import { StackingTable } from '../parts/stacking-table';
import { auditAddress, type Filters, isNarrowed } from './filters';
import { dayAround } from './period';
import { Decider, EVENT_NAMES } from './words';

const COLUMNS = [
  { name: 'Entry' },
  { name: 'Time', class: 'time' },
  { name: 'Event' },
  { name: 'Agent' },
  { name: 'Action' },
  { name: 'Resource', class: 'resource' },
  { name: 'Amount' },
  { name: 'Decided by', hasLabel: true },
];

interface EntryListProps {
  entries: AuditEntry[];
  filters: Filters;
  /** The time zone whose days the times lead to. */
  timeZone: string;
}

/**
 * The entries in a table. A click on a value shows only entries with the same; on a time, those of
 * its day.
 */
export function EntryList({ entries, filters, timeZone }: EntryListProps) {
  // With other filters than the time, entries are also missing because the filters leave them out.
  const isComplete = !isNarrowed(filters);
  const rows = entries.flatMap((entry, index) => {
    const { sequence } = entry;
    const above = entries[index - 1]?.sequence ?? sequence;
    const low = Math.min(above, sequence);
    const high = Math.max(above, sequence);
    const cells = cellsOf(entry, filters, timeZone);
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

function cellsOf(entry: AuditEntry, filters: Filters, timeZone: string): Child[] {
  const { id, sequence, created_at, event_type, agent_id } = entry;
  const { action, resource, scope, decided_by } = detailsOf(entry);
  const { from, to } = dayAround(timeZone, Date.parse(created_at));
  const day = { start_date: formatTime(from), end_date: formatTime(to) };
  return [
    <a href={`/console/audit/${id}`}>{`#${sequence}`}</a>,
    <a class="filter" href={auditAddress(filters, day)}>
      <Time at={created_at} toSeconds />
    </a>,
    <a class="filter" href={auditAddress(filters, { event_type })}>
      <Badge state={event_type} label={EVENT_NAMES[event_type]} />
    </a>,
    <a class="filter" href={auditAddress(filters, { agent_id })}>
      <Named id={agent_id} isShort />
    </a>,
    <a class="filter" href={auditAddress(filters, { action })}>
      <code>
        <Breakable text={action} />
      </code>
    </a>,
    <a class="filter" href={auditAddress(filters, { resource })}>
      <Breakable text={resource} />
    </a>,
    scope && leadingLimit(scope) && <Amount scope={scope} filters={filters} />,
    decided_by && (
      <a class="filter" href={auditAddress(filters, { decided_by })}>
        <Decider id={decided_by} isShort />
      </a>
    ),
  ];
}

/** How much the limits allow. Only a number at their top level can be a filter. */
function Amount({ scope, filters }: { scope: JsonObject; filters: Filters }) {
  const text = amountText(scope, usePage().formatNumber);
  const [path = [], value] = leadingLimit(scope) ?? [];
  const [scope_key = ''] = path;
  const isFilter = path.length === 1 && scope_key !== '' && scope_key.trim() === scope_key;
  if (text === null || !isFilter) return <Written text={text ?? ''} />;
  const number = String(value);
  return (
    <a
      class="filter"
      href={auditAddress(filters, { scope_key, scope_min: number, scope_max: number })}
    >
      <Written text={text} />
    </a>
  );
}

const WHY_ERASED =
  'Entries are erased when their agent is deleted, or when the plan no longer keeps them. ' +
  'Their hashes stay in the log, so that the other entries can still be verified.';

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

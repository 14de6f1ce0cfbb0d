import type { Child } from 'hono/jsx';
import { EventType } from '../../audit/entry';
import { queryDecimal } from '../../http/fields';
import { DAY } from '../../lib/time';
import type { Refusal } from '../frame/form';
import { agentsOf, decidersOf } from '../frame/names';
import { usePage } from '../frame/page-context';
import { addMissingOption, SelectField, TextField } from '../parts/fields';
import { Alert, Submit } from '../parts/form';
import { Code, joinElements, Named } from '../parts/inline';
import { RefusalProvider } from '../parts/refusal';
import { AMOUNT, auditAddress, type Filters } from './filters';
import { isPeriod, PERIOD_OPTIONS, PERIODS, type Period } from './period';
import { ZoneField } from './presets';
import { formatUtc } from './timeline';
import { Decider, EVENT_NAMES } from './words';

interface FilterFormProps {
  filters: Filters;
  /** The time zone of the reader; undefined if only the browser knows it. */
  timeZone: string | undefined;
  refusal: Refusal | undefined;
}

/** The form that sets the filters of the explorer. */
export function FilterForm({ filters, timeZone, refusal }: FilterFormProps) {
  const { agent_id, event_type, action, resource, decided_by, permission_id, order } = filters;
  const { scope_key, scope_min, scope_max, period } = filters;
  return (
    <details class="card" open={refusal !== undefined}>
      <summary>Filter</summary>
      <form method="get" action="/console/audit">
        {refusal && <Alert>Nothing is shown. Correct the marked fields.</Alert>}
        <RefusalProvider value={refusal}>
          <div class="fields">
            <SelectField
              label="Agent"
              name="agent_id"
              value={agent_id}
              options={addMissingOption(
                [['', 'All agents'], ...agentsOf(usePage().names)],
                agent_id ?? '',
              )}
            />
            <SelectField
              label="Event"
              name="event_type"
              value={event_type}
              options={[
                ['', 'All events'],
                ...EventType().options.map((type) => [type, EVENT_NAMES[type]] as const),
              ]}
            />
            <TextField
              label="Action"
              name="action"
              value={action}
              hint="The whole action, such as email.send"
            />
            <TextField
              label="Resource"
              name="resource"
              value={resource}
              hint="The whole resource, or its beginning and *, such as mailbox:*"
            />
            <SelectField
              label="Decided or voted by"
              name="decided_by"
              value={decided_by}
              options={addMissingOption(
                [['', 'Anybody'], ...decidersOf(usePage().names)],
                decided_by ?? '',
              )}
            />
            <NumberField label="Amount, at least" name="scope_min" value={scope_min} />
            <NumberField label="Amount, at most" name="scope_max" value={scope_max} />
            <TextField
              label="Limit with the amount"
              name="scope_key"
              value={scope_key === AMOUNT ? undefined : scope_key}
              placeholder={AMOUNT}
              hint="The name that the agent gave it, such as max_amount"
            />
            <SelectField label="When" name="period" value={period} options={PERIOD_OPTIONS} />
            <ZoneField timeZone={timeZone} />
            <TimeField label="From (UTC)" name="start_date" filters={filters} />
            <TimeField label="Until (UTC)" name="end_date" filters={filters} />
            <SelectField
              label="Order"
              name="order"
              value={order}
              options={[
                ['', 'Newest first'],
                ['asc', 'Oldest first'],
              ]}
            />
            {permission_id && (
              <TextField label="Request" name="permission_id" value={permission_id} />
            )}
          </div>
        </RefusalProvider>
        <Submit label="Show" />
      </form>
    </details>
  );
}

/** A number as the API takes it. A text that is no number is shown as it was typed. */
function NumberField(field: { label: string; name: string; value: string | undefined }) {
  return <TextField {...field} inputmode="decimal" hint="Without separators, such as 1500.5" />;
}

/** A time in UTC. A text that is no time is shown as it was typed, in a field that can hold it. */
function TimeField({
  label,
  name,
  filters,
}: {
  label: string;
  name: 'start_date' | 'end_date';
  filters: Filters;
}) {
  const text = filters[name];
  const field = { label, name, type: 'datetime-local', step: 'any' } as const;
  if (text === undefined) return <TextField {...field} />;
  const time = boundOf(text, name);
  if (Number.isNaN(time)) return <TextField label={label} name={name} type="text" value={text} />;
  const value = new Date(time).toISOString().replace(/(:00)?\.000Z|Z$/, '');
  return <TextField {...field} value={value} />;
}

/**
 * The time that a filter means; for an end that is a date, the midnight that ends it. NaN if the
 * text is not a time.
 */
function boundOf(text: string, name: 'start_date' | 'end_date'): number {
  const time = Date.parse(text);
  const isDate = /^\d{4}-\d\d-\d\d$/.test(text);
  if (isDate && name === 'end_date') return time + DAY;
  return time;
}

/** The filters that are active, each with the way to remove it. */
export function ActiveFilters({ filters, timeZone }: { filters: Filters; timeZone: string }) {
  const active = activeFilters(filters, timeZone);
  if (active.length === 0) return null;
  return (
    <ul class="chips" aria-label="Active filters">
      {active.map(({ name, label, value }) => (
        <li>
          <span>
            {label}: {value}
          </span>
          <a href={addressWithout(filters, name)} aria-label={`Remove the filter ${label}`}>
            Remove
          </a>
        </li>
      ))}
      {active.length > 1 && (
        <li>
          <a href={auditAddress({}, { order: filters.order ?? null })}>Remove all filters</a>
        </li>
      )}
    </ul>
  );
}

interface ActiveFilter {
  name: keyof Filters;
  label: string;
  value: Child;
}

function activeFilters(filters: Filters, timeZone: string): ActiveFilter[] {
  const active: ActiveFilter[] = [];
  const add = (name: keyof Filters, label: string, show: (text: string) => Child) => {
    const text = filters[name];
    if (text) active.push({ name, label, value: show(text) });
  };
  add('agent_id', 'Agent', (id) => <Named id={id} />);
  add('event_type', 'Event', eventName);
  add('action', 'Action', (action) => <Code text={action} />);
  add('resource', 'Resource', (resource) => <Code text={resource} />);
  add('decided_by', 'Decided by', (id) => <Decider id={id} />);
  add('scope_key', 'Amount', () => <Range filters={filters} />);
  add('permission_id', 'Request', (id) => <Code text={id} />);
  const { period } = filters;
  if (period && isPeriod(period)) add('period', 'When', () => whenText(period, timeZone));
  add('start_date', 'From', (text) => timeText(text, 'start_date'));
  add('end_date', 'Until', (text) => timeText(text, 'end_date'));
  return active;
}

/** The address of the log without one of the filters; without the range too if that has no key. */
function addressWithout(filters: Filters, name: keyof Filters): string {
  if (name !== 'scope_key') return auditAddress(filters, { [name]: null });
  return auditAddress(filters, { scope_key: null, scope_min: null, scope_max: null });
}

/** A range of amounts in words, with the name of the limit. */
function Range({ filters: { scope_key = '', scope_min, scope_max } }: { filters: Filters }) {
  const bounds = [
    scope_min !== undefined && ['at least ', <Bound text={scope_min} />],
    scope_max !== undefined && ['at most ', <Bound text={scope_max} />],
  ].filter((bound) => bound !== false);
  return (
    <>
      <Code text={scope_key} />{' '}
      {scope_min === scope_max && scope_min !== undefined && <Bound text={scope_min} />}
      {scope_min !== scope_max && joinElements(bounds)}
    </>
  );
}

/**
 * The number that was read, in the reader's language: a typed `1.500` is 1.5. A text that is no
 * number is shown as it was typed.
 */
function Bound({ text }: { text: string }) {
  const { formatNumber } = usePage();
  const read = queryDecimal.safeParse(text);
  return <Code text={read.success ? formatNumber(read.data) : text} />;
}

function whenText(period: Period, timeZone: string): Child {
  return `${PERIODS[period]}, by the clocks of ${timeZone}`;
}

function eventName(type: string): Child {
  const names: Record<string, string> = EVENT_NAMES;
  return names[type] ?? <Code text={type} />;
}

function timeText(text: string, name: 'start_date' | 'end_date'): Child {
  const time = boundOf(text, name);
  if (Number.isNaN(time)) return <Code text={text} />;
  return `${formatUtc(time)} UTC`;
}

import type { Child } from 'hono/jsx';
import { EventType } from '../../audit/entry';
import { DAY } from '../../lib/time';
import type { Refusal } from '../frame/form';
import { agentsOf, decidersOf } from '../frame/names';
import { usePage } from '../frame/page-context';
import {
  Alert,
  addMissingOption,
  RefusalProvider,
  SelectField,
  Submit,
  TextField,
} from '../parts/form';
import { Code, Named } from '../parts/inline';
import { auditAddress, type Filters } from './filters';
import { formatUtc } from './timeline';
import { Decider, EVENT_NAMES } from './words';

/** The form that sets the filters of the explorer. */
export function FilterForm({
  filters,
  refusal,
}: {
  filters: Filters;
  refusal: Refusal | undefined;
}) {
  const { agent_id, event_type, action, resource, decided_by, permission_id, order } = filters;
  return (
    <details class="card" open={refusal !== undefined}>
      <summary>Filter</summary>
      <form method="get" action="/console/audit">
        {refusal && <Alert>Nothing is shown. Correct what is marked.</Alert>}
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
              hint="Exactly, such as email.send"
            />
            <TextField
              label="Resource"
              name="resource"
              value={resource}
              hint="Exactly or, with * at the end, how it begins: mailbox:*"
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
export function ActiveFilters({ filters }: { filters: Filters }) {
  const { agent_id, event_type, action, resource, decided_by } = filters;
  const { permission_id, start_date, end_date } = filters;
  const active = [
    agent_id && (['agent_id', 'Agent', <Named id={agent_id} />] as const),
    event_type && (['event_type', 'Event', eventName(event_type)] as const),
    action && (['action', 'Action', <Code text={action} />] as const),
    resource && (['resource', 'Resource', <Code text={resource} />] as const),
    decided_by && (['decided_by', 'Decided by', <Decider id={decided_by} />] as const),
    permission_id && (['permission_id', 'Request', <Code text={permission_id} />] as const),
    start_date && (['start_date', 'From', timeText(start_date, 'start_date')] as const),
    end_date && (['end_date', 'Until', timeText(end_date, 'end_date')] as const),
  ].filter((filter) => typeof filter === 'object');
  if (active.length === 0) return null;
  return (
    <ul class="chips" aria-label="Active filters">
      {active.map(([name, label, value]) => (
        <li>
          <span>
            {label}: {value}
          </span>
          <a
            href={auditAddress(filters, { [name]: null })}
            aria-label={`Remove the filter ${label}`}
          >
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

function eventName(type: string): Child {
  const names: Record<string, string> = EVENT_NAMES;
  return names[type] ?? <Code text={type} />;
}

function timeText(text: string, name: 'start_date' | 'end_date'): Child {
  const time = boundOf(text, name);
  if (Number.isNaN(time)) return <Code text={text} />;
  return `${formatUtc(time)} UTC`;
}

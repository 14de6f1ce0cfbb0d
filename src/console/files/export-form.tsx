import type { ExportFormat } from '../../audit/exports/export';
import { EVENT_TYPES } from '../../db/schema';
import type { Refusal, Form as SentForm } from '../frame/form';
import type { Names } from '../frame/names';
import { CheckBox, Form, SelectField } from '../parts/form';
import { DateField } from './date-field';
import { dayText } from './wording';

const FORMATS: readonly (readonly [format: ExportFormat, label: string])[] = [
  ['json', 'JSON'],
  ['csv', 'CSV, for spreadsheets; without proof'],
  ['parquet', 'Parquet, for data tools'],
];

const EVENTS: Record<(typeof EVENT_TYPES)[number], string> = {
  request: 'An agent asked',
  approve: 'A request was approved',
  deny: 'A request was denied',
  use: 'A token was used',
  expire: 'A request or a token expired',
  revoke: 'A token was revoked',
};

/** How many days a new export covers, today included, unless somebody changes it. */
const DAYS = 30;

/** What the form of an export says, as texts. */
export interface ExportFields {
  format: string;
  start_date: string;
  end_date: string;
  agent_id: string;
  event_types: string[];
  include_details: boolean;
}

/** Reads the fields from a form, or from an address with the same names. Dates that are missing are the last 30 days. */
export function readExportFields(form: Pick<SentForm, 'text' | 'list' | 'has'>, now: number): ExportFields {
  return {
    format: form.text('format'),
    start_date: form.has('start_date') ? form.text('start_date') : dayText(now, DAYS - 1),
    end_date: form.has('end_date') ? form.text('end_date') : dayText(now),
    agent_id: form.text('agent_id'),
    event_types: form.list('event_types'),
    // A form that chose a format says so of the details as well. An address may leave both out.
    include_details: form.has('include_details') || !form.has('format'),
  };
}

interface ExportFormProps {
  fields: ExportFields;
  names: Names;
  refusal?: Refusal | undefined;
}

/** The form that starts an export. */
export function ExportForm({ fields, names, refusal }: ExportFormProps) {
  const { format, start_date, end_date, agent_id, event_types, include_details } = fields;
  const agents = [...names].filter(([id]) => id.startsWith('agent_'));
  const isUnknown = agent_id !== '' && !agents.some(([id]) => id === agent_id);
  return (
    <Form action="/console/exports" refusal={refusal} class="card" creates>
      <div class="fields">
        <DateField label="First day" name="start_date" value={start_date} refusal={refusal} />
        <DateField label="Last day" name="end_date" value={end_date} refusal={refusal} />
      </div>
      <p class="hint">Days are in UTC, and both belong to the export.</p>
      <SelectField
        label="Agent"
        name="agent_id"
        value={agent_id}
        options={[['', 'All agents'], ...agents, ...(isUnknown ? [[agent_id, agent_id] as const] : [])]}
        refusal={refusal}
      />
      <fieldset>
        <legend>Events</legend>
        <p class="hint">If none is checked, the export has all events.</p>
        {EVENT_TYPES.map((type) => (
          <CheckBox name="event_types" value={type} label={EVENTS[type]} checked={event_types.includes(type)} />
        ))}
      </fieldset>
      <SelectField label="Format" name="format" value={format} options={FORMATS} refusal={refusal} />
      <CheckBox
        name="include_details"
        checked={include_details}
        label={
          <>
            With the details of each entry
            <small class="line">Needed for the proof, which JSON and Parquet then come with.</small>
          </>
        }
      />
      <p class="actions">
        <button type="submit">Start the export</button>
        <a class="button quiet" href="/console/exports">
          Cancel
        </a>
      </p>
    </Form>
  );
}

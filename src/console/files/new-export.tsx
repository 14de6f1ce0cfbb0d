import { type AuditEntry, EventType } from '../../audit/entry';
import { createExport, ExportCreation } from '../../audit/exports/create';
import type { ExportFormat } from '../../audit/exports/export';
import { dayText } from '../../lib/time';
import {
  type Refusal,
  readAddress,
  readForm,
  refusalOf,
  type SentForm,
  textOr,
  validate,
} from '../frame/form';
import { agentsOf, loadNames } from '../frame/names';
import { sendPage } from '../frame/page';
import { addMissingOption, CheckBox, DateField, SelectField, TextField } from '../parts/fields';
import { Form, Submit } from '../parts/form';
import type { ConsoleContext } from '../session/access';
import { redirectWithFlash } from '../session/flash';
import { ExcelCheckBox } from './excel-check-box';

const FORMATS: readonly (readonly [format: ExportFormat, label: string])[] = [
  ['json', 'JSON'],
  ['csv', 'CSV, for spreadsheets; without proof'],
  ['parquet', 'Parquet, for data tools'],
];

const EVENTS: Record<AuditEntry['event_type'], string> = {
  request: 'An agent asked',
  approve: 'A request was approved',
  deny: 'A request was denied',
  use: 'A token was used',
  expire: 'A request or a token expired',
  revoke: 'A token was revoked',
};

/** Filters whose fields the form has if the address names them, as "make it again" does. */
const FILTERS = [
  ['action', 'Action'],
  ['resource', 'Resource'],
  ['decided_by', 'Decided or voted by'],
  ['scope_key', 'Number in the scope'],
  ['scope_min', 'At least'],
  ['scope_max', 'At most'],
] as const;

/** How many days a new export covers, today included, unless somebody changes it. */
const DAYS = 30;

/** Shows the form that starts an export. The address may already say which entries. */
export async function showNewExport(c: ConsoleContext): Promise<Response> {
  return sendForm(c, readFields(c, readAddress(c)));
}

/** Starts the export that the form describes, or shows the form again and why it was refused. */
export async function startExport(c: ConsoleContext): Promise<Response> {
  const fields = readFields(c, await readForm(c));
  const { agent_id, event_types, filters, ...others } = fields;
  try {
    const input = validate(ExportCreation(), {
      ...others,
      ...filters,
      ...numberOf(filters, 'scope_min'),
      ...numberOf(filters, 'scope_max'),
      ...(agent_id !== '' && { agent_id }),
      ...(event_types.length > 0 && { event_types }),
    });
    await c.var.once((context) => createExport(context, input));
  } catch (error) {
    return sendForm(c, fields, refusalOf(error));
  }
  return redirectWithFlash(c, '/console/exports', 'created');
}

/**
 * Reads the fields from a form, or from an address with the same names. Dates that are missing are
 * the last 30 days.
 */
function readFields(c: ConsoleContext, form: Pick<SentForm, 'text' | 'list' | 'has'>) {
  const now = c.var.signedIn.context.runtime.now();
  return {
    format: form.text('format'),
    start_date: textOr(form, 'start_date', dayText(now, DAYS - 1)),
    end_date: textOr(form, 'end_date', dayText(now)),
    agent_id: form.text('agent_id'),
    event_types: form.list('event_types'),
    filters: readFilters(form),
    // A form that chose a format says so of the details as well. An address may leave both out.
    include_details: form.has('include_details') || !form.has('format'),
    bom: form.has('bom'),
  };
}

function readFilters(form: Pick<SentForm, 'text'>): Record<string, string> {
  const given = FILTERS.map(([name]) => [name, form.text(name)] as const);
  return Object.fromEntries(given.filter(([, text]) => text !== ''));
}

/** The filter as a number; nothing if it is absent or no number. */
function numberOf(filters: Record<string, string>, name: string): Record<string, number> {
  const number = Number(filters[name] ?? Number.NaN);
  if (Number.isNaN(number)) return {};
  return { [name]: number };
}

async function sendForm(
  c: ConsoleContext,
  {
    format,
    start_date,
    end_date,
    agent_id,
    event_types,
    filters,
    include_details,
    bom,
  }: ReturnType<typeof readFields>,
  refusal?: Refusal,
): Promise<Response> {
  const names = await loadNames(c.var.signedIn.context, ['agents']);
  return sendPage(c, {
    title: 'Start an export',
    isNarrow: true,
    status: refusal?.status,
    children: (
      <Form action="/console/exports" refusal={refusal} class="card" creates>
        <div class="fields">
          <DateField label="First day" name="start_date" value={start_date} />
          <DateField label="Last day" name="end_date" value={end_date} />
        </div>
        <p class="hint">Days are in UTC. The export includes both.</p>
        <SelectField
          label="Agent"
          name="agent_id"
          value={agent_id}
          options={addMissingOption([['', 'All agents'], ...agentsOf(names)], agent_id)}
        />
        {FILTERS.filter(([name]) => name in filters).map(([name, label]) => (
          <TextField label={label} name={name} value={filters[name]} />
        ))}
        <fieldset>
          <legend>Events</legend>
          <p class="hint">If none is checked, the export has all events.</p>
          {EventType().options.map((type) => (
            <CheckBox
              name="event_types"
              value={type}
              label={EVENTS[type]}
              checked={event_types.includes(type)}
            />
          ))}
        </fieldset>
        <SelectField label="Format" name="format" value={format} options={FORMATS} />
        <CheckBox
          name="include_details"
          checked={include_details}
          label={
            <>
              With the details of each entry
              <small class="line">
                JSON and Parquet files come with a proof only if they have the details.
              </small>
            </>
          }
        />
        <ExcelCheckBox checked={bom} />
        <Submit label="Start the export" cancel="/console/exports" />
      </Form>
    ),
  });
}

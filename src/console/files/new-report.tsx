import { dayText } from '../../lib/time';
import { FRAMEWORKS } from '../../reports/controls';
import { createReport, ReportCreation } from '../../reports/create';
import { type REPORT_FORMATS, REPORT_TYPES } from '../../reports/report';
import {
  type Refusal,
  readAddress,
  readForm,
  refusalOf,
  type SentForm,
  textOr,
  validate,
} from '../frame/form';
import { sendPage } from '../frame/page';
import { DateField, SelectField } from '../parts/fields';
import { Form, Submit } from '../parts/form';
import type { ConsoleContext } from '../session/access';
import { redirectWithFlash } from '../session/flash';

const FORMATS: readonly (readonly [format: (typeof REPORT_FORMATS)[number], label: string])[] = [
  ['pdf', 'PDF, to read'],
  ['json', 'JSON, for programs'],
];

/** Shows the form that starts a compliance report. The address may already say which one. */
export async function showNewReport(c: ConsoleContext): Promise<Response> {
  return sendForm(c, readFields(c, readAddress(c)));
}

/** Starts the report that the form describes, or shows the form again and why it was refused. */
export async function startReport(c: ConsoleContext): Promise<Response> {
  const fields = readFields(c, await readForm(c));
  const { start, end, ...others } = fields;
  try {
    const input = validate(ReportCreation(), { ...others, period: { start, end } });
    await c.var.once((context) => createReport(context, input));
  } catch (error) {
    return sendForm(c, fields, refusalOf(error));
  }
  return redirectWithFlash(c, '/console/reports', 'created');
}

/**
 * Reads the fields from a form, or from an address with the same names. Dates that are missing are
 * the last month.
 */
function readFields(c: ConsoleContext, form: Pick<SentForm, 'text' | 'has'>) {
  const date = new Date(c.var.signedIn.context.runtime.now());
  const firstOfMonth = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
  const lastMonth = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - 1, 1);
  return {
    report_type: form.text('report_type'),
    start: textOr(form, 'start', dayText(lastMonth)),
    end: textOr(form, 'end', dayText(firstOfMonth, 1)),
    format: textOr(form, 'format', 'pdf'),
  };
}

function sendForm(
  c: ConsoleContext,
  { report_type, start, end, format }: ReturnType<typeof readFields>,
  refusal?: Refusal,
): Response {
  return sendPage(c, {
    title: 'Start a compliance report',
    isNarrow: true,
    status: refusal?.status,
    children: (
      <Form action="/console/reports" refusal={refusal} class="card" creates>
        <SelectField
          label="Framework"
          name="report_type"
          value={report_type}
          options={REPORT_TYPES.map((type) => [type, FRAMEWORKS[type].name] as const)}
        />
        <div class="fields">
          <DateField label="First day" name="start" path="period.start" value={start} />
          <DateField label="Last day" name="end" path="period.end" value={end} />
        </div>
        <p class="hint">Days are in UTC. The report includes both, and covers at most 366 days.</p>
        <SelectField label="Format" name="format" value={format} options={FORMATS} />
        <Submit label="Start the report" cancel="/console/reports" />
      </Form>
    ),
  });
}

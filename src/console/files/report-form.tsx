import { FRAMEWORKS } from '../../audit/reports/controls';
import { REPORT_FORMATS, REPORT_TYPES } from '../../audit/reports/report';
import type { Refusal, Form as SentForm } from '../frame/form';
import { Form, SelectField } from '../parts/form';
import { DateField } from './date-field';
import { dayText } from './wording';

const FORMAT_NAMES: Record<(typeof REPORT_FORMATS)[number], string> = {
  pdf: 'PDF, to read',
  json: 'JSON, for programs',
};

/** What the form of a report says, as texts. */
export interface ReportFields {
  report_type: string;
  start: string;
  end: string;
  format: string;
}

/** Reads the fields from a form, or from an address with the same names. Dates that are missing are the last month. */
export function readReportFields(form: Pick<SentForm, 'text' | 'has'>, now: number): ReportFields {
  const date = new Date(now);
  const firstOfMonth = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
  const lastMonth = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - 1, 1);
  return {
    report_type: form.text('report_type'),
    start: form.has('start') ? form.text('start') : dayText(lastMonth),
    end: form.has('end') ? form.text('end') : dayText(firstOfMonth, 1),
    format: form.has('format') ? form.text('format') : 'pdf',
  };
}

interface ReportFormProps {
  fields: ReportFields;
  refusal?: Refusal | undefined;
}

/** The form that starts a compliance report. */
export function ReportForm({ fields, refusal }: ReportFormProps) {
  const { report_type, start, end, format } = fields;
  return (
    <Form action="/console/reports" refusal={refusal} class="card" creates>
      <SelectField
        label="Framework"
        name="report_type"
        value={report_type}
        options={REPORT_TYPES.map((type) => [type, FRAMEWORKS[type].name] as const)}
        refusal={refusal}
      />
      <div class="fields">
        <DateField label="First day" name="start" path="period.start" value={start} refusal={refusal} />
        <DateField label="Last day" name="end" path="period.end" value={end} refusal={refusal} />
      </div>
      <p class="hint">Days are in UTC, and both belong to the report: at most 366 days.</p>
      <SelectField
        label="Format"
        name="format"
        value={format}
        options={REPORT_FORMATS.map((name) => [name, FORMAT_NAMES[name]] as const)}
        refusal={refusal}
      />
      <p class="actions">
        <button type="submit">Start the report</button>
        <a class="button quiet" href="/console/reports">
          Cancel
        </a>
      </p>
    </Form>
  );
}

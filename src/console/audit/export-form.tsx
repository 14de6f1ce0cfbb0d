import { EXPORT_FORMATS } from '../../audit/exports/export';
import type { Refusal } from '../frame/form';
import { CheckBox, Form, SelectField } from '../parts/form';
import { auditAddress, type Filters, filterFields, unexportable } from './filters';

const LABELS: Record<string, string> = {
  action: 'action',
  permission_id: 'request',
};

interface ExportFormProps {
  filters: Filters;
  refusal: Refusal | undefined;
  /** The format that was chosen before. */
  format: string | undefined;
}

/** Starts an export of the entries that the filters show. */
export function ExportForm({ filters, refusal, format = 'csv' }: ExportFormProps) {
  const others = unexportable(filters);
  return (
    <details class="card" open={refusal !== undefined}>
      <summary>Export exactly these entries</summary>
      {others.length > 0 ? (
        <p class="soft">
          An export can be limited to an agent, an event and a time, not to one{' '}
          {others.map((name) => LABELS[name]).join(' or ')}.{' '}
          <a href={auditAddress(filters, Object.fromEntries(others.map((name) => [name, null])))}>
            Remove {others.length > 1 ? 'these filters' : 'this filter'}
          </a>{' '}
          to export.
        </p>
      ) : (
        <Form action="/console/audit/export" refusal={refusal} creates>
          {filterFields(filters).map(([name, value]) => (
            <input type="hidden" name={name} value={value} />
          ))}
          <div class="export">
            <SelectField
              label="Format"
              name="format"
              value={format}
              options={EXPORT_FORMATS.map((name) => [name, name.toUpperCase()] as const)}
              refusal={refusal}
            />
            <CheckBox
              name="include_details"
              checked
              label="With details, which JSON and Parquet files need to be verified"
            />
            <button type="submit">Export</button>
          </div>
        </Form>
      )}
    </details>
  );
}

import { EXPORT_FORMATS } from '../../audit/exports/export';
import { ExcelCheckBox } from '../files/excel-check-box';
import type { Refusal } from '../frame/form';
import { CheckBox, HiddenFields, SelectField } from '../parts/fields';
import { Form } from '../parts/form';
import { type ApiFilters, auditAddress, type Filters } from './filters';

/** An export that was refused, and what was chosen for it. */
export interface RefusedExport {
  refusal: Refusal;
  format: string;
  hasBom: boolean;
}

interface ExportFormProps {
  filters: Filters;
  /** The same with the start of the period. */
  shown: ApiFilters;
  /** The export that was just asked for, if it was refused. */
  refused: RefusedExport | undefined;
}

/** Starts an export of the entries that the filters show. */
export function ExportForm({ filters, shown, refused }: ExportFormProps) {
  return (
    <details class="card" open={refused !== undefined}>
      <summary>Export exactly these entries</summary>
      {filters.permission_id ? (
        <p class="soft">
          An export cannot be limited to one request.{' '}
          <a href={auditAddress(filters, { permission_id: null })}>Remove this filter</a> to export.
        </p>
      ) : (
        <Form action="/console/audit/export" refusal={refused?.refusal} creates>
          <HiddenFields fields={shown} />
          <div class="export">
            <SelectField
              label="Format"
              name="format"
              value={refused?.format ?? 'csv'}
              options={EXPORT_FORMATS.map((name) => [name, name.toUpperCase()] as const)}
            />
            <CheckBox
              name="include_details"
              checked
              label="With details. Without them, JSON and Parquet files cannot be verified"
            />
            <ExcelCheckBox checked={refused?.hasBom ?? false} />
            <button type="submit">Export</button>
          </div>
        </Form>
      )}
    </details>
  );
}

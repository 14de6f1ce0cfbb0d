import type { Refusal } from '../frame/form';
import { JsonText } from '../parts/text';
import { type ConditionRow, OPERATORS } from './conditions';
import type { PolicyValues } from './values';

/** How many empty rows the form has. */
const EMPTY_ROWS = 2;

interface ConditionFieldsProps {
  values: PolicyValues;
  refusal: Refusal | undefined;
  /** Where the button for another row sends the form, so that the reader stays at the rows. */
  action: string;
  /** Whether the button for another row was pressed. */
  hasNewRow: boolean;
}

/** The conditions on the limits of a request, one comparison a row. */
export function ConditionFields({ values, refusal, action, hasNewRow }: ConditionFieldsProps) {
  const filled = values.rows.filter(({ key, value }) => key.trim() !== '' || value.trim() !== '');
  const empty = values.rows.length - filled.length;
  const rows = [...values.rows, ...newRows(Math.max(EMPTY_ROWS - empty, hasNewRow ? 1 : 0))];
  const fault = refusal?.faults.get('conditions');
  return (
    <fieldset id="conditions">
      <legend>Conditions on its limits</legend>
      <p class="hint">
        <span class="if-approve">
          An approval with conditions applies only if each limit of the request has one here.{' '}
        </span>
        <span class="if-other">It also applies if the request lacks a limit that has a condition here. </span>
        Without conditions it applies whatever the limits are. Separate values with commas: EUR, USD.
      </p>
      {fault && <p class="fault">{fault}</p>}
      {rows.map((row, index) => (
        <ConditionFieldRow row={row} index={index} refusal={refusal} />
      ))}
      <p>
        <button
          type="submit"
          name="do"
          value="add"
          formaction={`${action}#conditions`}
          class="quiet small"
          formnovalidate
        >
          Add a row
        </button>
      </p>
      {values.others.map(({ condition, isKept }, index) => (
        <div class="field">
          <input type="hidden" name="other" value={JSON.stringify(condition)} />
          <label class="check">
            <input type="checkbox" name="keep" value={String(index)} checked={isKept} />
            <span>Keep this condition, which has no row</span>
          </label>
          <JsonText value={condition} label="A condition as JSON" />
        </div>
      ))}
    </fieldset>
  );
}

function newRows(count: number): ConditionRow[] {
  return Array.from({ length: count }, () => ({ key: '', operator: 'max', value: '' }));
}

interface ConditionFieldRowProps {
  row: ConditionRow;
  index: number;
  refusal: Refusal | undefined;
}

function ConditionFieldRow({ row, index, refusal }: ConditionFieldRowProps) {
  const fault = faultOf(row, index, refusal);
  const id = `condition-${index}-fault`;
  const attributes = fault === undefined ? {} : ({ 'aria-invalid': 'true', 'aria-describedby': id } as const);
  const number = index + 1;
  return (
    <div class="condition">
      <input name="condition_key" value={row.key} aria-label={`Limit ${number}`} placeholder="amount" {...attributes} />
      <select name="condition_operator" aria-label={`Comparison ${number}`}>
        {OPERATORS.map(([operator, label]) => (
          <option value={operator} selected={operator === row.operator}>
            {label}
          </option>
        ))}
      </select>
      <input
        name="condition_value"
        value={row.value}
        aria-label={`Value ${number}`}
        placeholder="100"
        {...attributes}
      />
      {fault && (
        <p class="fault" id={id}>
          {fault}
        </p>
      )}
    </div>
  );
}

/** What is wrong with a row: as a row, or with its value as the API names it. */
function faultOf({ key, operator }: ConditionRow, index: number, refusal: Refusal | undefined): string | undefined {
  const path = `conditions.${key.trim()}.${operator}`;
  const faults = [...(refusal?.faults ?? [])];
  const [, message] =
    faults.find(([at]) => at === `condition-${index}` || at === path || at.startsWith(`${path}.`)) ?? [];
  return message;
}

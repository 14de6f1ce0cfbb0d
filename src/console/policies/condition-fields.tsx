import { CheckBox, FieldFault } from '../parts/fields';
import { JsonText } from '../parts/inline';
import { useFault, useRefusal } from '../parts/refusal';
import { type ConditionRow, OPERATORS } from './conditions';
import type { PolicyValues } from './values';

const EMPTY_ROW: ConditionRow = { key: '', operator: 'max', value: '' };
/** How many empty rows the form has. */
const EMPTY_ROWS = 2;

interface ConditionFieldsProps {
  values: PolicyValues;
  /** Where the button for another row sends the form, so that the reader stays at the rows. */
  action: string;
  /** Whether the button for another row was pressed. */
  hasNewRow: boolean;
}

/** The conditions on the limits of a request, one comparison a row. */
export function ConditionFields({ values, action, hasNewRow }: ConditionFieldsProps) {
  const filled = values.rows.filter(({ key, value }) => key.trim() !== '' || value.trim() !== '');
  const empty = values.rows.length - filled.length;
  const rows = [
    ...values.rows,
    ...Array(Math.max(EMPTY_ROWS - empty, hasNewRow ? 1 : 0)).fill(EMPTY_ROW),
  ];
  return (
    <fieldset id="conditions">
      <legend>Conditions on its limits</legend>
      <p class="hint">
        <span class="if-approve">
          An approval with conditions applies only if each limit of the request has a condition
          here.{' '}
        </span>
        <span class="if-other">
          It also applies if the request lacks a limit that has a condition here.{' '}
        </span>
        Without conditions it applies whatever the limits are. Separate values with commas: EUR,
        USD.
      </p>
      <FieldFault text={useRefusal()?.faults.get('conditions')} />
      {rows.map((row, index) => (
        <ConditionFieldRow row={row} index={index} />
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
          <CheckBox
            label="Keep this condition, which has no row"
            name="keep"
            value={String(index)}
            checked={isKept}
          />
          <JsonText value={condition} label="A condition as JSON" />
        </div>
      ))}
    </fieldset>
  );
}

function ConditionFieldRow({ row, index }: { row: ConditionRow; index: number }) {
  const valueFault = useFault(`conditions.${row.key.trim()}.${row.operator}`);
  const fault = useFault(`condition-${index}`) ?? valueFault;
  const id = `condition-${index}-fault`;
  const attributes =
    fault === undefined ? {} : ({ 'aria-invalid': 'true', 'aria-describedby': id } as const);
  const number = index + 1;
  return (
    <div class="condition">
      <input
        name="condition_key"
        value={row.key}
        aria-label={`Limit ${number}`}
        placeholder="amount"
        {...attributes}
      />
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
      <FieldFault id={id} text={fault} />
    </div>
  );
}

import { CheckBox, FieldFault } from '../parts/fields';
import { useFault } from '../parts/refusal';

/** Asks whether a CSV file gets a byte order mark, and says why the API refuses it. */
export function ExcelCheckBox({ checked }: { checked: boolean }) {
  return (
    <>
      <CheckBox
        name="bom"
        checked={checked}
        label="For Excel: begin a CSV file with a byte order mark"
      />
      <FieldFault text={useFault('bom')} />
    </>
  );
}

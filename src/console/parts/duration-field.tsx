import { readNumber, type SentForm } from '../frame/form';
import { Field, type LabelledProps } from './fields';
import { useFault } from './refusal';
import { pluralOf } from './words';

/** The units of a length of time in a form, each with its seconds. */
const UNITS = { second: 1, minute: 60, hour: 3_600, day: 86_400 };
type Unit = keyof typeof UNITS;

/** A length of time as a form shows it. */
export interface DurationValue {
  /** As typed; empty for none. */
  amount: string;
  unit: string;
}

/**
 * Writes a number of seconds in the largest unit that divides it.
 * @param seconds null for an empty field
 * @param otherwise the unit of an empty field
 */
export function writeDuration(seconds: number | null, otherwise: Unit): DurationValue {
  if (seconds === null) return { amount: '', unit: otherwise };
  const fits = Object.entries(UNITS).findLast(([, length]) => seconds % length === 0);
  const [unit, length] = seconds === 0 || !fits ? ['second', 1] : fits;
  return { amount: String(seconds / length), unit };
}

/** Reads a length of time from a form. Without a unit, the number is one of seconds. */
export function readDuration(form: Pick<SentForm, 'text'>, name: string): DurationValue {
  return { amount: form.text(name), unit: form.text(`${name}_unit`) || 'second' };
}

/**
 * The seconds of the length of time that a form lowers, as {@link secondsOf}; `most` where the
 * field was left empty.
 */
export function readLowered(form: SentForm, name: string, most: number): number | string {
  return form.text(name) === '' ? most : secondsOf(readDuration(form, name));
}

/** A length of time that a form lowers, as it was typed, or at its most. */
export function showLowered(
  typed: SentForm | undefined,
  name: string,
  most: number,
): DurationValue {
  return typed?.text(name) ? readDuration(typed, name) : writeDuration(most, 'minute');
}

/**
 * The seconds of a length of time. Returns a text that is no number unchanged: the schema of the
 * API then refuses it.
 */
export function secondsOf({ amount, unit }: DurationValue): number | string {
  const number = readNumber(amount);
  const length = Object.entries(UNITS).find(([name]) => name === unit)?.[1];
  if (typeof number === 'string' || length === undefined) return amount;
  // In binary, 1.1 minutes are not quite 66 seconds.
  return Number((number * length).toFixed(3));
}

type DurationFieldProps = LabelledProps & { value: DurationValue };

/** A field for a length of time: a number, and its unit. */
export function DurationField({ value, name, path = name, ...field }: DurationFieldProps) {
  const fault = useFault(path);
  return (
    <Field {...field} name={name} path={path} fault={fault && inUnits(fault)}>
      {(attributes) => (
        <div class="duration">
          <input {...attributes} type="number" min={0} step="any" value={value.amount} />
          <select name={`${name}_unit`} aria-label={`${field.label}: unit`}>
            {Object.keys(UNITS).map((unit) => (
              <option value={unit} selected={unit === value.unit}>
                {`${unit}s`}
              </option>
            ))}
          </select>
        </div>
      )}
    </Field>
  );
}

/** Repeats in larger units what the API says about a number of seconds. */
function inUnits(fault: string): string {
  const [, least, most] = /from (\d+) to (\d+)$/.exec(fault) ?? [];
  if (least === undefined || most === undefined) return fault;
  return `must be from ${durationText(Number(least))} to ${durationText(Number(most))}`;
}

/** A number of seconds as the form writes it, such as `5 minutes`. */
export function durationText(seconds: number): string {
  const { amount, unit } = writeDuration(seconds, 'second');
  return `${amount} ${pluralOf(Number(amount), unit)}`;
}

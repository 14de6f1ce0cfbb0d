import type { Child } from 'hono/jsx';
import { withScriptsMark } from '../../lib/scripts';
import { toOneLine } from './inline';
import { useFault, useTyped } from './refusal';

export interface LabelledProps {
  label: Child;
  /** The name of the field. Its id is `field-<name>`, so a form has each name only once. */
  name: string;
  hint?: Child;
  /** The path of the field in the API's errors, such as `scope.amount`; by default the name. */
  path?: string;
}

interface FieldProps extends LabelledProps {
  /** Its fault; by default as the API says. */
  fault?: string | undefined;
  children: (attributes: {
    id: string;
    name: string;
    'aria-describedby'?: string;
    'aria-invalid'?: 'true';
  }) => Child;
}

/** A field with its label, a hint, and what is wrong with it. */
export function Field({
  label,
  name,
  hint,
  path = name,
  fault = useFault(path),
  children,
}: FieldProps) {
  const id = `field-${name}`;
  const described = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(' ');
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        name,
        ...(described && { 'aria-describedby': described }),
        ...(fault && { 'aria-invalid': 'true' }),
      })}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      <FieldFault id={`${id}-fault`} text={fault} />
    </div>
  );
}

/** Says why a field was refused. */
export function FieldFault({ text, id }: { text: string | undefined; id?: string }) {
  return (
    text && (
      <p class="fault" id={id}>
        {text}
      </p>
    )
  );
}

interface FieldGroupProps {
  legend: string;
  /** The path of the group's value in the API's errors. */
  path: string;
  /** The text to show if the API refuses the value; by default the API's own. */
  faultText?: string | undefined;
  class?: string;
  children: Child;
}

/**
 * Fields that make up one value together, such as check boxes, with what is wrong with that value.
 */
export function FieldGroup({
  legend,
  path,
  faultText,
  class: className,
  children,
}: FieldGroupProps) {
  const fault = useFault(path);
  const id = `${path.replaceAll('_', '-')}-fault`;
  return (
    <fieldset class={className} aria-describedby={fault && id}>
      <legend>{legend}</legend>
      {children}
      <FieldFault id={id} text={fault && (faultText ?? fault)} />
    </fieldset>
  );
}

type TextFieldProps = LabelledProps & {
  value?: string | undefined;
  type?: 'text' | 'email' | 'url' | 'number' | 'date' | 'time' | 'datetime-local' | 'password';
  required?: boolean;
  maxlength?: number;
  min?: number;
  max?: number;
  step?: number | 'any';
  placeholder?: string;
  autocomplete?: string;
  list?: string;
  inputmode?: 'decimal';
  /** The id of the form that sends the field, if the field stands outside of it. */
  form?: string | undefined;
  /** Whether the script fills in the reader's time zone while the field is empty. */
  isTimeZone?: boolean;
};

/** A field of one line. */
export function TextField({
  label,
  name,
  hint,
  path = name,
  type = 'text',
  value,
  isTimeZone = false,
  ...input
}: TextFieldProps) {
  const shown = useTyped(name, value);
  const mark = isTimeZone ? { 'data-time-zone': '' } : {};
  return (
    <Field label={label} name={name} hint={hint} path={path}>
      {(attributes) => <input {...attributes} {...input} {...mark} type={type} value={shown} />}
    </Field>
  );
}

/**
 * A required field for a day. A value that is not a day, such as a time from another page's URL, is
 * shown as text.
 */
export function DateField({ value, ...field }: LabelledProps & { value: string }) {
  const isDay = value === '' || /^\d{4}-\d{2}-\d{2}$/.test(value);
  return <TextField {...field} value={value} type={isDay ? 'date' : 'text'} required />;
}

type TextAreaProps = LabelledProps & {
  value: string | undefined;
  rows: number;
  maxlength?: number;
  spellcheck?: boolean;
};

/** A field of several lines. */
export function TextArea({ label, name, hint, path = name, value, ...area }: TextAreaProps) {
  const shown = useTyped(name, value);
  return (
    <Field label={label} name={name} hint={hint} path={path}>
      {(attributes) => (
        <textarea {...attributes} {...area}>
          {shown}
        </textarea>
      )}
    </Field>
  );
}

export type Options = readonly (readonly [value: string, label: string])[];

/**
 * Adds the present value to the options of a field if it is not one of them, for instance because
 * its agent was deleted.
 */
export function addMissingOption(options: Options, current: string): Options {
  return options.some(([value]) => value === current) ? options : [...options, [current, current]];
}

/** A drop-down list with one value to choose. */
export function SelectField({
  label,
  name,
  hint,
  path = name,
  value,
  options,
}: LabelledProps & { value?: string | undefined; options: Options }) {
  const shown = useTyped(name, value);
  return (
    <Field label={label} name={name} hint={hint} path={path}>
      {(attributes) => (
        <select {...attributes}>
          {options.map(([option, text]) => (
            <option value={option} selected={option === shown}>
              {withScriptsMark(toOneLine(text))}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** Hidden fields of a form. Leaves out those whose value is empty, null or undefined. */
export function HiddenFields({ fields }: { fields: Record<string, string | null | undefined> }) {
  return (
    <>
      {Object.entries(fields).map(
        ([name, value]) => value && <input type="hidden" name={name} value={value} />,
      )}
    </>
  );
}

interface CheckBoxProps {
  label: Child;
  name: string;
  value?: string;
  checked: boolean;
}

/** A check box. */
export function CheckBox({ label, name, value = 'on', checked }: CheckBoxProps) {
  return (
    <label class="check">
      <input type="checkbox" name={name} value={value} checked={checked} />
      <span>{label}</span>
    </label>
  );
}

/** A radio button. One button of its group must be chosen. */
export function RadioButton({ label, name, value, checked }: Required<CheckBoxProps>) {
  return (
    <label class="check">
      <input type="radio" name={name} value={value} checked={checked} required />
      <span>{label}</span>
    </label>
  );
}

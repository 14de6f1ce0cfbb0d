import { type Child, createContext, useContext } from 'hono/jsx';
import type { Refusal } from '../frame/form';
import { CsrfField, OnceField } from '../frame/page';
import { LinkButton } from './blocks';
import { visibleText } from './inline';

const RefusalContext = createContext<Refusal | undefined>(undefined);

/** Gives the fields in it the reason for which their form was refused: each shows what is wrong with it. */
export const RefusalProvider = RefusalContext.Provider;

/** Why the form around was refused. */
export function useRefusal(): Refusal | undefined {
  return useContext(RefusalContext);
}

/** What somebody typed into a field, if the form around was refused; otherwise what the field shows at first. */
export function useTyped(name: string, value: string | undefined): string | undefined {
  return useRefusal()?.typed[name] ?? value;
}

/** What is wrong with the field, or the group of fields, that the API names so, or with a part of it. */
export function useFault(path: string): string | undefined {
  return [...(useRefusal()?.faults ?? [])].find(([at]) => at === path || at.startsWith(`${path}.`))?.[1];
}

/** Says why something was refused. */
export function Alert({ children }: { children: Child }) {
  return (
    <p class="notice bad" role="alert">
      {children}
    </p>
  );
}

interface FormProps {
  action: string;
  children: Child;
  /** Why the form was refused when it was sent before. */
  refusal?: Refusal | undefined;
  class?: string;
  /** Whether it creates something, which happens once even if the form is sent twice: see {@link OnceField}. */
  creates?: boolean;
}

/** A form that changes something, with the CSRF token. After a refusal it says why, where the reader then is. */
export function Form({ action, children, refusal, class: className, creates = false }: FormProps) {
  return (
    <form method="post" action={action} class={className}>
      <CsrfField />
      {creates && <OnceField />}
      {refusal && (
        <p class="notice bad" role="alert" tabindex={-1} autofocus>
          {refusal.detail}
        </p>
      )}
      <RefusalProvider value={refusal}>{children}</RefusalProvider>
    </form>
  );
}

interface LabelledProps {
  label: Child;
  /** The name of the field. It is also its id, so that a form has each name once. */
  name: string;
  hint?: Child;
  /** Where the API names the field, if that differs from the name. */
  path?: string;
}

interface FieldProps extends LabelledProps {
  children: (attributes: { id: string; name: string; 'aria-describedby'?: string; 'aria-invalid'?: 'true' }) => Child;
}

/** A field with its label, a hint, and what is wrong with it. */
function Field({ label, name, hint, path = name, children }: FieldProps) {
  const fault = useFault(path);
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
      <Fault id={`${id}-fault`} text={fault} />
    </div>
  );
}

/** What is wrong with a field. */
export function Fault({ text, id }: { text: string | undefined; id?: string }) {
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
  /** Where the API names what the fields say. */
  name: string;
  /** What is said if that is refused; by default what the API says. */
  faultText?: string | undefined;
  class?: string;
  children: Child;
}

/** Fields that say one thing together, such as boxes to check, and what is wrong with it. */
export function FieldGroup({ legend, name, faultText, class: className, children }: FieldGroupProps) {
  const fault = useFault(name);
  const id = `${name.replaceAll('_', '-')}-fault`;
  return (
    <fieldset class={className} aria-describedby={fault && id}>
      <legend>{legend}</legend>
      {children}
      <Fault id={id} text={fault && (faultText ?? fault)} />
    </fieldset>
  );
}

type TextFieldProps = LabelledProps & {
  value?: string | undefined;
  type?: 'text' | 'email' | 'url' | 'number' | 'date' | 'datetime-local' | 'password';
  required?: boolean;
  maxlength?: number;
  min?: number;
  max?: number;
  step?: number | 'any';
  placeholder?: string;
  autocomplete?: string;
  list?: string;
};

/** A field of one line. */
export function TextField({ label, name, hint, path = name, type = 'text', value, ...input }: TextFieldProps) {
  const shown = useTyped(name, value);
  return (
    <Field {...{ label, name, hint, path }}>
      {(attributes) => <input {...attributes} {...input} type={type} value={shown} />}
    </Field>
  );
}

/** A field for a day. A value that is no day, such as a time from another page's address, is shown as text. */
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
    <Field {...{ label, name, hint, path }}>
      {(attributes) => (
        <textarea {...attributes} {...area}>
          {shown}
        </textarea>
      )}
    </Field>
  );
}

export type Options = readonly (readonly [value: string, label: string])[];

/** The options of a field, with the present value among them although it is none, such as a deleted agent. */
export function withCurrent(options: Options, current: string): Options {
  return options.some(([value]) => value === current) ? options : [...options, [current, current]];
}

/** A field with which one of several values is chosen. */
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
    <Field {...{ label, name, hint, path }}>
      {(attributes) => (
        <select {...attributes}>
          {options.map(([option, text]) => (
            <option value={option} selected={option === shown}>
              {visibleText(text)}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** Fields that a form sends unseen. */
export function HiddenFields({ fields }: { fields: Record<string, string | null | undefined> }) {
  return (
    <>{Object.entries(fields).map(([name, value]) => value && <input type="hidden" name={name} value={value} />)}</>
  );
}

interface ListFilterProps {
  /** The path of the list. */
  action: string;
  label: string;
  name: string;
  current: string | undefined;
  /** What the list shows without the filter. */
  all: string;
  options: Options;
  /** The other filters of the address, which stay. */
  kept: Record<string, string | null | undefined>;
}

/** Limits a list to one value, by the address of the page. */
export function ListFilter({ action, label, name, current, all, options, kept }: ListFilterProps) {
  return (
    <form method="get" action={action} class="filters">
      <HiddenFields fields={kept} />
      <SelectField label={label} name={name} value={current} options={[['', all], ...options]} />
      <button type="submit" class="quiet">
        Show
      </button>
    </form>
  );
}

interface CheckBoxProps {
  label: Child;
  name: string;
  value?: string;
  checked: boolean;
}

/** A box to check. */
export function CheckBox({ label, name, value = 'on', checked }: CheckBoxProps) {
  return (
    <label class="check">
      <input type="checkbox" name={name} value={value} checked={checked} />
      <span>{label}</span>
    </label>
  );
}

/** One of several values to choose, of which one has to be. */
export function RadioButton({ label, name, value, checked }: Required<CheckBoxProps>) {
  return (
    <label class="check">
      <input type="radio" name={name} value={value} checked={checked} required />
      <span>{label}</span>
    </label>
  );
}

interface SubmitProps {
  label: string;
  kind?: 'quiet' | 'danger' | 'small' | 'danger small' | undefined;
  /** Where somebody comes to who does not send the form. */
  cancel?: string;
}

/** The button that sends a form, and the way out. */
export function Submit({ label, kind, cancel }: SubmitProps) {
  return (
    <p class="actions">
      <button type="submit" class={kind}>
        {label}
      </button>
      {cancel !== undefined && <LinkButton href={cancel} label="Cancel" kind="quiet" />}
    </p>
  );
}

interface ActionProps {
  action: string;
  label: string;
  /** Fields that the form also sends. */
  fields?: Record<string, string>;
  kind?: 'quiet' | 'danger';
}

/** A button that does one thing. */
export function Action({ action, label, fields = {}, kind = 'quiet' }: ActionProps) {
  return (
    <form method="post" action={action} class="inline">
      <CsrfField />
      <HiddenFields fields={fields} />
      <button type="submit" class={`${kind} small`}>
        {label}
      </button>
    </form>
  );
}

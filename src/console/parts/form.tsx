import type { Child } from 'hono/jsx';
import type { Refusal } from '../frame/form';
import { CsrfField, OnceField } from '../frame/page';
import { visibleText } from './text';

interface FormProps {
  action: string;
  children: Child;
  /** Why the form was refused when it was sent before. */
  refusal?: Refusal | undefined;
  class?: string;
  id?: string;
  /** Whether it creates something, which happens once even if the form is sent twice: see {@link OnceField}. */
  creates?: boolean;
}

/** A form that changes something, with the CSRF token. After a refusal it says why, where the reader then is. */
export function Form({ action, children, refusal, class: className, id, creates = false }: FormProps) {
  return (
    <form method="post" action={action} class={className} id={id}>
      <CsrfField />
      {creates && <OnceField />}
      {refusal && (
        <p class="notice bad" role="alert" tabindex={-1} autofocus>
          {refusal.detail}
        </p>
      )}
      {children}
    </form>
  );
}

interface FieldProps {
  label: string;
  /** The name of the field. It is also its id, so that a form has each name once. */
  name: string;
  hint?: Child;
  refusal?: Refusal | undefined;
  /** Where the API names the field, if that differs from the name. */
  path?: string;
  children: (attributes: { id: string; name: string; 'aria-describedby'?: string; 'aria-invalid'?: 'true' }) => Child;
}

/** A field with its label, a hint, and what is wrong with it. */
export function Field({ label, name, hint, refusal, path = name, children }: FieldProps) {
  const fault = refusal?.faults.get(path);
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
      {fault && (
        <p class="fault" id={`${id}-fault`}>
          {fault}
        </p>
      )}
    </div>
  );
}

type TextFieldProps = Omit<FieldProps, 'children'> & {
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
export function TextField({ label, name, hint, refusal, path, ...input }: TextFieldProps) {
  return (
    <Field {...{ label, name, hint, refusal, ...(path !== undefined && { path }) }}>
      {(attributes) => <input {...attributes} {...input} type={input.type ?? 'text'} />}
    </Field>
  );
}

type SelectFieldProps = Omit<FieldProps, 'children'> & {
  value?: string | undefined;
  options: readonly (readonly [value: string, label: string])[];
};

/** A field with which one of several values is chosen. */
export function SelectField({ label, name, hint, refusal, path, value, options }: SelectFieldProps) {
  return (
    <Field {...{ label, name, hint, refusal, ...(path !== undefined && { path }) }}>
      {(attributes) => (
        <select {...attributes}>
          {options.map(([option, text]) => (
            <option value={option} selected={option === value}>
              {visibleText(text)}
            </option>
          ))}
        </select>
      )}
    </Field>
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
  options: readonly (readonly [value: string, label: string])[];
  /** The other filters of the address, which stay. */
  kept?: Record<string, string | null | undefined>;
}

/** Limits a list to one value, by the address of the page. */
export function ListFilter({ action, label, name, current, all, options, kept = {} }: ListFilterProps) {
  return (
    <form method="get" action={action} class="filters">
      {Object.entries(kept).map(([name, value]) => value && <input type="hidden" name={name} value={value} />)}
      <SelectField label={label} name={name} value={current} options={[['', all], ...options]} />
      <button type="submit" class="quiet">
        Show
      </button>
    </form>
  );
}

/** A box to check. */
export function CheckBox({
  label,
  name,
  value = 'on',
  checked,
}: {
  label: Child;
  name: string;
  value?: string;
  checked?: boolean;
}) {
  return (
    <label class="check">
      <input type="checkbox" name={name} value={value} checked={checked} />
      <span>{label}</span>
    </label>
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
      {Object.entries(fields).map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
      <button type="submit" class={`${kind} small`}>
        {label}
      </button>
    </form>
  );
}

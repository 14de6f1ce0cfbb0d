import type { Child } from 'hono/jsx';
import type { Refusal } from '../frame/form';
import { CsrfField, OnceField } from '../frame/page';
import { LinkButton } from './blocks';
import { addMissingOption, HiddenFields, type Options, SelectField } from './fields';
import { RefusalProvider } from './refusal';

/** A message that says why something was refused. */
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
  /** By this id, fields outside the form belong to it. */
  id?: string;
  /**
   * Whether it creates something, which happens once even if the form is sent twice: see
   * {@link OnceField}.
   */
  creates?: boolean;
}

/**
 * A form that changes something, with the CSRF token. After a refusal its first line says why, and
 * has the focus.
 */
export function Form({
  action,
  children,
  refusal,
  class: className,
  id,
  creates = false,
}: FormProps) {
  return (
    <form method="post" action={action} class={className} id={id}>
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

interface ListFilterProps {
  /** The path of the list. */
  action: string;
  label: string;
  name: string;
  current: string | undefined;
  /** The label of the option that shows the whole list, such as "All agents". */
  allLabel: string;
  options: Options;
  /** The other query parameters of the page, which stay as they are. */
  otherParameters: Record<string, string | null | undefined>;
}

/** A filter that limits a list to one value: it loads the page with a query parameter. */
export function ListFilter({
  action,
  label,
  name,
  current,
  allLabel,
  options,
  otherParameters,
}: ListFilterProps) {
  return (
    <form method="get" action={action} class="filters">
      <HiddenFields fields={otherParameters} />
      <SelectField
        label={label}
        name={name}
        value={current}
        options={addMissingOption([['', allLabel], ...options], current ?? '')}
      />
      <button type="submit" class="quiet">
        Show
      </button>
    </form>
  );
}

interface SubmitProps {
  label: string;
  kind?: 'quiet' | 'danger' | 'small' | 'danger small' | undefined;
  /** The path of the link "Cancel"; without it there is none. */
  cancel?: string;
}

/** The button that sends a form, and a link to cancel. */
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

/** A form that consists of one button. */
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

/** Says beside a button for a passkey what it needs where there is no JavaScript. */
export function NeedsScript() {
  return (
    <noscript>
      <p class="hint">Passkeys need JavaScript, which is off in this browser.</p>
    </noscript>
  );
}

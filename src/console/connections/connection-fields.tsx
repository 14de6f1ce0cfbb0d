import type { Refusal } from '../frame/form';
import { DurationField } from '../parts/duration-field';
import { type Options, SelectField, TextField } from '../parts/fields';
import type { ConnectionValues } from './values';

const AUTH_TYPES: Options = [
  ['header', 'In a header'],
  ['basic', 'As user and password'],
  ['none', 'Without a credential'],
];

/** Whether a refusal is about one of the {@link AdvancedFields}. */
export function isAdvancedRefused(refusal: Refusal | undefined): boolean {
  const names = ['forward_headers', 'wait', 'timeout', 'repeat_after'];
  return [...(refusal?.faults.keys() ?? [])].some((fault) =>
    names.includes(fault.split('.')[0] ?? ''),
  );
}

/** How the credential is sent, and the credential itself. */
export function CredentialFields({ values, isNew }: { values: ConnectionValues; isNew: boolean }) {
  return (
    <fieldset class="credential">
      <legend>Credential</legend>
      <SelectField
        label="How it is sent"
        name="auth_type"
        path="auth.type"
        value={values.authType}
        options={AUTH_TYPES}
      />
      <div class="fields only-header">
        <TextField
          label="Header"
          name="header"
          path="auth.header"
          value={values.header}
          maxlength={128}
        />
        <TextField
          label="Text before the credential"
          name="prefix"
          path="auth.prefix"
          value={values.prefix}
          maxlength={128}
        />
      </div>
      <div class="unless-none">
        <TextField
          label={isNew ? 'Credential' : 'New credential (optional)'}
          name="secret"
          type="password"
          autocomplete="new-password"
          value=""
          hint={
            isNew
              ? 'The key, or user:password. It is stored encrypted, and nobody can read it again.'
              : 'Leave it empty to keep the present one. If the base URL gets another host, enter the credential again.'
          }
        />
      </div>
    </fieldset>
  );
}

/** The times of a connection, and the headers that are sent on. */
export function AdvancedFields({ values }: { values: ConnectionValues }) {
  return (
    <>
      <div class="fields">
        <DurationField
          label="Wait for a decision"
          name="wait"
          value={values.wait}
          hint="After this time, the agent gets the answer that nobody has decided yet. At most 1 minute."
        />
        <DurationField
          label="Wait for the service"
          name="timeout"
          value={values.timeout}
          hint="After this time without an answer, the call fails. At most 5 minutes."
        />
        <DurationField
          label="Repeat a refusal for"
          name="repeat_after"
          value={values.repeat_after}
          hint="After this time, the same call counts as a new one, unless it has an idempotency key."
        />
      </div>
      <TextField
        label="Headers of the agent that are sent on"
        name="forward_headers"
        value={values.forward_headers}
        hint="Separated by commas."
      />
    </>
  );
}

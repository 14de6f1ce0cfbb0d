import type { Refusal } from '../frame/form';
import { HiddenFields, TextField } from '../parts/fields';
import { Form } from '../parts/form';

/** The id of the form that denies the requests whose check boxes are checked. */
export const DENY_FORM = 'deny';

interface DenyBarProps {
  /** The path and query of the list, to which one returns. */
  from: string;
  refusal: Refusal | undefined;
}

/**
 * The form that denies every checked request. It shows once one is checked. It is no part of the
 * list, which updates itself, so that an update leaves what was typed.
 */
export function DenyBar({ from, refusal }: DenyBarProps) {
  return (
    <Form
      action="/console/deny"
      id={DENY_FORM}
      class={refusal ? 'deny-bar refused' : 'deny-bar'}
      refusal={refusal}
    >
      <HiddenFields fields={{ from }} />
      <div class="actions">
        <TextField label="Reason for all checked requests" name="reason" maxlength={1000} />
        <button type="submit" class="danger">
          Deny the checked requests<span class="count"></span>
        </button>
      </div>
    </Form>
  );
}

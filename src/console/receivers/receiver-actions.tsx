import type { Child } from 'hono/jsx';
import { readForm, requireUnchangedToActivate } from '../frame/form';
import { LinkButton } from '../parts/blocks';
import { Action, Form, Submit } from '../parts/form';
import { Badge } from '../parts/inline';
import { switchLabel } from '../parts/words';
import type { ConsoleContext } from '../session/access';

/** The state of a webhook or channel, as its page shows it. */
interface Receiver {
  is_active: boolean;
  disabled_reason: string | null;
  updated_at: string;
}

/**
 * Whether the webhook or channel sends: people may switch it off, and the service disables one that
 * always fails.
 */
export function ReceiverState({ is_active, disabled_reason }: Omit<Receiver, 'updated_at'>) {
  if (is_active) return <Badge state="on" />;
  if (disabled_reason === null) return <Badge state="off" />;
  return <Badge state="failed" label="disabled" />;
}

interface ReceiverActionsProps extends Omit<Receiver, 'disabled_reason'> {
  /** The path of the page of the webhook or channel. */
  path: string;
  /** Whether a test can be sent while it is on. */
  canTest?: boolean;
}

/** The buttons of a webhook or channel: send a test, change it, switch it on or off. */
export function ReceiverActions({
  path,
  is_active,
  updated_at,
  canTest = true,
}: ReceiverActionsProps) {
  return (
    <>
      <div class="actions">
        {is_active && canTest && <Action action={`${path}/test`} label="Send a test" />}
        <LinkButton href={`${path}/edit`} label="Change" kind="quiet small" />
        <Action
          action={`${path}/switch`}
          label={switchLabel(is_active)}
          fields={{ is_active: String(!is_active), updated_at }}
        />
      </div>
      {!is_active && (
        <p class="hint">
          While it is off, nothing is sent, and events of this time are not sent later either.
        </p>
      )}
    </>
  );
}

/**
 * Reads the form that switches a webhook or channel on or off.
 * @returns whether it is to be on
 * @throws Problem `conflict` if it would be switched on and was changed since the page was shown
 */
export async function readSwitch(
  c: Pick<ConsoleContext, 'req'>,
  noun: 'webhook' | 'channel',
  updatedAt: string,
): Promise<boolean> {
  const form = await readForm(c);
  const isActive = form.text('is_active') === 'true';
  if (isActive) requireUnchangedToActivate(noun, form, updatedAt);
  return isActive;
}

/** A closed box with a button that deletes a webhook or channel. */
export function DeleteBox({
  path,
  noun,
  children,
}: {
  path: string;
  noun: 'webhook' | 'channel';
  children: Child;
}) {
  return (
    <details>
      <summary>Delete the {noun}</summary>
      <Form action={`${path}/delete`} class="asking">
        <p>{children}</p>
        <Submit label={`Delete the ${noun}`} kind="danger small" />
      </Form>
    </details>
  );
}

import { pathId } from '../../http/path-id';
import { deleteWebhook } from '../../webhooks/delete';
import { rotateSecret } from '../../webhooks/rotate-secret';
import { testWebhook } from '../../webhooks/send-test';
import { updateWebhook } from '../../webhooks/update';
import { presentWebhook, requireLoaded } from '../../webhooks/webhook';
import { readForm, refusalOf, requireUnchangedToActivate } from '../frame/form';
import type { ConsoleContext } from '../session/access';
import { sendSecret } from './secret';
import { showWebhook, type WebhookContext } from './webhook';

/** Switches the webhook in the path on or off: on, only if nobody changed it since the page was shown. */
export async function switchWebhook(c: WebhookContext): Promise<Response> {
  const { id, updated_at } = presentWebhook(requireLoaded(c.var.loaded.webhook, 'webhook'));
  const form = await readForm(c);
  const isActive = form.text('is_active') === 'true';
  try {
    if (isActive) requireUnchangedToActivate('webhook', form, updated_at);
    await updateWebhook(c.var.signedIn.context, { id, agents: [], is_active: isActive });
  } catch (error) {
    return showWebhook(c, refusalOf(error));
  }
  return c.redirect(`/console/webhooks/${id}`, 303);
}

/** Gives the webhook in the path a new secret, and shows it this once. */
export async function rotateWebhookSecret(c: WebhookContext): Promise<Response> {
  const webhook = requireLoaded(c.var.loaded.webhook, 'webhook');
  return sendSecret(c, 'The new secret', await c.var.once((context) => rotateSecret(context, { webhook })));
}

/** Deletes the webhook in the path. */
export async function removeWebhook(c: ConsoleContext): Promise<Response> {
  await deleteWebhook(c.var.signedIn.context, { id: pathId(c, 'webhook') });
  return c.redirect('/console/webhooks', 303);
}

/** Sends a test to the webhook in the path, and shows its delivery. */
export async function sendTest(c: WebhookContext): Promise<Response> {
  const webhook = requireLoaded(c.var.loaded.webhook, 'webhook');
  try {
    const { id } = await testWebhook(c.var.signedIn.context, { webhook });
    return c.redirect(`/console/webhooks/${webhook.id}/deliveries/${id}`, 303);
  } catch (error) {
    return showWebhook(c, refusalOf(error));
  }
}

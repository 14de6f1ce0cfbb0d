import type { SQL } from 'drizzle-orm';
import type { Reader } from '../../db/database';
import type { RequestContext } from '../../http/context';
import { equalJson, type Json } from '../../lib/json';
import { updateWebhook, WebhookUpdate } from '../../webhooks/update';
import { presentWebhook, requireLoaded, type Webhook, webhookOfPath } from '../../webhooks/webhook';
import { readForm, refusalOf, validate } from '../frame/form';
import { requireUnchanged } from '../frame/shown-state';
import type { ConsoleContext } from '../session/access';
import { agentsInForm } from './create';
import { fieldsOf, inputOf, readWebhookFields, sendWebhookForm, type WebhookFields } from './webhook-form';

/** The preload of a change: the webhook in the path, and those agents of the form that the account has. */
export async function webhookInForm(c: RequestContext, reader: Reader, owner: SQL<number>) {
  return { ...(await webhookOfPath(c, reader, owner)), ...(await agentsInForm(c, reader, owner)) };
}

/** Shows the form that changes the webhook in the path. */
export function showWebhookForm(c: ConsoleContext<Awaited<ReturnType<typeof webhookOfPath>>>): Promise<Response> {
  const webhook = presentWebhook(requireLoaded(c.var.loaded.webhook, 'webhook'));
  return sendWebhookForm(c, webhook, fieldsOf(webhook));
}

/** Changes the fields that differ from the webhook as it is. If that is refused, shows the form again and why. */
export async function editWebhook(c: ConsoleContext<Awaited<ReturnType<typeof webhookInForm>>>): Promise<Response> {
  const webhook = presentWebhook(requireLoaded(c.var.loaded.webhook, 'webhook'));
  const form = await readForm(c);
  const fields = readWebhookFields(form);
  try {
    const changed = changedFields(fieldsOf(webhook), fields);
    if (Object.keys(changed).length > 0) {
      requireUnchanged('webhook', form, webhook.updated_at, inWords(webhook), changed);
      const input = validate(WebhookUpdate(), changed);
      await updateWebhook(c.var.signedIn.context, { id: webhook.id, agents: c.var.loaded.agents ?? [], ...input });
    }
  } catch (error) {
    return sendWebhookForm(c, webhook, fields, refusalOf(error));
  }
  return c.redirect(`/console/webhooks/${webhook.id}`, 303);
}

/** The fields of a webhook as they are now, in words. */
function inWords({ url, description, events, agent_ids: agents }: Webhook) {
  return {
    url,
    description: description ?? '',
    events: events.join(', '),
    agent_ids: agents === null ? 'all agents' : `limited to ${agents.length} of the agents`,
  };
}

function changedFields(before: WebhookFields, after: WebhookFields) {
  const old: Record<string, Json> = inputOf({ ...before });
  const isChanged = ([name, value]: [string, Json]) => !equalJson(sorted(value), sorted(old[name] ?? null));
  return Object.fromEntries(Object.entries<Json>(inputOf(after)).filter(isChanged));
}

/** The order in which events and agents are checked has no meaning. */
function sorted(value: Json): Json {
  return Array.isArray(value) ? value.toSorted() : value;
}

import type { SQL } from 'drizzle-orm';
import type { Reader } from '../../db/database';
import type { RequestContext } from '../../http/context';
import { createWebhook, WebhookCreation } from '../../webhooks/create';
import { selectAgents } from '../../webhooks/webhook';
import { readForm, refusalOf, validate } from '../frame/form';
import type { ConsoleContext } from '../session/access';
import { EVENTS } from './events';
import { sendSecret } from './secret';
import { inputOf, readWebhookFields, sendWebhookForm } from './webhook-form';

/** The preload of those agents that the account has, out of the ones that the form names. */
export async function agentsInForm(c: RequestContext, reader: Reader, owner: SQL<number>) {
  return { agents: selectAgents(reader, owner, (await readForm(c)).list('agent_ids')) };
}

/** Shows the form that creates a webhook. */
export function showNewWebhook(c: ConsoleContext): Promise<Response> {
  return sendWebhookForm(c, null, { url: '', description: '', events: EVENTS.map(([event]) => event), agent_ids: [] });
}

/** Creates a webhook, and shows its secret this once. If that is refused, shows the form again and why. */
export async function addWebhook(c: ConsoleContext<Awaited<ReturnType<typeof agentsInForm>>>): Promise<Response> {
  const fields = readWebhookFields(await readForm(c));
  try {
    const input = validate(WebhookCreation(), inputOf(fields));
    const agents = c.var.loaded.agents ?? [];
    const created = await c.var.once((context) => createWebhook(context, { agents, ...input }));
    return sendSecret(c, 'Webhook created', created);
  } catch (error) {
    return sendWebhookForm(c, null, fields, refusalOf(error));
  }
}

import type { SQL } from 'drizzle-orm';
import type { Reader } from '../../db/database';
import type { RequestContext } from '../../http/context';
import { createWebhook, WebhookCreation } from '../../webhooks/create';
import { selectAgents } from '../../webhooks/webhook';
import { type Refusal, readForm, refusalOf, validate } from '../frame/form';
import { loadNames } from '../frame/names';
import { sendPage } from '../frame/page';
import type { ConsoleContext, SignedInRequest } from '../session/access';
import { sendSecret } from './secret';
import { ALL_EVENTS, inputOf, readWebhookFields, type WebhookFields, WebhookForm } from './webhook-form';

/** The preload of those agents that the account has, out of the ones that the form names. */
export async function agentsInForm(c: RequestContext, reader: Reader, owner: SQL<number>) {
  return { agents: selectAgents(reader, owner, (await readForm(c)).list('agent_ids')) };
}

/** Shows the form that creates a webhook. */
export function showNewWebhook(c: ConsoleContext): Promise<Response> {
  return sendForm(c, { url: '', description: '', events: [...ALL_EVENTS], agent_ids: [] });
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
    return sendForm(c, fields, refusalOf(error));
  }
}

async function sendForm(c: SignedInRequest, fields: WebhookFields, refusal?: Refusal): Promise<Response> {
  const names = await loadNames(c.var.signedIn.context, ['agents']);
  return sendPage(c, {
    title: 'Create a webhook',
    isNarrow: true,
    status: refusal?.status,
    children: (
      <WebhookForm
        {...{ fields, names, refusal }}
        action="/console/webhooks"
        submit="Create the webhook"
        back="/console/webhooks"
      />
    ),
  });
}

import { Hono } from 'hono';
import * as z from 'zod';
import { userAccess } from '../../http/access';
import { newId, type UserContext } from '../../http/context';
import { body, noQuery } from '../../http/input';
import { answer, created, operation } from '../../http/operation';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { requireAgents } from '../named-agents';
import { insertReceiver, newReceiverColumns } from '../receiver';
import { makeSecret } from './secret';
import {
  DEFAULT_EVENTS,
  exampleWebhook,
  MAX_WEBHOOKS,
  preloadAgents,
  presentWebhook,
  requireTarget,
  WebhookWithSecret,
  webhookFields,
} from './webhook';

export const WebhookCreation = lazy(() =>
  z
    .strictObject({
      ...webhookFields(),
      description: webhookFields().description.default(null),
      events: webhookFields()
        .events.default([...DEFAULT_EVENTS])
        .meta({
          description:
            'The events to send; by default all but those of permissions and of the account.',
        }),
      agent_ids: webhookFields().agent_ids.default(null),
      is_active: webhookFields().is_active.default(true),
    })
    .meta({
      id: 'WebhookCreation',
      examples: [
        {
          url: exampleWebhook.url,
          description: exampleWebhook.description,
          events: exampleWebhook.events,
        },
      ],
    }),
);

/**
 * Creates a webhook, which gets the events from now on.
 * @param input the fields of the request; `agents` are those of its `agent_ids` that the account
 *   has
 * @throws Problem `invalid_request`; `conflict` if the account has the maximum number of webhooks
 */
export async function createWebhook(
  context: UserContext,
  { agents, ...input }: { agents: { id: string }[] } & LazyOutput<typeof WebhookCreation>,
): Promise<WebhookWithSecret> {
  const { runtime, config } = context;
  requireTarget(config, input.url);
  requireAgents(input.agent_ids, agents);
  const id = newId(runtime, 'webhook');
  const { secret, encrypted } = await makeSecret(runtime, config.keyring, id);
  const row = {
    ...newReceiverColumns(context),
    id,
    url: input.url,
    description: input.description || null,
    events: input.events,
    agentIds: input.agent_ids,
    isActive: input.is_active,
    secret: encrypted,
  };
  const created = { ...presentWebhook(row), secret };
  await insertReceiver(context, {
    noun: 'webhook',
    id,
    row,
    maximum: MAX_WEBHOOKS,
    answer: created,
  });
  return created;
}

export const createWebhookRoute = new Hono().post(
  '/v1/webhooks',
  operation({
    id: 'createWebhook',
    tag: 'Webhooks',
    summary: 'Create a webhook',
    description:
      'It gets the events from now on. Messages are signed by the Standard Webhooks specification, with the secret in this ' +
      'answer.',
    success: created(WebhookWithSecret),
    problems: ['conflict'],
  }),
  userAccess('webhooks:write', preloadAgents),
  noQuery(),
  body(WebhookCreation),
  async (c) => {
    const input = { agents: c.var.loaded.agents ?? [], ...c.req.valid('json') };
    return answer(c, await createWebhook(c.var.context, input));
  },
);

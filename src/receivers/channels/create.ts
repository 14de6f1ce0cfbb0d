import { Hono } from 'hono';
import * as z from 'zod';
import { userAccess } from '../../http/access';
import { newId, type UserContext } from '../../http/context';
import { body, noQuery } from '../../http/input';
import { answer, created, operation } from '../../http/operation';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { type Id, withPrefix } from '../../lib/typeid';
import { insertReceiver, newReceiverColumns } from '../receiver';
import {
  CHANNEL_EVENTS,
  Channel,
  channelFields,
  EmailConfig,
  exampleChannel,
  MAX_CHANNELS,
  preloadFilterAgents,
  presentChannel,
  requireAgentsOfFilters,
} from './channel';
import { SlackConfig, shownConfig } from './slack/config';
import { inboundUrlOf, makeInboundSecret, sealSecrets } from './slack/secrets';

const shared = lazy(() => ({
  ...channelFields(),
  events: channelFields()
    .events.default([...CHANNEL_EVENTS])
    .meta({ description: 'The events that are sent to people; all of them by default.' }),
  filter: channelFields().filter.default(null),
  is_active: channelFields().is_active.default(true),
}));

export const ChannelCreation = lazy(() =>
  z
    .discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('email'), ...shared(), config: EmailConfig().default({}) }),
      z.strictObject({ kind: z.literal('slack'), ...shared(), config: SlackConfig() }),
    ])
    .meta({
      id: 'ChannelCreation',
      examples: [{ kind: 'email', name: exampleChannel.name, events: exampleChannel.events }],
    }),
);

/**
 * Creates a channel, which notifies people of the events from now on.
 * @param input the fields of the request; `agents` are those of its filter that the account has
 * @throws Problem `invalid_request`; `conflict` if the account has the maximum number of channels
 */
export async function createChannel(
  context: UserContext,
  { agents, ...input }: { agents: { id: string }[] } & LazyOutput<typeof ChannelCreation>,
): Promise<Channel> {
  requireAgentsOfFilters(input.filter, input.kind === 'slack' ? input.config.channels : [], agents);
  const id = newId(context.runtime, 'chan');
  const { inboundUrl, ...kindColumns } = await columnsOfKind(context, id, input);
  const row = {
    ...newReceiverColumns(context),
    id: withPrefix('webhook', id),
    kind: input.kind,
    name: input.name,
    url: '',
    events: input.events,
    actions: input.filter?.actions ?? null,
    agentIds: input.filter?.agent_ids ?? null,
    ...kindColumns,
    isActive: input.is_active,
  };
  const channel = presentChannel(row, inboundUrl);
  await insertReceiver(context, {
    noun: 'channel',
    id,
    row,
    maximum: MAX_CHANNELS,
    answer: channel,
  });
  return channel;
}

/**
 * The columns that depend on the kind of a new channel, and the address at which Slack calls it;
 * null for e-mail.
 */
async function columnsOfKind(
  { principal, config, runtime }: UserContext,
  id: Id<'chan'>,
  input: LazyOutput<typeof ChannelCreation>,
) {
  if (input.kind === 'email')
    return { config: input.config, secret: new Uint8Array(), inboundUrl: null };
  const { bot_token: botToken, signing_secret: signingSecret } = input.config;
  const secrets = {
    botToken,
    signingSecret,
    inboundSecret: makeInboundSecret(runtime, principal.shard),
  };
  const sealed = await sealSecrets({ keyring: config.keyring, runtime }, id, secrets);
  return {
    config: shownConfig(input.config),
    ...sealed,
    inboundUrl: inboundUrlOf(config, secrets),
  };
}

export const createChannelRoute = new Hono().post(
  '/v1/channels',
  operation({
    id: 'createChannel',
    tag: 'Channels',
    summary: 'Create a channel',
    description:
      'It notifies people of the events from now on: by e-mail those who can decide a request, and the owner of its agent when ' +
      'it is decided; in Slack the channels that it names. There people decide too, once the Slack app sends what they do to ' +
      '`inbound_url`. No answer shows the secrets of the app.',
    success: created(Channel),
    problems: ['conflict'],
  }),
  userAccess('channels:write', preloadFilterAgents),
  noQuery(),
  body(ChannelCreation),
  async (c) => {
    const input = { agents: c.var.loaded.agents ?? [], ...c.req.valid('json') };
    return answer(c, await createChannel(c.var.context, input));
  },
);

import { and, eq, inArray, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import type { Reader } from '../../db/database';
import {
  ACCOUNT_EVENTS,
  type AccountEventType,
  ASKING_EVENTS,
  CHANNEL_KINDS,
  type DeliveryEvent,
  END_EVENTS,
  PERMISSION_EVENTS,
  receivers,
} from '../../db/schema';
import type { Config } from '../../env';
import type { RequestContext, UserPrincipal } from '../../http/context';
import { EXAMPLE, exampleId } from '../../http/examples';
import { choice, listOf, text } from '../../http/fields';
import { readJson, readObject } from '../../http/input';
import { creatorField, idField, objectField, timeField } from '../../http/response-fields';
import type { CallerSql } from '../../identity/credentials';
import { isJsonObject } from '../../lib/json';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { formatTime } from '../../lib/time';
import { type Id, parseId, withPrefix } from '../../lib/typeid';
import { MAX_NAMED_AGENTS, requireAgents, selectAgents } from '../named-agents';
import { type ReceiverRow, requireRow } from '../receiver';
import { ChannelFilter, presentFilter } from './filter';
import { MAX_SLACK_CHANNELS } from './slack/config';
import { inboundUrlOf, openSecrets } from './slack/secrets';

/** Maximum number of channels of an account. */
export const MAX_CHANNELS = 50;

/**
 * Maximum number of agents that a body can name: in its filter, and in those of its Slack channels.
 */
const MAX_FILTERED_AGENTS = (1 + MAX_SLACK_CHANNELS) * MAX_NAMED_AGENTS;

/** The events that a channel can send to people. */
export const CHANNEL_EVENTS = [
  ...PERMISSION_EVENTS,
  'webhook.disabled',
  ...ACCOUNT_EVENTS,
] as const;

export const ChannelEvent = lazy(() =>
  choice(CHANNEL_EVENTS).meta({
    id: 'ChannelEvent',
    description:
      'What happened: a request waits for people, more people became its reviewers, it was decided, it expired undecided, ' +
      'the service disabled a webhook, or somebody stopped or resumed the account.',
  }),
);

export type ChannelEvent = LazyOutput<typeof ChannelEvent>;

/** Whether an event asks people to decide. */
export function isAsking(event: DeliveryEvent): boolean {
  return ASKING_EVENTS.includes(event);
}

/** Whether an event stops or resumes the account: such a message is always sent at once. */
export function isOfAccount(event: DeliveryEvent): event is AccountEventType {
  return ACCOUNT_EVENTS.some((each) => each === event);
}

/** Whether an event ends a request. */
export function isEnd(event: DeliveryEvent): boolean {
  return END_EVENTS.includes(event);
}

/** The fields of a channel that a client can set, whatever its kind. */
export const channelFields = lazy(() => ({
  name: text(1, 255),
  events: listOf(ChannelEvent(), CHANNEL_EVENTS.length).refine(
    (events) => new Set(events).size === events.length,
    'must name each event once',
  ),
  filter: ChannelFilter().nullable(),
  is_active: z.boolean(),
}));

/**
 * The settings of a channel for e-mail. There are none: mails go to the addresses of the members.
 */
export const EmailConfig = lazy(() =>
  z.strictObject({}).meta({ id: 'EmailConfig', examples: [{}] }),
);

const ChannelKind = lazy(() => z.enum(CHANNEL_KINDS).meta({ id: 'ChannelKind' }));

export const exampleChannel = {
  id: exampleId('chan'),
  kind: 'email',
  name: 'Mail to reviewers',
  config: {},
  events: ['permission.requested', 'permission.escalated'],
  filter: null,
  inbound_url: null,
  is_active: true,
  disabled_reason: null,
  created_by: exampleId('member'),
  created_at: EXAMPLE.time,
  updated_at: EXAMPLE.time,
};

/** A channel as the API shows it. */
export const Channel = lazy(() =>
  z
    .object({
      id: idField('chan'),
      kind: ChannelKind(),
      name: z.string(),
      config: objectField.meta({ description: 'Its settings, without secrets.' }),
      events: z.array(ChannelEvent()),
      filter: z
        .object({
          actions: z.array(z.string()).optional(),
          agent_ids: z.array(z.string()).optional(),
        })
        .nullable()
        .meta({ description: 'Limits the notifications to some permissions; null for all.' }),
      inbound_url: z.string().nullable().meta({
        description:
          'Where Slack sends what people do. It is a secret: null without the scope `channels:write`, and for e-mail.',
      }),
      is_active: z.boolean().meta({
        description: 'Nothing is sent while this is false, and events of that time are never sent.',
      }),
      disabled_reason: z
        .string()
        .nullable()
        .meta({ description: 'Why the service disabled it; null if it did not.' }),
      created_by: creatorField,
      created_at: timeField,
      updated_at: timeField,
    })
    .meta({
      id: 'Channel',
      description: 'Notifies people of events, by e-mail or in Slack.',
      examples: [exampleChannel],
    }),
);

export type Channel = LazyOutput<typeof Channel>;

type ShownRow = Pick<
  ReceiverRow,
  | 'id'
  | 'kind'
  | 'name'
  | 'config'
  | 'events'
  | 'actions'
  | 'agentIds'
  | 'isActive'
  | 'disabledReason'
  | 'createdBy'
  | 'createdAt'
  | 'updatedAt'
>;

/** Shows a channel. Only {@link describeChannel} knows the address of one for Slack. */
export function presentChannel(row: ShownRow, inboundUrl: string | null = null): Channel {
  return {
    id: withPrefix('chan', row.id),
    kind: row.kind as Channel['kind'],
    name: row.name ?? '',
    config: row.config ?? {},
    events: row.events as ChannelEvent[],
    filter: presentFilter({ actions: row.actions, agent_ids: row.agentIds }),
    inbound_url: inboundUrl,
    is_active: row.isActive,
    disabled_reason: row.disabledReason,
    created_by: row.createdBy,
    created_at: formatTime(row.createdAt),
    updated_at: formatTime(row.updatedAt),
  };
}

/**
 * Shows a channel to a caller, with the address at which Slack calls it. The address is null for a
 * caller who may not change channels, and if the channel's secrets can no longer be read.
 */
export async function describeChannel(
  {
    config,
    principal,
  }: { config: Pick<Config, 'keyring' | 'publicUrl'>; principal: Pick<UserPrincipal, 'scopes'> },
  row: ShownRow & Pick<ReceiverRow, 'secret'>,
): Promise<Channel> {
  if (!principal.scopes.includes('channels:write')) return presentChannel(row);
  const secrets = await openSecrets(config.keyring, row);
  return presentChannel(row, secrets && inboundUrlOf(config, secrets));
}

/** The condition that finds the channel with this identifier, if the account has it. */
export function isChannel(account: number | SQL<number>, id: Id<'chan'>) {
  return and(
    eq(receivers.account, account),
    eq(receivers.id, withPrefix('webhook', id)),
    inArray(receivers.kind, CHANNEL_KINDS),
  );
}

/** Preloads the channel in the path. */
export async function preloadChannel(c: RequestContext, reader: Reader, { account }: CallerSql) {
  const id = parseId('chan', c.req.param('id') ?? '');
  return { channel: id && reader.select().from(receivers).where(isChannel(account, id)) };
}

/**
 * The row that the preload found.
 * @throws Problem `not_found`
 */
export function requireChannel(loaded: ReceiverRow[] | undefined): ReceiverRow {
  return requireRow(loaded, 'channel');
}

/**
 * Preloads the agents in the body's filters, as far as the account has them. The body is not
 * validated yet.
 */
export async function preloadFilterAgents(
  c: RequestContext,
  reader: Reader,
  { account }: CallerSql,
) {
  const { filter, config } = (await readObject(c, readJson)) ?? {};
  const channels = isJsonObject(config) && Array.isArray(config.channels) ? config.channels : [];
  const filters = [
    filter,
    ...channels.map((channel) => (isJsonObject(channel) ? channel.filter : null)),
  ];
  const listed = filters.flatMap((each) =>
    isJsonObject(each) && Array.isArray(each.agent_ids) ? each.agent_ids : [],
  );
  return { agents: selectAgents(reader, account, listed, MAX_FILTERED_AGENTS) };
}

/**
 * Refuses agents that the account does not have, in the filter of a channel and in those of its
 * Slack channels.
 * @param agents those of the agents that the account has
 * @throws Problem `invalid_request`
 */
export function requireAgentsOfFilters(
  filter: { agent_ids?: string[] | null | undefined } | null | undefined,
  channels: readonly { filter?: { agent_ids?: string[] | null | undefined } | null | undefined }[],
  agents: { id: string }[],
): void {
  requireAgents(filter?.agent_ids, agents, 'body.filter.agent_ids');
  for (const [i, channel] of channels.entries()) {
    requireAgents(channel.filter?.agent_ids, agents, `body.config.channels.${i}.filter.agent_ids`);
  }
}

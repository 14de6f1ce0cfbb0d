import { and, eq, type SQL, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { heldMessages, receivers } from '../../db/schema';
import { invalidRequest, notFound, Problem } from '../../errors';
import { userAccess } from '../../http/access';
import { targetExists, userActivity } from '../../http/activity';
import type { UserContext } from '../../http/context';
import { atLeastOneField, body, noQuery, parseFields } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { pathId } from '../../http/path-id';
import { type Guard, hasRow } from '../../ledger/guard';
import type { RecordWriter } from '../../ledger/ledger';
import { isJsonObject, type JsonObject } from '../../lib/json';
import { type LazyOutput, lazy } from '../../lib/lazy';
import type { Id } from '../../lib/typeid';
import { enqueueMessage } from '../../outbox/enqueue';
import { closeFeed, openFeed } from '../../outbox/feed';
import { activationColumns } from '../activation';
import type { ReceiverRow } from '../receiver';
import {
  Channel,
  channelFields,
  describeChannel,
  EmailConfig,
  isChannel,
  preloadFilterAgents,
  requireAgentsOfFilters,
  requireChannel,
} from './channel';
import { type SlackConfig, SlackConfigUpdate, shownConfig } from './slack/config';
import { endLinksOfChannel } from './slack/links';
import { makeInboundSecret, openSecrets, sealSecrets } from './slack/secrets';

export const ChannelUpdate = lazy(() =>
  atLeastOneField(
    z
      .strictObject({
        ...channelFields(),
        config: z.custom<JsonObject>(isJsonObject, 'must be a JSON object').meta({
          type: 'object',
          additionalProperties: true,
          description:
            'The settings as at the creation of a channel of this kind; the kind itself never changes. What is left out ' +
            'stays as it is. With a new `bot_token` or `signing_secret`, Slack users have to be linked again.',
        }),
      })
      .partial(),
  ).meta({
    id: 'ChannelUpdate',
    examples: [{ events: ['permission.requested'], is_active: true }],
  }),
);

type Fields = LazyOutput<typeof ChannelUpdate>;

/**
 * Changes the given fields of a channel. A disabled channel sends nothing more, not even what is
 * pending; one that is enabled sends the events from then on. New secrets end the links of Slack
 * users.
 * @param agents those of the agents in the filters that the account has
 * @throws Problem `not_found`, `invalid_request`; `conflict` if other secrets were set at the same
 *   time
 */
export async function updateChannel(
  context: UserContext,
  { id, agents, ...fields }: { id: Id<'chan'>; agents: { id: string }[] } & Fields,
): Promise<Channel> {
  const { principal, config, runtime } = context;
  const changed =
    fields.config === undefined ? null : await changeConfig(context, id, fields.config);
  requireAgentsOfFilters(fields.filter, changed?.channels ?? [], agents);
  const account = principal.account.number;
  const now = runtime.now();
  const columns = {
    name: fields.name,
    events: fields.events,
    ...(fields.filter !== undefined && {
      actions: fields.filter?.actions ?? null,
      agentIds: fields.filter?.agent_ids ?? null,
    }),
    ...changed?.columns,
    updatedAt: now,
    ...activationColumns(account, fields.is_active, changed?.replaced ? sql`1` : sql`0`, now),
  };
  const isUnchanged = changed?.replaced ? eq(receivers.secret, changed.replaced.secret) : undefined;
  const found = and(isChannel(account, id), isUnchanged);
  const [[row]] = await context.ledger.change({
    record: userActivity(context, 'channel.updated', id, { changes: Object.keys(fields) }),
    guards: [
      changed?.replaced ? channelWasAsRead(found) : targetExists('channel', receivers, found),
    ],
    changes: (write) => [
      write.update(receivers).set(columns).where(found).returning(),
      ...openFeed(write, account),
      closeFeed(write, account),
      ...(changed?.replaced ? [endLinksOfChannel(write, account, changed.replaced.number)] : []),
      ...(fields.is_active === false ? [dropHeldMessages(write, account, id)] : []),
    ],
    answer: null,
  });
  if (!row) throw notFound('channel');
  if (row.dueAt !== null && row.dueAt <= now) {
    await enqueueMessage(
      config.delivery,
      { shard: principal.shard, account, receiver: row.number },
      row,
    );
  }
  return describeChannel(context, row);
}

/** Makes the statement that drops the messages of a channel that wait. */
function dropHeldMessages(write: RecordWriter, account: number, id: Id<'chan'>) {
  const number = sql`(select number from ${receivers} where ${isChannel(account, id)})`;
  return write
    .delete(heldMessages)
    .where(and(eq(heldMessages.account, account), eq(heldMessages.receiver, number)));
}

/** How a channel's `config` changes. */
interface ChangedConfig {
  columns: Partial<Pick<ReceiverRow, 'config' | 'secret' | 'inboundHash'>>;
  /** The new Slack channels; none if they stay, and for e-mail. */
  channels: SlackConfig['channels'];
  /** The row whose secrets are replaced; null if they stay. */
  replaced: ReceiverRow | null;
}

/**
 * Checks a new `config` with the schema of the stored kind, and makes the columns that it changes.
 * @throws Problem `not_found`, `invalid_request`
 */
async function changeConfig(
  { reader, principal, config: { keyring }, runtime }: UserContext,
  id: Id<'chan'>,
  config: JsonObject,
): Promise<ChangedConfig> {
  const [rows] = await reader.load([
    reader.select().from(receivers).where(isChannel(principal.account.number, id)),
  ]);
  const row = requireChannel(rows);
  if (row.kind === 'email') {
    const fields = parseFields(z.object({ config: EmailConfig() }), { config });
    return { columns: fields, channels: [], replaced: null };
  }
  const { channels, ...given } = parseFields(z.object({ config: SlackConfigUpdate() }), {
    config,
  }).config;
  const old = await openSecrets(keyring, row);
  const botToken = given.bot_token ?? old?.botToken;
  const signingSecret = given.signing_secret ?? old?.signingSecret;
  if (botToken === undefined || signingSecret === undefined) {
    const missing = [
      ...(botToken === undefined ? ['bot_token'] : []),
      ...(signingSecret === undefined ? ['signing_secret'] : []),
    ];
    const message = 'is required: the stored one can no longer be read';
    throw invalidRequest(missing.map((name) => ({ path: `body.config.${name}`, message })));
  }
  const changed = {
    columns: channels ? { config: shownConfig({ channels }) } : {},
    channels: channels ?? [],
  };
  if (botToken === old?.botToken && signingSecret === old.signingSecret)
    return { ...changed, replaced: null };
  const inboundSecret = old?.inboundSecret ?? makeInboundSecret(runtime, principal.shard);
  const secrets = { botToken, signingSecret, inboundSecret };
  const columns = { ...changed.columns, ...(await sealSecrets({ keyring, runtime }, id, secrets)) };
  return { ...changed, columns, replaced: row };
}

/** The guard of a change of secrets that were read before. */
function channelWasAsRead(found: SQL | undefined): Guard {
  return {
    name: 'channel_was_as_read',
    holds: hasRow(receivers, found),
    otherwise: () =>
      new Problem(
        'conflict',
        'The channel was changed at the same time. Read it, and send the request again.',
      ),
  };
}

export const updateChannelRoute = new Hono().put(
  '/v1/channels/:id',
  operation({
    id: 'updateChannel',
    tag: 'Channels',
    summary: 'Change a channel',
    description:
      'Changes the given fields. A disabled channel sends nothing more; when it is enabled again, it sends the ' +
      'events from then on.',
    success: ok(Channel),
    pathId: 'chan',
    problems: ['conflict'],
  }),
  userAccess('channels:write', preloadFilterAgents),
  noQuery(),
  body(ChannelUpdate),
  async (c) => {
    const input = {
      id: pathId(c, 'chan'),
      agents: c.var.loaded.agents ?? [],
      ...c.req.valid('json'),
    };
    return answer(c, await updateChannel(c.var.context, input));
  },
);

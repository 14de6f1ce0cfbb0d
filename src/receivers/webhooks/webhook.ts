import { and, eq, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import type { Reader } from '../../db/database';
import { ACCOUNT_EVENTS, PERMISSION_EVENTS, receivers } from '../../db/schema';
import type { Config } from '../../env';
import { invalidRequest } from '../../errors';
import type { RequestContext } from '../../http/context';
import { EXAMPLE, exampleId } from '../../http/examples';
import { choice, listOf, plainText, text } from '../../http/fields';
import { readJson, readObject } from '../../http/input';
import { creatorField, idField, timeField } from '../../http/response-fields';
import type { CallerSql } from '../../identity/credentials';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { findTargetFault } from '../../lib/target';
import { formatTime } from '../../lib/time';
import { type Id, idPattern, parseId } from '../../lib/typeid';
import { agentIds, selectAgents } from '../named-agents';
import type { ReceiverRow } from '../receiver';
import { MAX_URL_LENGTH } from '../url-fault';

/** The events that a webhook gets unless others are named. */
export const DEFAULT_EVENTS = [
  'audit.created',
  'audit.export.completed',
  'audit.export.failed',
  'report.completed',
  'report.failed',
  'webhook.test',
] as const;

/**
 * The events that a webhook can get. It gets the events of permissions and of the account only if
 * it names them: `audit.created` already reports the steps of a permission.
 */
export const WEBHOOK_EVENTS = [...DEFAULT_EVENTS, ...PERMISSION_EVENTS, ...ACCOUNT_EVENTS] as const;

/** Maximum number of webhooks of an account. */
export const MAX_WEBHOOKS = 50;

export const WebhookEvent = lazy(() =>
  choice(WEBHOOK_EVENTS).meta({
    id: 'WebhookEvent',
    description:
      'What happened: an entry was written to the audit log; an export or a report completed or failed; a request waits ' +
      'for people, more people became its reviewers, it was decided, or it expired undecided; somebody stopped or resumed ' +
      'the account.',
  }),
);

export type WebhookEvent = LazyOutput<typeof WebhookEvent>;

/** The fields that a client can set. */
export const webhookFields = lazy(() => ({
  url: plainText(MAX_URL_LENGTH).meta({
    description:
      'Where events are sent: `https`, a public host name, no credentials. It is checked again before every delivery.',
  }),
  description: text(0, 2_000).nullable(),
  events: listOf(WebhookEvent(), WEBHOOK_EVENTS.length).refine(
    (events) => new Set(events).size === events.length,
    'must name each event once',
  ),
  agent_ids: agentIds().nullable().meta({
    description:
      'The agents whose audit entries and permissions are sent; null for all. Other events have no agent.',
  }),
  is_active: z.boolean(),
}));

export const exampleWebhook = {
  id: exampleId('webhook'),
  url: 'https://hooks.example.com/countersign',
  description: 'For the security team',
  events: ['audit.created', 'audit.export.completed'],
  agent_ids: null,
  is_active: true,
  disabled_reason: null,
  created_by: exampleId('member'),
  created_at: EXAMPLE.time,
  updated_at: EXAMPLE.time,
};

const EXAMPLE_SECRET = 'whsec_d2ViaG9vayBzZWNyZXQgb2YgdGhlIGV4YW1wbGVzISE=';

/** A webhook as the API shows it. */
export const Webhook = lazy(() =>
  z
    .object({
      id: idField('webhook'),
      url: z.string(),
      description: z.string().nullable(),
      events: z.array(WebhookEvent()),
      agent_ids: z.array(z.string().meta({ pattern: idPattern('agent') })).nullable(),
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
      id: 'Webhook',
      description: 'A URL to which events are sent as they happen.',
      examples: [exampleWebhook],
    }),
);

export type Webhook = LazyOutput<typeof Webhook>;

/** A webhook with a secret that was just made. No other answer shows it. */
export const WebhookWithSecret = lazy(() =>
  Webhook()
    .extend({
      secret: z.string().meta({
        pattern: '^whsec_[A-Za-z0-9+/]{43}=$',
        description:
          'Signs every message, by the Standard Webhooks specification. Only this answer shows it.',
      }),
    })
    .meta({
      id: 'WebhookWithSecret',
      description: 'A webhook with its secret.',
      examples: [{ ...exampleWebhook, secret: EXAMPLE_SECRET }],
    }),
);

export type WebhookWithSecret = LazyOutput<typeof WebhookWithSecret>;

type ShownRow = Pick<
  ReceiverRow,
  | 'id'
  | 'url'
  | 'description'
  | 'events'
  | 'agentIds'
  | 'isActive'
  | 'disabledReason'
  | 'createdBy'
  | 'createdAt'
  | 'updatedAt'
>;

export function presentWebhook(row: ShownRow): Webhook {
  return {
    id: row.id,
    url: row.url,
    description: row.description,
    events: row.events as WebhookEvent[],
    agent_ids: row.agentIds,
    is_active: row.isActive,
    disabled_reason: row.disabledReason,
    created_by: row.createdBy,
    created_at: formatTime(row.createdAt),
    updated_at: formatTime(row.updatedAt),
  };
}

/**
 * The condition that finds the webhook with this identifier, if the account has it. Channels are no
 * webhooks.
 */
export function isWebhook(account: number | SQL<number>, id: Id<'webhook'>) {
  return and(eq(receivers.account, account), eq(receivers.id, id), eq(receivers.kind, 'webhook'));
}

/** Preloads the webhook in the path. */
export async function preloadWebhook(c: RequestContext, reader: Reader, { account }: CallerSql) {
  const id = parseId('webhook', c.req.param('id') ?? '');
  return { webhook: id && reader.select().from(receivers).where(isWebhook(account, id)) };
}

/**
 * Preloads the agents in the body's `agent_ids`, as far as the account has them. The body is
 * not validated yet: for an invalid one fewer agents are found, or none.
 */
export async function preloadAgents(c: RequestContext, reader: Reader, { account }: CallerSql) {
  const { agent_ids: listed } = (await readObject(c, readJson)) ?? {};
  return { agents: selectAgents(reader, account, Array.isArray(listed) ? listed : []) };
}

/**
 * Refuses a URL to which nothing may be sent.
 * @throws Problem `invalid_request`
 */
export function requireTarget(
  { delivery: { allowInsecure } }: Config,
  url: string | undefined,
): void {
  const fault = url === undefined ? null : findTargetFault(url, allowInsecure);
  if (fault) throw invalidRequest([{ path: 'body.url', message: fault }]);
}

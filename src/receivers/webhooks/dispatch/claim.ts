import { and, eq, isNotNull, isNull, lte, or, type SQL, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/sqlite-core';
import { aliased, codeOf } from '../../../db/columns';
import type { Reader } from '../../../db/database';
import {
  accounts,
  agents,
  auditEntries,
  deliveries,
  MEMBER_STATUSES,
  members,
  PERMISSION_STATUSES,
  permissionEvents,
  permissions,
  votes,
  webhooks,
} from '../../../db/schema';
import type { Runtime, WebhookConfig } from '../../../env';
import type { Ledger } from '../../../ledger/ledger';
import type { Plan } from '../../../lib/plans';
import type { Keyring } from '../../../lib/secrets';
import { MINUTE } from '../../../lib/time';
import { FROM_FIRST_ATTEMPTS, FROM_RETRIES_BY_DUE_TIME, isPendingFor } from '../deliveries/pending';
import { isEventOfDelivery, payloadColumns } from '../payload';
import type { WebhookRow } from '../webhook';
import { CLAIM_DURATION, pageSizeSql } from './limits';

/**
 * How long the webhooks of an inactive account wait before a worker looks at them again, in
 * milliseconds.
 */
const INACTIVE_ACCOUNT_DELAY = 5 * MINUTE;
const LEASE_BYTES = 8;

/**
 * The services and settings with which a worker delivers. A worker is one invocation of the
 * consumer of a queue.
 */
export interface DispatchContext {
  shard: string;
  reader: Reader;
  ledger: Ledger;
  runtime: Runtime;
  config: { keyring: Keyring; webhooks: WebhookConfig };
}

/** A webhook to which one worker alone delivers until the claim expires. */
export interface ClaimedWebhook {
  /** Its lease identifies the claim. */
  webhook: WebhookRow & { lease: Uint8Array };
  /** Decides how long audit entries are kept. */
  account: { plan: Plan; auditRetentionDays: number | null };
  /** When it was claimed, in milliseconds since the epoch. */
  claimedAt: number;
  /** The first due deliveries, in the order in which they became due. */
  due: DueDelivery[];
  /** How many webhooks the account has, this one included. */
  accountWebhooks: number;
}

/** A delivery that is due, with its payload or the columns of its audit entry. */
export type DueDelivery = ReturnType<typeof findDueDeliveries>['_']['result'][number];

/**
 * Claims a webhook for one worker, with its first due deliveries.
 *
 * The claim expires after 26 s, so that a crash delays deliveries and loses none. Two workers never
 * hold the same webhook: the UPDATE takes only a webhook without a claim, or with one that has
 * expired.
 * @returns null if another worker has claimed it, its account is inactive, it is deleted, or it is
 *   disabled and has nothing to cancel
 */
export async function claimWebhook(
  { reader, ledger, runtime }: DispatchContext,
  key: { account: number; number: number },
): Promise<ClaimedWebhook | null> {
  const now = runtime.now();
  const lease = runtime.random(LEASE_BYTES);
  const limit = sql`coalesce((
    select ${pageSizeSql()} from ${webhooks} where ${webhooks.number} = ${key.number}
  ), 0)`;
  const isThis = and(eq(webhooks.number, key.number), eq(webhooks.account, key.account));
  const activeAccount = sql`
    select 1 from ${accounts} where ${accounts.number} = ${key.account} and ${accounts.isActive} = 1`;
  const [[webhook], , [account], due] = await ledger.write({
    changes: (write) => [
      write
        .update(webhooks)
        .set({ lease, dueAt: now + CLAIM_DURATION })
        .where(
          and(
            isThis,
            or(isNull(webhooks.lease), lte(webhooks.dueAt, now)),
            or(eq(webhooks.isActive, true), eq(webhooks.hasCanceled, true)),
            sql`exists (${activeAccount})`,
          ),
        )
        .returning(),
      write
        .update(webhooks)
        .set({ dueAt: now + INACTIVE_ACCOUNT_DELAY })
        .where(
          and(
            isThis,
            sql`${webhooks.dueAt} < ${now + INACTIVE_ACCOUNT_DELAY}`,
            sql`not exists (${activeAccount})`,
          ),
        ),
    ],
    reads: [
      reader
        .select({
          plan: accounts.plan,
          auditRetentionDays: accounts.auditRetentionDays,
          webhookCount:
            sql<number>`(select count(*) from ${webhooks} where ${webhooks.account} = ${key.account})`.as(
              'webhook_count',
            ),
        })
        .from(accounts)
        .where(eq(accounts.number, key.account)),
      findDueDeliveries(reader, key, now, limit),
    ],
  });
  if (!webhook || !account) return null;
  return {
    webhook: { ...webhook, lease },
    account,
    claimedAt: now,
    due,
    accountWebhooks: account.webhookCount,
  };
}

/**
 * The condition that finds a claimed webhook as long as the claim holds: no other worker has
 * claimed the webhook, and no new URL or activation has reset it.
 */
export function isClaimed({ webhook }: ClaimedWebhook): SQL | undefined {
  return and(eq(webhooks.number, webhook.number), eq(webhooks.lease, webhook.lease));
}

/** Makes the query of the due deliveries of a webhook, in the order in which they became due. */
export function findDueDeliveries(
  reader: Reader,
  { account, number: webhook }: { account: number; number: number },
  now: number,
  limit: number | SQL,
) {
  // A delivery without an attempt is due since the time in its id (RFC 9562 section 5.7): its index
  // is in that order.
  const due = sql`(
    select * from (
      select ${deliveries.webhook}, ${deliveries.id}, substr(${deliveries.id}, 1, 6) as since
      from ${FROM_FIRST_ATTEMPTS} ${isPendingFor(webhook)} order by ${deliveries.id} limit ${limit}
    ) union all select * from (
      select ${deliveries.webhook}, ${deliveries.id}, unhex(printf('%012x', ${deliveries.dueAt}))
      from ${FROM_RETRIES_BY_DUE_TIME} ${isPendingFor(webhook)} and ${deliveries.dueAt} <= ${now}
      order by ${deliveries.dueAt} limit ${limit}
    ) order by since limit ${limit}
  ) as due`;
  return reader
    .select({
      ...payloadColumns,
      id: aliased(deliveries.id, 'delivery_id'),
      original: deliveries.original,
      attempts: deliveries.attempts,
      failures: deliveries.failures,
      event: aliased(deliveries.event, 'delivery_event'),
      aboutPermission: aliased(deliveries.permission, 'delivery_permission'),
      reminder: deliveries.reminder,
      member: aliased(deliveries.member, 'delivery_member'),
      slackChannel: deliveries.slackChannel,
      names: aliased(permissionEvents.names, 'event_names'),
      recipient: recipientSql(account),
      permissionState: permissionStateSql(account, now),
      receipts: receiptsSql,
      digest: deliveries.digest,
      postponements: deliveries.postponements,
    })
    .from(due)
    .crossJoin(deliveries)
    .leftJoin(auditEntries, eq(auditEntries.pos, deliveries.pos))
    .leftJoin(agents, eq(agents.number, deliveries.agent))
    .leftJoin(permissionEvents, isEventOfDelivery(account))
    .where(and(sql`${deliveries.webhook} = due.webhook`, sql`${deliveries.id} = due.id`));
}

/** The member whom a delivery notifies. */
interface DueRecipient {
  email: string | null;
  name: string | null;
  isActive: boolean;
  /** Whether mail to the address is known to reach the member. */
  isProven: boolean;
}

/** Selects the member of a delivery; null for a webhook. */
function recipientSql(account: number) {
  const isActive = sql`${members.status} = ${codeOf(MEMBER_STATUSES, 'active')}`;
  return sql<DueRecipient | null>`(
    select json_object(
      'email', ${members.email}, 'name', ${members.name}, 'isActive', ${jsonFlag(isActive)},
      'isProven', ${jsonFlag(isNotNull(members.emailProvenAt))}
    )
    from ${members} where ${members.account} = ${account} and ${members.id} = ${deliveries.member}
  )`
    .mapWith((text: string): DueRecipient => JSON.parse(text))
    .as('recipient');
}

/** A condition as a value of `json_object`. */
function jsonFlag(condition: SQL): SQL {
  return sql`json(iif(${condition}, 'true', 'false'))`;
}

/** The state of the permission of a delivery when it is due. */
interface PermissionState {
  isPending: boolean;
  /** Whether the member of the delivery has voted on it. */
  hasVoted: boolean;
}

/**
 * Selects the state of the permission of a delivery; null if it has none, or the permission no
 * longer exists.
 */
function permissionStateSql(account: number, now: number) {
  const isPending = sql`${permissions.status} = ${codeOf(PERMISSION_STATUSES, 'pending')}
    and ${permissions.expiresAt} > ${now}`;
  const hasVoted = sql`exists (
    select 1 from ${votes}
    where ${votes.account} = ${permissions.account} and ${votes.permission} = ${permissions.id}
      and ${votes.member} = ${deliveries.member}
  )`;
  return sql<PermissionState | null>`(
    select json_object('isPending', ${jsonFlag(isPending)}, 'hasVoted', ${jsonFlag(hasVoted)})
    from ${permissions}
    where ${permissions.account} = ${account} and ${permissions.id} = ${deliveries.permission}
  )`
    .mapWith((text: string): PermissionState => JSON.parse(text))
    .as('permission_state');
}

const sent = alias(deliveries, 'sent');

/**
 * Selects the receipts of the messages about the same permission in the same Slack channel, each
 * once.
 */
const receiptsSql = sql<string[]>`(
  select json_group_array(distinct ${sent.receipt})
  from ${deliveries} as ${sent} indexed by deliveries_by_permission
  where ${deliveries.slackChannel} is not null and ${sent.permission} = ${deliveries.permission}
    and ${sent.webhook} = ${deliveries.webhook} and ${sent.slackChannel} = ${deliveries.slackChannel}
    and ${sent.receipt} is not null
)`
  .mapWith((text: string): string[] => JSON.parse(text))
  .as('receipts');

import { and, eq, isNull, lte, or, type SQL, sql } from 'drizzle-orm';
import { accounts, webhooks } from '../../db/schema';
import { MINUTE } from '../../lib/time';
import type { DispatchContext } from '../context';
import { findDueDeliveries } from '../deliveries/due';
import type { ClaimedWebhook } from '../target';
import { CLAIM_DURATION, pageSizeSql } from './limits';

/**
 * How long the webhooks of an inactive account wait before a worker looks at them again, in
 * milliseconds.
 */
const INACTIVE_ACCOUNT_DELAY = 5 * MINUTE;

const LEASE_BYTES = 8;

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

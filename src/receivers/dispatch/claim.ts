import { and, eq, isNull, lte, or, type SQL, sql } from 'drizzle-orm';
import { accounts, receivers } from '../../db/schema';
import { MINUTE } from '../../lib/time';
import type { DispatchContext } from '../context';
import { findDueDeliveries } from '../deliveries/due';
import type { ClaimedReceiver } from '../sender';
import { CLAIM_DURATION, pageSizeSql } from './limits';

/**
 * How long the receivers of an inactive account wait before a worker looks at them again, in
 * milliseconds.
 */
const INACTIVE_ACCOUNT_DELAY = 5 * MINUTE;

const LEASE_BYTES = 8;

/**
 * Claims a receiver for one worker, with its first due deliveries.
 *
 * The claim expires after 26 s, so that a crash delays deliveries and loses none. Two workers never
 * have the same receiver: the UPDATE takes only a receiver without a claim, or with one that has
 * expired.
 * @returns null if another worker has claimed it, its account is inactive, it is deleted, or it is
 *   disabled and has nothing to cancel
 */
export async function claimReceiver(
  { reader, ledger, runtime }: DispatchContext,
  key: { account: number; number: number },
): Promise<ClaimedReceiver | null> {
  const now = runtime.now();
  const lease = runtime.random(LEASE_BYTES);
  const limit = sql`coalesce((
    select ${pageSizeSql()} from ${receivers} where ${receivers.number} = ${key.number}
  ), 0)`;
  const isThis = and(eq(receivers.number, key.number), eq(receivers.account, key.account));
  const activeAccount = sql`
    select 1 from ${accounts} where ${accounts.number} = ${key.account} and ${accounts.isActive} = 1`;
  const [[receiver], , [account], due] = await ledger.write({
    changes: (write) => [
      write
        .update(receivers)
        .set({ lease, dueAt: now + CLAIM_DURATION })
        .where(
          and(
            isThis,
            or(isNull(receivers.lease), lte(receivers.dueAt, now)),
            or(eq(receivers.isActive, true), eq(receivers.hasCanceled, true)),
            sql`exists (${activeAccount})`,
          ),
        )
        .returning(),
      write
        .update(receivers)
        .set({ dueAt: now + INACTIVE_ACCOUNT_DELAY })
        .where(
          and(
            isThis,
            sql`${receivers.dueAt} < ${now + INACTIVE_ACCOUNT_DELAY}`,
            sql`not exists (${activeAccount})`,
          ),
        ),
    ],
    reads: [
      reader
        .select({
          plan: accounts.plan,
          auditRetentionDays: accounts.auditRetentionDays,
          receiverCount:
            sql<number>`(select count(*) from ${receivers} where ${receivers.account} = ${key.account})`.as(
              'receiver_count',
            ),
        })
        .from(accounts)
        .where(eq(accounts.number, key.account)),
      findDueDeliveries(reader, key, now, limit),
    ],
  });
  if (!receiver || !account) return null;
  return {
    receiver: { ...receiver, lease },
    account,
    claimedAt: now,
    due,
    accountReceivers: account.receiverCount,
  };
}

/**
 * The condition that finds a claimed receiver as long as the claim is valid: no other worker has
 * claimed the receiver, and no new URL or activation has reset it.
 */
export function isClaimed({ receiver }: ClaimedReceiver): SQL | undefined {
  return and(eq(receivers.number, receiver.number), eq(receivers.lease, receiver.lease));
}

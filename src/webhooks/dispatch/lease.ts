import { and, eq, isNull, lte, or, sql } from 'drizzle-orm';
import { accounts, webhooks } from '../../db/schema';
import type { Plan } from '../../lib/plans';
import { MINUTE } from '../../lib/time';
import type { WebhookRow } from '../webhook';
import type { DispatchContext } from './context';
import { type DueDelivery, findDue } from './due';
import { LEASE, PAGE, SLOW_CHUNK } from './limits';

/** How long until somebody looks again at the webhooks of an account that is switched off. */
const PAUSE = 5 * MINUTE;
const LEASE_BYTES = 8;

/** A webhook that somebody has the right to send to, for as long as nobody else does. */
export interface LeasedWebhook {
  row: WebhookRow;
  /** What the account's plan keeps. */
  owner: { plan: Plan; auditRetentionDays: number | null };
  token: Uint8Array;
}

/** A webhook that was taken, with what is due to it. */
export interface ClaimedWebhook {
  leased: LeasedWebhook;
  due: DueDelivery[];
  /** When it was taken, in milliseconds since the epoch. */
  at: number;
  /** How many webhooks the account has, this one included. */
  siblings: number;
}

/**
 * Takes the right to send to a webhook, with what is due; null when another worker has it, the webhook is off with
 * nothing to be tidied up, or the account is off: what waits then waits on. A lease that is over is taken from whoever
 * held it.
 */
export async function claimWebhook(
  { reader, ledger, runtime }: DispatchContext,
  key: { account: number; number: number },
): Promise<ClaimedWebhook | null> {
  const now = runtime.now();
  const token = runtime.random(LEASE_BYTES);
  const page = sql`coalesce((select iif(is_slow, ${SLOW_CHUNK}, ${PAGE}) from webhooks where number = ${key.number}), 0)`;
  const isOwn = and(eq(webhooks.number, key.number), eq(webhooks.account, key.account));
  const owner = sql`select 1 from ${accounts} where ${accounts.number} = ${key.account} and ${accounts.isActive} = 1`;
  const [[row], , [account], due] = await ledger.write({
    changes: (write) => [
      write
        .update(webhooks)
        .set({ lease: token, dueAt: now + LEASE })
        .where(
          and(
            isOwn,
            or(isNull(webhooks.lease), lte(webhooks.dueAt, now)),
            or(eq(webhooks.isActive, true), eq(webhooks.hasVoid, true)),
            sql`exists (${owner})`,
          ),
        )
        .returning(),
      write
        .update(webhooks)
        .set({ dueAt: now + PAUSE })
        .where(and(isOwn, sql`${webhooks.dueAt} < ${now + PAUSE}`, sql`not exists (${owner})`)),
      reader
        .select({
          plan: accounts.plan,
          auditRetentionDays: accounts.auditRetentionDays,
          siblings: sql<number>`(select count(*) from webhooks where account = ${key.account})`.as('siblings'),
        })
        .from(accounts)
        .where(eq(accounts.number, key.account)),
      findDue(reader, key.number, now, page),
    ],
  });
  return row && account ? { leased: { row, owner: account, token }, due, at: now, siblings: account.siblings } : null;
}

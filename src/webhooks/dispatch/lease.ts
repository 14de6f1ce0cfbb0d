import { and, eq, isNull, or, sql } from 'drizzle-orm';
import { accounts, webhooks } from '../../db/schema';
import type { Plan } from '../../lib/plans';
import { MINUTE, SECOND } from '../../lib/time';
import type { WebhookRow } from '../webhook';
import type { DispatchContext } from './context';
import { type DueDelivery, findDue } from './due';

/** How long a webhook is left alone that somebody sends to, in milliseconds. Longer than a chunk of sending can take. */
export const LEASE = 45 * SECOND;
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

/**
 * Takes the right to send to a webhook, with what is due; null when somebody has it, the webhook is off with nothing to
 * be tidied up, or the account is off: what waits then waits on.
 */
export async function takeWebhook(
  { reader, ledger, runtime }: DispatchContext,
  key: { account: number; number: number },
  limit: number,
): Promise<{ leased: LeasedWebhook; due: DueDelivery[] } | null> {
  const now = runtime.now();
  const token = runtime.random(LEASE_BYTES);
  const isOwn = and(eq(webhooks.number, key.number), eq(webhooks.account, key.account));
  const owner = sql`select 1 from ${accounts} where ${accounts.number} = ${key.account} and ${accounts.isActive} = 1`;
  const [[row], , [account], due] = await ledger.change({
    note: null,
    changes: (write) => [
      write
        .update(webhooks)
        .set({ lease: token, dueAt: now + LEASE })
        .where(
          and(
            isOwn,
            isNull(webhooks.lease),
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
        .select({ plan: accounts.plan, auditRetentionDays: accounts.auditRetentionDays })
        .from(accounts)
        .where(eq(accounts.number, key.account)),
      findDue(reader, key.number, now, limit),
    ],
    answer: null,
  });
  return row && account ? { leased: { row, owner: account, token }, due } : null;
}

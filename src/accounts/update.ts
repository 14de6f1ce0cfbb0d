import { and, eq, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { accounts, members } from '../db/schema';
import { Problem } from '../errors';
import { OPERATOR, operatorActivity } from '../http/activity';
import type { OperatorContext } from '../http/context';
import { atLeastOneField, body, noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { operatorAccess } from '../http/operator-access';
import { hasRow } from '../ledger/guard';
import { type LazyOutput, lazy } from '../lib/lazy';
import { enqueueMessage } from '../outbox/enqueue';
import { recordAccountEvent } from '../outbox/feed';
import {
  Account,
  accountFields,
  type LocatedAccount,
  NOT_STOPPED,
  preloadAccount,
  presentAccount,
  requireLocatedAccount,
} from './account';
import { retentionNotAllowed } from './create';
import { keptAfterRemoval } from './members/member';

const AccountUpdate = lazy(() =>
  atLeastOneField(
    z.strictObject({
      name: accountFields().name.nullable().optional().meta({ description: 'null removes it.' }),
      plan: accountFields().plan.optional(),
      audit_retention_days: accountFields().audit_retention_days.optional(),
      is_active: z.boolean().optional(),
      witnessed: z
        .boolean()
        .optional()
        .meta({ description: 'Whether the heads of its log are sent to the witnesses.' }),
      stopped: z
        .null('must be null')
        .optional()
        .meta({ description: 'null resumes a stopped account.' }),
    }),
  ).meta({ id: 'AccountUpdate', examples: [{ plan: 'enterprise', audit_retention_days: 1_095 }] }),
);

/**
 * Changes the given fields of an account, and returns the account. An account that leaves the plan
 * enterprise loses its own retention. Resuming one that is not stopped changes nothing.
 * @throws Problem `plan_required` for `audit_retention_days` on another plan; `conflict` if the
 *   account was deleted or moved to another shard at the same time, or the account changed after it
 *   was read (plan, stop)
 */
export async function updateAccount(
  context: OperatorContext,
  {
    account: { shard, row },
    stopped,
    ...changes
  }: { account: LocatedAccount } & LazyOutput<typeof AccountUpdate>,
): Promise<Account> {
  const resumes = stopped === null && row.stoppedAt !== null;
  const changedFields = Object.keys(changes);
  const resumed = operatorActivity(context, 'account.resumed', row.id, row.number);
  const changed = operatorActivity(context, 'account.updated', row.id, row.number, changedFields);
  const records = changedFields.length > 0 ? [changed] : [];
  if (resumes) records.push(resumed);
  const [record, ...furtherRecords] = records;
  if (!record) return presentAccount(row);
  const plan = changes.plan ?? row.plan;
  const now = context.runtime.now();
  const changesRetention = changes.plan !== undefined || changes.audit_retention_days !== undefined;
  if (changes.audit_retention_days !== undefined && plan !== 'enterprise')
    throw retentionNotAllowed();
  const columns = {
    name: changes.name,
    plan: changes.plan,
    auditRetentionDays: newRetention(changes),
    isActive: changes.is_active,
    isWitnessed: changes.witnessed,
    // The next retention task then looks for entries that are past the new retention.
    ...(changesRetention && { retentionDueAt: now }),
    ...(resumes && NOT_STOPPED),
    updatedAt: now,
  };
  // The new retention was computed from the plan that was read, so the plan must not have changed.
  const isAsRead = and(
    eq(accounts.number, row.number),
    changesRetention ? eq(accounts.plan, row.plan) : undefined,
    resumes ? eq(accounts.stoppedAt, row.stoppedAt ?? 0) : undefined,
  );
  // Removed members are kept as long as entries may name them, so their erasure times follow the
  // retention. The removal is the last change of their rows, so `updatedAt` is its time.
  let { auditRetentionDays } = row;
  if (columns.auditRetentionDays !== undefined) auditRetentionDays = columns.auditRetentionDays;
  const keptMs = keptAfterRemoval({ plan, auditRetentionDays });
  const eraseAt = sql`${members.updatedAt} + ${keptMs}`;
  const isRemoved = and(eq(members.account, row.number), eq(members.status, 'removed'));
  const event = {
    id: resumed.id,
    event: 'account.resumed' as const,
    at: now,
    by: OPERATOR,
    reason: null,
  };
  const [[updated]] = await shard.ledger.change({
    record,
    furtherRecords,
    guards: [
      {
        name: 'account_was_as_read',
        holds: hasRow(accounts, isAsRead),
        otherwise: () => conflict(),
      },
    ],
    changes: (write) => [
      write.update(accounts).set(columns).where(isAsRead).returning(),
      ...(changesRetention ? [write.update(members).set({ eraseAt }).where(isRemoved)] : []),
      ...(resumes ? [recordAccountEvent(write, row.number, event)] : []),
    ],
    answer: null,
  });
  if (!updated) throw conflict();
  if (resumes) {
    const { delivery } = context.config;
    await enqueueMessage(delivery, { shard: shard.name, account: row.number });
  }
  return presentAccount(updated);
}

/** Returns the account's own retention in days, null for none; undefined if it does not change. */
function newRetention({
  plan,
  audit_retention_days,
}: LazyOutput<typeof AccountUpdate>): number | null | undefined {
  if (plan !== undefined && plan !== 'enterprise') return null;
  return audit_retention_days;
}

function conflict(): Problem {
  return new Problem(
    'conflict',
    'The account was changed at the same time. Send the request again.',
  );
}

export const updateAccountRoute = new Hono().patch(
  '/v1/admin/users/:id',
  operation({
    id: 'updateAccount',
    tag: 'Operator',
    summary: 'Change an account',
    description:
      'Changes the given fields. An account that leaves the plan `enterprise` loses its `audit_retention_days`. ' +
      '`stopped: null` resumes a stopped account.',
    success: ok(Account),
    pathId: 'user',
    problems: ['plan_required', 'conflict'],
  }),
  operatorAccess(preloadAccount),
  noQuery(),
  body(AccountUpdate),
  async (c) => {
    const input = { account: requireLocatedAccount(c.var.loaded), ...c.req.valid('json') };
    return answer(c, await updateAccount(c.var.operator, input));
  },
);

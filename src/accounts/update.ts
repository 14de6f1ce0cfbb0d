import { and, eq, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { ConstraintError } from '../db/database';
import { accounts } from '../db/schema';
import { Problem } from '../errors';
import { operatorActivity } from '../http/activity';
import type { OperatorContext } from '../http/context';
import { atLeastOneField, body, noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { operatorAccess } from '../http/operator-access';
import { lazy } from '../lib/lazy';
import { Account, accountFields, accountOfPath, type LocatedAccount, locatedAccount, presentAccount } from './account';
import { retentionNeedsEnterprise } from './create';

const AccountUpdate = lazy(() =>
  atLeastOneField(
    z.strictObject({
      name: accountFields().name.optional(),
      plan: accountFields().plan.optional(),
      audit_retention_days: accountFields().audit_retention_days.optional(),
      is_active: z.boolean().optional(),
    }),
  ).meta({ id: 'AccountUpdate', examples: [{ plan: 'enterprise', audit_retention_days: 1_095 }] }),
);

/**
 * Changes an account. Leaving the plan enterprise forgets its own retention.
 * @throws Problem `not_found`, `plan_required`; `conflict` when the plan was changed at the same time
 */
export async function updateAccount(
  context: OperatorContext,
  { shard, row }: LocatedAccount,
  input: z.output<ReturnType<typeof AccountUpdate>>,
): Promise<Account> {
  const plan = input.plan ?? row.plan;
  const now = context.runtime.now();
  const keepsOtherwise = input.plan !== undefined || input.audit_retention_days !== undefined;
  if (input.audit_retention_days !== undefined && plan !== 'enterprise') throw retentionNeedsEnterprise();
  const changes = {
    name: input.name,
    plan: input.plan,
    auditRetentionDays: keepsOtherwise && plan !== 'enterprise' ? null : input.audit_retention_days,
    isActive: input.is_active,
    // The next sweep is to look at what is kept no longer.
    ...(keepsOtherwise && { retentionDueAt: now }),
    updatedAt: now,
  };
  const found = and(eq(accounts.number, row.number), keepsOtherwise ? eq(accounts.plan, row.plan) : undefined);
  const number = sql<number>`(select number from ${accounts} where ${found})`;
  const [[updated]] = await shard.ledger
    .change({
      record: operatorActivity(context, 'account.updated', row.id, number, Object.keys(input)),
      changes: (write) => [write.update(accounts).set(changes).where(found).returning()],
      answer: null,
    })
    .catch((error: unknown) => {
      throw error instanceof ConstraintError ? changedMeanwhile() : error;
    });
  if (!updated) throw changedMeanwhile();
  return presentAccount(updated);
}

function changedMeanwhile(): Problem {
  return new Problem('conflict', 'The account was changed at the same time. Send the request again.');
}

export const updateAccountRoute = new Hono().patch(
  '/v1/admin/users/:id',
  operation({
    id: 'updateAccount',
    tag: 'Operator',
    summary: 'Change an account',
    description:
      'Changes the fields that are named. An account that leaves the plan `enterprise` loses a retention of its own.',
    success: ok(Account),
    pathId: 'user',
    problems: ['plan_required', 'conflict'],
  }),
  operatorAccess(accountOfPath),
  noQuery(),
  body(AccountUpdate),
  async (c) => answer(c, await updateAccount(c.var.operator, locatedAccount(c.var.loaded), c.req.valid('json'))),
);

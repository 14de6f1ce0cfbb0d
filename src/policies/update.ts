import { and, eq, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import type { Reader } from '../db/database';
import { policies } from '../db/schema';
import { notFound, Problem } from '../errors';
import { userAccess } from '../http/access';
import { targetExists, userActivity } from '../http/activity';
import type { RequestContext, UserContext } from '../http/context';
import { atLeastOneField, body, noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import type { CallerSql } from '../identity/credentials';
import { type Guard, hasRow } from '../ledger/guard';
import { type LazyOutput, lazy } from '../lib/lazy';
import { parseId } from '../lib/typeid';
import { requireFitForEffect, requireInFuture, restartsCount, startCount } from './budget';
import { policyFields } from './fields';
import { policyGuards } from './guards';
import { isPolicyWithId, Policy, type PolicyRow, presentPolicy, ruleFor } from './policy';

const PolicyUpdate = lazy(() =>
  atLeastOneField(z.strictObject(policyFields()).partial()).meta({
    id: 'PolicyUpdate',
    examples: [{ is_active: false }],
  }),
);

/**
 * Changes the given fields of a policy. The change applies to later requests only. A policy that
 * gets another effect than `review` loses its rule. What it has approved counts on, unless another
 * period or key of its budget restarts the count.
 * @throws Problem `not_found`; `invalid_request` if the changed policy demands more approvals than
 *   it has reviewers, names an agent or a member who is none of the account, or has a budget or an
 *   expiry that its effect cannot have; `conflict` if its effect, rule, budget or expiry was
 *   changed at the same time
 */
export async function updatePolicy(
  context: UserContext,
  { policy, ...fields }: { policy: PolicyRow } & LazyOutput<typeof PolicyUpdate>,
): Promise<Policy> {
  const { account, id } = policy;
  const {
    agent_ids: agentIds,
    token_ttl: tokenTtl,
    max_uses: maxUses,
    is_active: isActive,
    expires_at: expiresAt,
    ...others
  } = fields;
  const now = context.runtime.now();
  const { effect = policy.effect } = fields;
  const reason = fields.reason === '' ? null : fields.reason;
  const kept = effect === 'review' ? policy.review : null;
  const review = ruleFor(effect, fields.review === undefined ? kept : fields.review);
  const namesPeople = fields.review !== undefined || isActive === true;
  const changesRule = namesPeople || fields.effect !== undefined;
  const limits = {
    budget: fields.budget === undefined ? policy.budget : fields.budget,
    expiresAt: expiresAt === undefined ? policy.expiresAt : expiresAt,
  };
  requireFitForEffect({ effect, ...limits });
  if (limits.expiresAt !== policy.expiresAt) requireInFuture(limits.expiresAt, now);
  const columns = {
    ...others,
    agentIds,
    tokenTtl,
    maxUses,
    isActive,
    expiresAt,
    reason,
    updatedAt: now,
    ...(changesRule && { review, effect }),
    ...(restartsCount(policy.budget, limits.budget) && startCount(limits.budget, now)),
  };
  const changesLimits = fields.budget !== undefined || expiresAt !== undefined;
  const found = isPolicyWithId(account, id);
  const [[row]] = await context.ledger.change({
    record: userActivity(context, 'policy.updated', id, { changes: Object.keys(fields) }),
    guards: [
      targetExists('policy', policies, found),
      ...policyGuards(account, {
        agentIds,
        namedBy: namesPeople ? review : null,
        rule: changesRule ? review : null,
      }),
      ...(changesRule || changesLimits ? [asReadGuard(policy)] : []),
    ],
    changes: (write) => [write.update(policies).set(columns).where(found).returning()],
    answer: null,
  });
  if (!row) throw notFound('policy');
  return presentPolicy(row, now);
}

/** The guard of a change that was checked against the stored effect, rule, budget and expiry. */
export function asReadGuard(policy: PolicyRow): Guard {
  const { account, id, effect, review, budget, expiresAt } = policy;
  const isAsRead = and(
    isPolicyWithId(account, id),
    eq(policies.effect, effect),
    sql`${policies.review} is ${sql.param(review, policies.review)}`,
    sql`${policies.budget} is ${sql.param(budget, policies.budget)}`,
    sql`${policies.expiresAt} is ${expiresAt}`,
  );
  return {
    name: 'policy_is_as_read',
    holds: hasRow(policies, isAsRead),
    otherwise: () =>
      new Problem(
        'conflict',
        'The policy was changed at the same time. Read it, and send the request again.',
      ),
  };
}

/** Preloads the policy in the path. */
export async function preloadPolicy(c: RequestContext, reader: Reader, { account }: CallerSql) {
  const id = parseId('policy', c.req.param('id') ?? '');
  return { policy: id && reader.select().from(policies).where(isPolicyWithId(account, id)) };
}

export const updatePolicyRoute = new Hono().put(
  '/v1/policies/:id',
  operation({
    id: 'updatePolicy',
    tag: 'Policies',
    summary: 'Change a policy',
    description: 'Changes the given fields.',
    success: ok(Policy),
    pathId: 'policy',
    problems: ['conflict'],
  }),
  userAccess('policies:write', preloadPolicy),
  noQuery(),
  body(PolicyUpdate),
  async (c) => {
    const policy = c.var.loaded.policy?.[0];
    if (!policy) throw notFound('policy');
    return answer(c, await updatePolicy(c.var.context, { policy, ...c.req.valid('json') }));
  },
);

import { sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { policies } from '../db/schema';
import { Problem } from '../errors';
import { userAccess } from '../http/access';
import { creatorOf, userActivity } from '../http/activity';
import { newId, type UserContext } from '../http/context';
import { body, noQuery } from '../http/input';
import { answer, created, operation } from '../http/operation';
import type { Guard } from '../ledger/guard';
import { type LazyOutput, lazy } from '../lib/lazy';
import { requireFitForEffect, requireInFuture, startCount } from './budget';
import { policyFields } from './fields';
import { policyGuards } from './guards';
import { examplePolicyFields, MAX_POLICIES, Policy, presentPolicy, ruleFor } from './policy';

/** A policy as clients send it, with the defaults of what they leave out. */
export const PolicyCreation = lazy(() => {
  const {
    agent_ids,
    conditions,
    token_ttl,
    max_uses,
    reason,
    priority,
    is_active,
    review,
    budget,
    expires_at,
    ...required
  } = policyFields();
  return z
    .strictObject({
      ...required,
      agent_ids: agent_ids.default(null),
      conditions: conditions.default({}),
      token_ttl: token_ttl.default(null),
      max_uses: max_uses.default(null),
      reason: reason.default(null),
      priority: priority.default(0),
      is_active: is_active.default(true),
      review: review.default(null),
      budget: budget.default(null),
      expires_at: expires_at.default(null),
    })
    .meta({ id: 'PolicyCreation', examples: [examplePolicyFields] });
});

/**
 * Creates a policy, which applies to later requests only.
 * @throws Problem `invalid_request` if it demands more approvals than it has reviewers, names an
 *   agent or a member who is none of the account, has a rule, a budget or an expiry that its effect
 *   cannot have, or has expired; `conflict` if the account has the maximum number of policies
 */
export async function createPolicy(
  context: UserContext,
  input: LazyOutput<typeof PolicyCreation>,
): Promise<Policy> {
  const { principal, runtime, ledger } = context;
  const now = runtime.now();
  const {
    agent_ids: agentIds,
    token_ttl: tokenTtl,
    max_uses: maxUses,
    is_active: isActive,
    expires_at: expiresAt,
    ...fields
  } = input;
  requireFitForEffect({ ...input, expiresAt });
  requireInFuture(expiresAt, now);
  const row = {
    id: newId(runtime, 'policy'),
    ...fields,
    agentIds,
    tokenTtl,
    maxUses,
    isActive,
    expiresAt,
    ...startCount(input.budget, now),
    review: ruleFor(input.effect, input.review),
    reason: input.reason || null,
    createdBy: creatorOf(principal),
    createdAt: now,
    updatedAt: now,
  };
  const account = principal.account.number;
  const created = presentPolicy(row, now);
  await ledger.change({
    record: userActivity(context, 'policy.created', row.id),
    guards: [
      ...policyGuards(account, { agentIds, namedBy: row.review, rule: row.review }),
      policyLimitGuard(account),
    ],
    changes: (write) => [write.insert(policies).values({ ...row, account })],
    answer: { value: created, subject: principal.account.id },
  });
  return created;
}

function policyLimitGuard(account: number): Guard {
  return {
    name: 'policies_below_limit',
    holds: sql`(
      select count(*) from ${policies} where ${policies.account} = ${account}
    ) < ${MAX_POLICIES}`,
    otherwise: () =>
      new Problem(
        'conflict',
        `The account has ${MAX_POLICIES} policies, the maximum. Delete one first.`,
      ),
  };
}

export const createPolicyRoute = new Hono().post(
  '/v1/policies',
  operation({
    id: 'createPolicy',
    tag: 'Policies',
    summary: 'Create a policy',
    description: 'It applies to later requests only.',
    success: created(Policy),
    problems: ['conflict'],
  }),
  userAccess('policies:write'),
  noQuery(),
  body(PolicyCreation),
  async (c) => answer(c, await createPolicy(c.var.context, c.req.valid('json'))),
);

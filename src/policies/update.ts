import { and, eq, type SQL, sql } from 'drizzle-orm';
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
import { type LazyOutput, lazy } from '../lib/lazy';
import { parseId } from '../lib/typeid';
import {
  isPolicyWithId,
  Policy,
  type PolicyRow,
  policyFields,
  policyGuards,
  presentPolicy,
  ruleFor,
} from './policy';

const PolicyUpdate = lazy(() =>
  atLeastOneField(z.strictObject(policyFields()).partial()).meta({
    id: 'PolicyUpdate',
    examples: [{ is_active: false }],
  }),
);

/**
 * Changes the given fields of a policy. The change applies to later requests only. A policy that
 * gets another effect than `review` loses its rule.
 * @throws Problem `not_found`; `invalid_request` if the changed policy demands more approvals than
 *   it has reviewers, or names an agent or a member who is none of the account; `conflict` if its
 *   effect or rule was changed at the same time
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
    ...others
  } = fields;
  const { effect = policy.effect } = fields;
  const reason = fields.reason === '' ? null : fields.reason;
  const kept = effect === 'review' ? policy.review : null;
  const review = ruleFor(effect, fields.review === undefined ? kept : fields.review);
  const namesPeople = fields.review !== undefined || isActive === true;
  const changesRule = namesPeople || fields.effect !== undefined;
  const columns = {
    ...others,
    agentIds,
    tokenTtl,
    maxUses,
    isActive,
    reason,
    updatedAt: context.runtime.now(),
    ...(changesRule && { review, effect }),
  };
  const isAsRead = and(
    eq(policies.effect, policy.effect),
    sql`${policies.review} is ${sql.param(policy.review, policies.review)}`,
  );
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
    ],
    changes: (write) => [
      write
        .update(policies)
        .set(columns)
        .where(and(found, changesRule ? isAsRead : undefined))
        .returning(),
    ],
    answer: null,
  });
  if (!row)
    throw new Problem(
      'conflict',
      'The policy was changed at the same time. Read it, and send the request again.',
    );
  return presentPolicy(row);
}

/** Preloads the policy in the path. */
export async function preloadPolicy(c: RequestContext, reader: Reader, account: SQL<number>) {
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

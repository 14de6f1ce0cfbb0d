import { and, desc, eq, gte } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { isAgentOfPermission } from '../db/permission-joins';
import { agents, permissions } from '../db/schema';
import { userAccess } from '../http/access';
import { creatorOf } from '../http/activity';
import type { UserContext } from '../http/context';
import { exampleId } from '../http/examples';
import { wholeNumber } from '../http/fields';
import { body, noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { countField, idField } from '../http/response-fields';
import { type LazyOutput, lazy } from '../lib/lazy';
import { DAY } from '../lib/time';
import { makeId, smallestIdAt } from '../lib/typeid';
import { permissionColumns } from '../permissions/find-permission';
import { type PermissionRow, PermissionStatus, statusAt } from '../permissions/permission';
import { requireFitForEffect, startCount } from './budget';
import { PolicyCreation } from './create';
import { evaluatePolicies } from './evaluate';
import { examplePolicyFields, type PolicyRow } from './policy';

/** The most requests that a replay evaluates, and the most that it lists. */
const MAX_REQUESTS = 2_000;
export const MAX_LISTED = 100;

const PolicyReplay = lazy(() =>
  z
    .strictObject({
      policy: PolicyCreation(),
      days: wholeNumber(1, 90)
        .default(30)
        .meta({ description: 'How many days back the requests may have been made.' }),
    })
    .meta({ id: 'PolicyReplay', examples: [{ policy: examplePolicyFields, days: 7 }] }),
);

export const Replay = lazy(() =>
  z
    .object({
      requests: countField.meta({
        description: 'The requests that were evaluated: the newest 2,000 of that time.',
      }),
      budget_ignored: z.literal(true).optional().meta({
        description:
          'Present where the policy has a budget: each request is evaluated as if there were room for it.',
      }),
      approve: countField.meta({ description: 'Requests that the policy would approve.' }),
      deny: countField.meta({ description: 'Requests that the policy would deny.' }),
      review: countField.meta({ description: 'Requests that the policy would send to reviewers.' }),
      undecided: countField.meta({ description: 'Requests to which the policy does not apply.' }),
      agrees: countField.meta({
        description: 'Decided requests that the policy would decide in the same way.',
      }),
      disagrees: z
        .array(
          z.object({
            permission_id: idField('perm'),
            was: PermissionStatus(),
            would_be: z.enum(['approve', 'deny']),
          }),
        )
        .meta({
          description:
            'Decided requests that the policy would decide otherwise, newest first; at most 100.',
        }),
      complete: z.boolean().meta({ description: 'Whether these are all requests of that time.' }),
    })
    .meta({
      id: 'Replay',
      examples: [
        {
          requests: 3,
          budget_ignored: true,
          approve: 2,
          deny: 0,
          review: 0,
          undecided: 1,
          agrees: 1,
          disagrees: [{ permission_id: exampleId('perm'), was: 'denied', would_be: 'approve' }],
          complete: true,
        },
      ],
    }),
);

export type Replay = LazyOutput<typeof Replay>;

/** The status that a decision gives a request. */
const STATUS_AFTER = { approve: 'approved', deny: 'denied' } as const;

/** A replay whose disagreements are the requests themselves. */
export interface DetailedReplay extends Omit<Replay, 'disagrees'> {
  disagrees: { request: PermissionRow; was: 'approved' | 'denied'; wouldBe: 'approve' | 'deny' }[];
}

/**
 * A draft of a policy as it would be stored now.
 * @throws Problem `invalid_request` if it has a budget or an expiry that its effect cannot have
 */
export function draftPolicy(
  { principal, runtime }: UserContext,
  {
    agent_ids: agentIds,
    token_ttl: tokenTtl,
    max_uses: maxUses,
    expires_at: expiresAt,
    ...fields
  }: LazyOutput<typeof PolicyCreation>,
): PolicyRow {
  const now = runtime.now();
  requireFitForEffect({ ...fields, expiresAt }, 'body.policy');
  const id = makeId('policy', now, runtime.random(10));
  const made = { createdBy: creatorOf(principal), createdAt: now, updatedAt: now };
  return {
    ...fields,
    account: principal.account.number,
    id,
    agentIds,
    tokenTtl,
    maxUses,
    isActive: true,
    expiresAt,
    ...startCount(fields.budget, now),
    ...made,
  };
}

/**
 * Evaluates a draft of a policy, alone, for the account's newest requests, and compares the result
 * with what was decided. Its budget and expiry are ignored. Writes nothing. Requests that are
 * pending or expired are evaluated, but neither agree nor disagree.
 */
export async function replayRequests(
  context: UserContext,
  { policy, days }: LazyOutput<typeof PolicyReplay>,
): Promise<DetailedReplay> {
  const { principal, reader, runtime } = context;
  const now = runtime.now();
  const account = principal.account.number;
  const [found] = await reader.load([
    reader
      .select(permissionColumns)
      .from(permissions)
      .innerJoin(agents, isAgentOfPermission)
      .where(
        and(
          eq(permissions.account, account),
          gte(permissions.id, smallestIdAt('perm', now - days * DAY)),
        ),
      )
      .orderBy(desc(permissions.id))
      .limit(MAX_REQUESTS + 1),
  ]);
  const requests = found.slice(0, MAX_REQUESTS);
  const draft = draftPolicy(context, policy);
  const unlimited = { ...draft, budget: null, expiresAt: null };
  const replay: DetailedReplay = {
    requests: requests.length,
    ...(draft.budget && { budget_ignored: true }),
    approve: 0,
    deny: 0,
    review: 0,
    undecided: 0,
    agrees: 0,
    disagrees: [],
    complete: found.length === requests.length,
  };
  for (const request of requests) {
    const { decision } = evaluatePolicies([unlimited], request, now);
    replay[decision === 'pending' ? 'undecided' : decision] += 1;
    if (decision === 'pending' || decision === 'review') continue;
    const was = statusAt(request, now);
    if (was === STATUS_AFTER[decision]) replay.agrees += 1;
    else if ((was === 'approved' || was === 'denied') && replay.disagrees.length < MAX_LISTED) {
      replay.disagrees.push({ request, was, wouldBe: decision });
    }
  }
  return replay;
}

/** Returns what a draft of a policy, alone, would have decided: see {@link replayRequests}. */
export async function replayPolicy(
  context: UserContext,
  input: LazyOutput<typeof PolicyReplay>,
): Promise<Replay> {
  const { disagrees, ...counts } = await replayRequests(context, input);
  return {
    ...counts,
    disagrees: disagrees.map(({ request, was, wouldBe }) => ({
      permission_id: request.id,
      was,
      would_be: wouldBe,
    })),
  };
}

export const replayPolicyRoute = new Hono().post(
  '/v1/policies/replay',
  operation({
    id: 'replayPolicy',
    tag: 'Policies',
    summary: 'Replay past requests',
    description:
      'Shows what a draft of a policy would have decided about the newest requests. Writes nothing.',
    success: ok(Replay),
  }),
  userAccess('policies:read'),
  noQuery(),
  body(PolicyReplay),
  async (c) => answer(c, await replayPolicy(c.var.context, c.req.valid('json'))),
);

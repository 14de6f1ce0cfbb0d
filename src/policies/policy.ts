import { and, eq, type InferSelectModel, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import { prepareByAccount } from '../db/prepare-by-account';
import { policies, type ReviewRule } from '../db/schema';
import { invalidRequest } from '../errors';
import { EXAMPLE, exampleId } from '../http/examples';
import {
  countField,
  creatorField,
  idField,
  integerField,
  jsonField,
  timeField,
} from '../http/response-fields';
import { ReviewRuleField } from '../http/review-rule';
import { type LazyOutput, lazy } from '../lib/lazy';
import { formatTime, formatTimeOrNull } from '../lib/time';
import { type Id, idPattern } from '../lib/typeid';
import { DEFAULT_RULE } from '../permissions/reviews/rule';
import { BudgetField, presentUsage, UsageField } from './budget';
import { PolicyCondition, PolicyEffect } from './fields';

/** Maximum number of policies of an account. Every request evaluates all active ones. */
export const MAX_POLICIES = 200;

export type PolicyRow = InferSelectModel<typeof policies>;

/** The fields of the example that clients may set. */
export const examplePolicyFields = {
  name: 'Small mailings',
  effect: 'approve',
  actions: ['email.*'],
  resources: ['mailbox:*'],
  agent_ids: null,
  conditions: { max_recipients: { max: 50 } },
  token_ttl: 300,
  max_uses: null,
  reason: 'Few recipients',
  priority: 0,
  is_active: true,
  budget: { per: 'day' as const, requests: 100 },
  expires_at: null,
};

const examplePolicy = {
  id: exampleId('policy'),
  ...examplePolicyFields,
  review: null,
  usage: { window_start: '2026-01-31T00:00:00.000Z', requests: 12, sum: 0 },
  created_by: exampleId('member'),
  created_at: EXAMPLE.time,
  updated_at: EXAMPLE.time,
};

export const Policy = lazy(() =>
  z
    .object({
      id: idField('policy'),
      name: z.string(),
      effect: PolicyEffect(),
      actions: z.array(z.string()),
      resources: z.array(z.string()),
      agent_ids: z.array(z.string().meta({ pattern: idPattern('agent') })).nullable(),
      conditions: jsonField(z.record(z.string(), PolicyCondition())),
      token_ttl: countField.nullable().meta({ description: 'Seconds.' }),
      max_uses: countField.nullable(),
      reason: z.string().nullable(),
      priority: integerField,
      is_active: z.boolean(),
      review: ReviewRuleField()
        .nullable()
        .meta({ description: 'Null unless the effect is `review`.' }),
      budget: BudgetField().nullable().meta({ description: 'Null for no limit.' }),
      expires_at: timeField.nullable().meta({ description: 'From when on it does not apply.' }),
      usage: UsageField().nullable().meta({
        description: 'What it has approved in the current window; null without a budget.',
      }),
      created_by: creatorField,
      created_at: timeField,
      updated_at: timeField,
    })
    .meta({
      id: 'Policy',
      description:
        'A rule that decides requests at once, or sends them to reviewers. It applies if every part matches. Any denial ' +
        'that applies wins; otherwise the approval or review of highest priority; otherwise a person decides. Policies ' +
        'fail closed: if a key of the scope is missing or has another type, a denial or review applies and an approval ' +
        'does not; an approval with conditions must have one for every key of the scope.',
      examples: [examplePolicy],
    }),
);

export type Policy = LazyOutput<typeof Policy>;

/** Shows a policy, with its usage at the time of the request. */
export function presentPolicy(row: Omit<PolicyRow, 'account'>, now: number): Policy {
  return {
    id: row.id,
    name: row.name,
    effect: row.effect,
    actions: row.actions,
    resources: row.resources,
    agent_ids: row.agentIds,
    conditions: row.conditions,
    token_ttl: row.tokenTtl,
    max_uses: row.maxUses,
    reason: row.reason,
    priority: row.priority,
    is_active: row.isActive,
    review: row.review,
    budget: row.budget,
    expires_at: formatTimeOrNull(row.expiresAt),
    usage: presentUsage(row, now),
    created_by: row.createdBy,
    created_at: formatTime(row.createdAt),
    updated_at: formatTime(row.updatedAt),
  };
}

/** The condition that finds a policy of an account. */
export function isPolicyWithId(account: number | SQL<number>, id: Id<'policy'>) {
  return and(eq(policies.account, account), eq(policies.id, id));
}

/**
 * The rule of a policy with an effect.
 * @throws Problem `invalid_request` if a policy with another effect than `review` gets a rule
 */
export function ruleFor(effect: PolicyRow['effect'], review: ReviewRule | null): ReviewRule | null {
  if (effect === 'review') return review ?? DEFAULT_RULE;
  if (review === null) return null;
  throw invalidRequest([{ path: 'body.review', message: 'is only for the effect review' }]);
}

/** Selects the active policies of an account. */
export const selectActivePolicies = prepareByAccount((select, account) =>
  select()
    .from(policies)
    .where(and(eq(policies.account, account), eq(policies.isActive, true))),
);

/**
 * The policies that were loaded. A request without them must fail: a denial could be among them.
 */
export function assertLoaded(policies: PolicyRow[] | undefined): PolicyRow[] {
  if (!policies) throw new Error('the policies were not loaded');
  return policies;
}

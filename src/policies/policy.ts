import { and, eq, type InferSelectModel, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import { prepareByAccount } from '../db/prepare-by-account';
import { POLICY_EFFECTS, policies, type ReviewRule } from '../db/schema';
import { invalidRequest } from '../errors';
import { EXAMPLE, exampleId } from '../http/examples';
import {
  choice,
  dateTime,
  idText,
  jsonObject,
  listOf,
  plainText,
  text,
  wholeNumber,
} from '../http/fields';
import {
  countField,
  creatorField,
  idField,
  integerField,
  jsonField,
  timeField,
} from '../http/response-fields';
import { ReviewRuleField } from '../http/review-rule';
import { jsonSize } from '../lib/json';
import { type LazyOutput, lazy } from '../lib/lazy';
import { canMatchAction, canMatchResource } from '../lib/pattern-grammar';
import { formatTime, formatTimeOrNull } from '../lib/time';
import { type Id, idPattern } from '../lib/typeid';
import {
  MAX_ACTION_LENGTH,
  MAX_RESOURCE_LENGTH,
  permissionFields,
} from '../permissions/permission-fields';
import { DEFAULT_RULE, ReviewInput } from '../permissions/reviews/rule';
import { BudgetField, presentUsage, UsageField } from './budget';

/** Maximum number of policies of an account. Every request evaluates all active ones. */
export const MAX_POLICIES = 200;

const MAX_LIST_LENGTH = 100;
/** Maximum size of one list of patterns, because every request is compared with every pattern. */
const MAX_PATTERN_BYTES = 8 * 1024;
const MAX_PRIORITY = 1_000_000;

export type PolicyRow = InferSelectModel<typeof policies>;

const CONDITION = 'PolicyCondition';

export const PolicyCondition = lazy(() =>
  z
    .strictObject({
      min: z
        .number()
        .optional()
        .meta({ description: 'The smallest number allowed; not above `max`.' }),
      max: z.number().optional().meta({ description: 'The greatest number allowed.' }),
      equals: z.unknown().optional().meta({ description: 'The only value allowed.' }),
      in: listOf(z.unknown(), MAX_LIST_LENGTH)
        .optional()
        .meta({ description: 'The values allowed.' }),
    })
    .refine(({ min, max }) => min === undefined || max === undefined || min <= max, {
      path: ['min'],
      message: 'must not be above max',
    })
    .meta({
      id: CONDITION,
      description: "A policy's condition on one key of a request's scope; `{}` accepts any value.",
      examples: [{ max: 100 }],
    }),
);

export type PolicyCondition = LazyOutput<typeof PolicyCondition>;

const conditions = lazy(() =>
  jsonObject('The conditions on keys of the scope; empty for none.', 16 * 1024)
    .superRefine((value, refinement) => {
      const operators = Object.keys(PolicyCondition().shape).join(', ');
      for (const [key, condition] of Object.entries(value)) {
        const { error } = PolicyCondition().safeParse(condition);
        for (const issue of error?.issues ?? []) {
          let { message } = issue;
          if (issue.code === 'unrecognized_keys')
            message = `takes ${operators}, not ${issue.keys[0]}`;
          refinement.addIssue({ code: 'custom', path: [key, ...issue.path], message });
        }
        // Reports only the first invalid condition, because validating an invalid one is slow.
        if (error) return;
      }
    })
    .meta({ additionalProperties: { $ref: `#/components/schemas/${CONDITION}` } }),
);

interface PatternField {
  max: number;
  canMatch: (pattern: string) => boolean;
  /** Why a pattern is refused that can match nothing. */
  otherwise: string;
  /** The description of each pattern in the OpenAPI document. */
  pattern: string;
  examples: string[];
}

/** A list of patterns that each match at least one valid text. */
function patterns({ max, canMatch, otherwise, pattern, examples }: PatternField) {
  const member = plainText(max)
    .refine(canMatch, { error: otherwise, abort: true })
    .meta({ minLength: 1, pattern });
  return listOf(member, MAX_LIST_LENGTH)
    .refine(
      (list) => jsonSize(list) <= MAX_PATTERN_BYTES,
      `must be at most ${MAX_PATTERN_BYTES} bytes of JSON together`,
    )
    .meta({
      description:
        'At least one pattern must match. In a pattern, `*` stands for any characters; one that can match nothing is ' +
        `refused. At most ${MAX_PATTERN_BYTES} bytes of JSON together.`,
      examples: [examples],
    });
}

const PolicyEffect = lazy(() => choice(POLICY_EFFECTS).meta({ id: 'PolicyEffect' }));

/** The fields of a policy that clients may set. */
export const policyFields = lazy(() => ({
  name: text(1, 255),
  effect: PolicyEffect(),
  actions: patterns({
    max: MAX_ACTION_LENGTH,
    canMatch: canMatchAction,
    otherwise:
      'can match no action: actions are dotted words of a-z, 0-9, _ and -, such as email.send',
    pattern: '^[a-z0-9_.*-]*[.*][a-z0-9_.*-]*$',
    examples: ['email.*'],
  }),
  resources: patterns({
    max: MAX_RESOURCE_LENGTH,
    canMatch: canMatchResource,
    otherwise: 'can match no resource: resources are <kind>:<identifier>, such as mailbox:support',
    pattern: '^[^\\u0000]*[:*][^\\u0000]*$',
    examples: ['mailbox:*'],
  }),
  agent_ids: listOf(idText('agent', 'must be the id of an agent'), MAX_LIST_LENGTH)
    .nullable()
    .meta({ description: 'The agents that it applies to; null for all.' }),
  conditions: conditions(),
  token_ttl: permissionFields()
    .token_ttl.nullable()
    .meta({
      description:
        'The greatest lifetime, in seconds, of the tokens of requests that it approves or sends to reviewers; null for no ' +
        'limit beyond the request.',
    }),
  max_uses: permissionFields()
    .max_uses.nullable()
    .meta({
      description:
        'The greatest number of uses of the tokens of requests that it approves or sends to reviewers; null for no limit ' +
        'beyond the request.',
    }),
  reason: permissionFields()
    .reason.nullable()
    .meta({ description: 'The reason given for its decisions. Reviewers give their own.' }),
  priority: wholeNumber(-MAX_PRIORITY, MAX_PRIORITY).meta({
    description:
      'If several approvals and reviews apply, the one of highest priority decides; of equal ones, a review before an ' +
      'approval, and then the oldest. The same holds for several denials.',
  }),
  is_active: z.boolean(),
  review: ReviewInput().nullable().meta({
    description:
      'Who reviews the requests, only for the effect `review`; null for one approval by anybody who may decide.',
  }),
  budget: BudgetField()
    .nullable()
    .meta({
      description:
        'How much it approves, only for the effect `approve`; null for no limit. A change of `per` or `key` restarts the ' +
        'count.',
    }),
  expires_at: dateTime.nullable().meta({
    description:
      'From when on it does not apply, only for the effect `approve`; in the future when it is set. Null for never.',
  }),
}));

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

export const examplePolicy = {
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

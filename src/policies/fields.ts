import * as z from 'zod';
import { POLICY_EFFECTS } from '../db/schema';
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
import { jsonSize } from '../lib/json';
import { type LazyOutput, lazy } from '../lib/lazy';
import { canMatchAction, canMatchResource } from '../lib/pattern-grammar';
import {
  MAX_ACTION_LENGTH,
  MAX_RESOURCE_LENGTH,
  permissionFields,
} from '../permissions/permission-fields';
import { ReviewInput } from '../permissions/reviews/rule';
import { BudgetField } from './budget';

const MAX_LIST_LENGTH = 100;

/** Maximum size of one list of patterns, because every request is compared with every pattern. */
const MAX_PATTERN_BYTES = 8 * 1024;

const MAX_PRIORITY = 1_000_000;

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

/** The field for conditions by the keys of the scope. */
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

export const PolicyEffect = lazy(() => choice(POLICY_EFFECTS).meta({ id: 'PolicyEffect' }));

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

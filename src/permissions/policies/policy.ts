import { and, eq, type InferSelectModel, type SQL, sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Reader } from '../../db/database';
import { POLICY_EFFECTS, policies } from '../../db/schema';
import type { RequestContext } from '../../http/context';
import { EXAMPLE, exampleId } from '../../http/examples';
import { choice, idText, jsonObject, listOf, plainText, text, wholeNumber } from '../../http/fields';
import { countField, idField, integerField, jsonField, timeField } from '../../http/response-fields';
import { jsonSize } from '../../lib/json';
import { lazy } from '../../lib/lazy';
import { formatTime } from '../../lib/time';
import { type Id, idPattern } from '../../lib/typeid';
import { MAX_ACTION_LENGTH, MAX_RESOURCE_LENGTH, permissionFields } from '../permission-fields';

/** The most policies that an account can hold: all of them are looked through at every request. */
export const MAX_POLICIES = 200;

const MAX_MEMBERS = 100;
/** Every request looks through all policies: they have to stay small together. */
const MAX_PATTERN_BYTES = 8 * 1024;
const MAX_PRIORITY = 1_000_000;

export type PolicyRow = InferSelectModel<typeof policies>;

const CONDITION = 'PolicyCondition';

/** What a policy asks of one key of a request's scope; `{}` accepts any value. */
export const Condition = lazy(() =>
  z
    .strictObject({
      min: z.number().optional().meta({ description: 'The least that a number may be; not above `max`.' }),
      max: z.number().optional().meta({ description: 'The most that a number may be.' }),
      equals: z.unknown().optional().meta({ description: 'The only value that there may be.' }),
      in: listOf(z.unknown(), MAX_MEMBERS).optional().meta({ description: 'The values that there may be.' }),
    })
    .refine(({ min, max }) => min === undefined || max === undefined || min <= max, {
      path: ['min'],
      message: 'must not be above max',
    })
    .meta({
      id: CONDITION,
      description: "What a policy asks of one key of a request's scope; `{}` accepts any value.",
      examples: [{ max: 100 }],
    }),
);

export type Condition = z.output<ReturnType<typeof Condition>>;

const conditions = lazy(() =>
  jsonObject('What is asked of each key of the scope. None: nothing.', 16 * 1024)
    .superRefine((value, refinement) => {
      for (const [key, condition] of Object.entries(value)) {
        const { error } = Condition().safeParse(condition);
        for (const issue of error?.issues ?? []) {
          const [name] = issue.code === 'unrecognized_keys' ? issue.keys : [];
          const message = name === undefined ? issue.message : `takes min, max, equals and in, not ${name}`;
          refinement.addIssue({ code: 'custom', path: [key, ...issue.path], message });
        }
        // To judge one that is wrong takes long beside one that is right: the first is enough.
        if (error) return;
      }
    })
    .meta({ additionalProperties: { $ref: `#/components/schemas/${CONDITION}` } }),
);

function patterns(max: number, examples: string[]) {
  const pattern = plainText(max).min(1, 'must not be empty');
  return listOf(pattern, MAX_MEMBERS)
    .refine(
      (list) => jsonSize(list) <= MAX_PATTERN_BYTES,
      `must be at most ${MAX_PATTERN_BYTES} bytes of JSON together`,
    )
    .meta({
      description:
        'Patterns, one of which must match: literal text in which `*` stands for any run of characters. ' +
        `At most ${MAX_PATTERN_BYTES} bytes of JSON together.`,
      examples: [examples],
    });
}

const PolicyEffect = lazy(() => choice(POLICY_EFFECTS).meta({ id: 'PolicyEffect' }));

/** The fields that a client may set. */
export const policyFields = lazy(() => ({
  name: text(1, 255),
  effect: PolicyEffect(),
  actions: patterns(MAX_ACTION_LENGTH, ['email.*']),
  resources: patterns(MAX_RESOURCE_LENGTH, ['mailbox:*']),
  agent_ids: listOf(idText('agent', 'must be the id of an agent'), MAX_MEMBERS)
    .nullable()
    .meta({ description: 'The agents that it is for; null for all.' }),
  conditions: conditions(),
  token_ttl: permissionFields()
    .token_ttl.nullable()
    .meta({ description: 'The most seconds that a token which it approves lives; null for as long as was asked for.' }),
  max_uses: permissionFields()
    .max_uses.nullable()
    .meta({ description: 'The most uses of a token which it approves; null for as many as were asked for.' }),
  reason: permissionFields().reason.nullable().meta({ description: 'Becomes the reason of its decisions.' }),
  priority: wholeNumber(-MAX_PRIORITY, MAX_PRIORITY).meta({
    description: 'Of several approvals that apply, the highest decides, of equal ones the oldest.',
  }),
  is_active: z.boolean(),
}));

export const examplePolicy = {
  id: exampleId('policy'),
  name: 'Small mailings',
  effect: 'approve',
  actions: ['email.*'],
  resources: ['mailbox:*'],
  agent_ids: [exampleId('agent')],
  conditions: { max_recipients: { max: 50 } },
  token_ttl: 300,
  max_uses: null,
  reason: 'Few recipients',
  priority: 0,
  is_active: true,
  created_at: EXAMPLE.time,
  updated_at: EXAMPLE.time,
};

/** A policy as the API shows it. */
export const Policy = lazy(() =>
  z
    .object({
      id: idField('policy'),
      name: z.string(),
      effect: PolicyEffect(),
      actions: z.array(z.string()),
      resources: z.array(z.string()),
      agent_ids: z.array(z.string().meta({ pattern: idPattern('agent') })).nullable(),
      conditions: jsonField(z.record(z.string(), Condition())),
      token_ttl: countField.nullable().meta({ description: 'Seconds.' }),
      max_uses: countField.nullable(),
      reason: z.string().nullable(),
      priority: integerField,
      is_active: z.boolean(),
      created_at: timeField,
      updated_at: timeField,
    })
    .meta({
      id: 'Policy',
      description:
        'A rule that decides requests on the spot. It applies where every part matches. Any denial that applies wins; else ' +
        'the approval of highest priority; else a person decides. In doubt it fails closed: where a key of the scope is ' +
        'missing, or of another type, a denial applies and an approval does not; and an approval that has conditions must ' +
        'have one for every key of the scope.',
      examples: [examplePolicy],
    }),
);

export type Policy = z.output<ReturnType<typeof Policy>>;

export function presentPolicy(row: Omit<PolicyRow, 'account'>): Policy {
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
    created_at: formatTime(row.createdAt),
    updated_at: formatTime(row.updatedAt),
  };
}

/** The condition that finds a policy of an account. */
export function isPolicy(account: number, id: Id<'policy'>) {
  return and(eq(policies.account, account), eq(policies.id, id));
}

/** The number of the account that a policy belongs to, as SQL; NULL when it is not this one's. */
export function policyOwner(account: number, id: Id<'policy'>): SQL<number> {
  return sql<number>`(select account from ${policies} where ${isPolicy(account, id)})`;
}

/** A preload of the account's policies that are switched on. */
export async function activePolicies(_c: RequestContext, reader: Reader, owner: SQL<number>) {
  const query = reader
    .select()
    .from(policies)
    .where(and(eq(policies.account, owner), eq(policies.isActive, true)));
  return { query };
}

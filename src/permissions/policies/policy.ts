import { and, eq, type InferSelectModel, type SQL, sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Reader } from '../../db/database';
import { POLICY_EFFECTS, policies } from '../../db/schema';
import type { Incoming } from '../../http/context';
import { jsonObject, text, wholeNumber } from '../../http/fields';
import { shownId, shownObject, shownTime } from '../../http/shown';
import { textFault } from '../../lib/json';
import { formatTime } from '../../lib/time';
import { type Id, parseId } from '../../lib/typeid';
import { permissionFields } from '../permission';

/** The most policies that an account can hold: all of them are looked through at every request. */
export const MAX_POLICIES = 200;

const MAX_MEMBERS = 100;
const MAX_PRIORITY = 1_000_000;

export type PolicyRow = InferSelectModel<typeof policies>;

/** What a policy asks of one key of a request's scope; `{}` accepts any value. */
export const Condition = z
  .strictObject({
    min: z.number().optional(),
    max: z.number().optional(),
    equals: z.json().optional(),
    in: z.array(z.json()).min(1, 'must have at least one member').max(MAX_MEMBERS).optional(),
  })
  .refine(({ min, max }) => min === undefined || max === undefined || min <= max, {
    path: ['min'],
    message: 'must not be above max',
  });

export type Condition = z.output<typeof Condition>;

function patterns(max: number) {
  const pattern = z
    .string()
    .min(1, 'must not be empty')
    .refine((value) => [...value].length <= max, `must be at most ${max} characters long`)
    .refine((value) => textFault(value) === null, 'must contain neither NUL nor a lone surrogate');
  return listOf(pattern);
}

/** Counted before they are looked at, so that a long list of wrong ones earns one complaint. */
function listOf<S extends z.ZodType>(member: S) {
  return z
    .array(z.unknown())
    .min(1, 'must have at least one member')
    .max(MAX_MEMBERS, `must have at most ${MAX_MEMBERS} members`)
    .pipe(z.array(member));
}

const conditions = jsonObject(16 * 1024).superRefine((value, refinement) => {
  for (const [key, condition] of Object.entries(value)) {
    const { error } = Condition.safeParse(condition);
    for (const issue of error?.issues ?? []) {
      const names = issue.code === 'unrecognized_keys' ? issue.keys : [];
      const message = names.length > 0 ? `takes min, max, equals and in, not ${names.join(', ')}` : issue.message;
      refinement.addIssue({ code: 'custom', path: [key, ...issue.path], message });
    }
  }
});

/** The fields that a client may set. */
export const policyFields = {
  name: text(1, 255),
  effect: z.enum(POLICY_EFFECTS, `must be one of ${POLICY_EFFECTS.join(', ')}`),
  actions: patterns(128),
  resources: patterns(512),
  agent_ids: listOf(z.string().refine((id) => parseId('agent', id) !== null, 'must be the id of an agent')).nullable(),
  conditions,
  token_ttl: permissionFields.token_ttl.nullable(),
  max_uses: permissionFields.max_uses.nullable(),
  reason: permissionFields.reason.nullable(),
  priority: wholeNumber(-MAX_PRIORITY, MAX_PRIORITY),
  is_active: z.boolean(),
};

/** A policy as the API shows it. */
export const Policy = z.object({
  id: shownId('policy'),
  name: z.string(),
  effect: z.enum(POLICY_EFFECTS),
  actions: z.array(z.string()),
  resources: z.array(z.string()),
  agent_ids: z.array(z.string()).nullable(),
  conditions: shownObject,
  token_ttl: z.number().nullable(),
  max_uses: z.number().nullable(),
  reason: z.string().nullable(),
  priority: z.number(),
  is_active: z.boolean(),
  created_at: shownTime,
  updated_at: shownTime,
});

export type Policy = z.output<typeof Policy>;

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
export async function activePolicies(_c: Incoming, reader: Reader, owner: SQL<number>) {
  const query = reader
    .select()
    .from(policies)
    .where(and(eq(policies.account, owner), eq(policies.isActive, true)));
  return { query };
}

import {
  and,
  type Column,
  eq,
  getTableColumns,
  type InferSelectModel,
  type SQL,
  sql,
} from 'drizzle-orm';
import * as z from 'zod';
import { BUDGET_PERIODS, type PolicyBudget, policies } from '../db/schema';
import type { Statement } from '../db/statements';
import { type FieldError, invalidRequest } from '../errors';
import { choice, plainText, wholeNumber } from '../http/fields';
import { countField, timeField } from '../http/response-fields';
import { type Guard, hasRow } from '../ledger/guard';
import type { StateWriter } from '../ledger/ledger';
import { type JsonObject, ownValue } from '../lib/json';
import { type LazyOutput, lazy } from '../lib/lazy';
import { fromMillionths, toMillionths } from '../lib/millionths';
import { DAY, formatTime, HOUR } from '../lib/time';

const MAX_REQUESTS = 1_000_000;
const MAX_KEY_LENGTH = 255;
const AMOUNT = 'a number from 0 to 999999999.999999 with at most 6 decimals';

/** The budget of a policy, as clients send it and as the API shows it. */
export const BudgetField = lazy(() =>
  z
    .strictObject({
      per: choice(BUDGET_PERIODS).meta({
        description: 'The time that the budget is for, in UTC; `total` for all time.',
      }),
      requests: wholeNumber(1, MAX_REQUESTS)
        .optional()
        .meta({ description: 'How many requests it approves.' }),
      sum: z
        .strictObject({
          key: plainText(MAX_KEY_LENGTH)
            .min(1, 'must not be empty')
            .meta({ description: 'The key of the scope.' }),
          max: z
            .number()
            .refine((max) => toMillionths(max) !== null, `must be ${AMOUNT}`)
            .meta({ minimum: 0, exclusiveMaximum: 1e9, description: `The most: ${AMOUNT}.` }),
        })
        .optional()
        .meta({
          description:
            'What may be spent together: of each approval, the granted value of the key times the granted `max_uses`. ' +
            `A value other than ${AMOUNT} does not fit.`,
        }),
    })
    .refine(({ requests, sum }) => requests !== undefined || sum !== undefined, {
      error: 'must have requests or sum',
    })
    .meta({
      id: 'PolicyBudget',
      description: 'How much a policy approves: requests, a sum, or both.',
      examples: [{ per: 'day', requests: 100, sum: { key: 'amount', max: 500 } }],
    }),
);

/** The approvals of a policy in the current window of its budget. */
export const UsageField = lazy(() =>
  z
    .object({
      window_start: timeField.meta({
        description:
          'When the current hour, day or month began; with `per: total`, when the count began.',
      }),
      requests: countField.meta({ description: 'The requests that it approved since.' }),
      sum: z.number().meta({ minimum: 0, description: 'Their sum; 0 if the budget has none.' }),
    })
    .meta({ id: 'PolicyUsage' }),
);

type PolicyRow = InferSelectModel<typeof policies>;

/** The columns that count what a policy has approved. */
export type UsageColumns = Pick<
  PolicyRow,
  'usageWindowStart' | 'usageRequests' | 'usageSumMillionths'
>;

/** A policy with what it has approved. */
type CountedPolicy = UsageColumns & Pick<PolicyRow, 'budget' | 'expiresAt' | 'maxUses'>;

/** The limits of a request that an approval counts. */
export interface CountedLimits {
  scope: JsonObject;
  /** The uses that the agent asks for. */
  maxUses: number;
}

/**
 * Refuses a budget or an expiry of a policy that does not approve.
 * @param place where the policy stands in the request
 * @throws Problem `invalid_request`
 */
export function requireFitForEffect(
  { effect, budget, expiresAt }: Pick<PolicyRow, 'effect' | 'budget' | 'expiresAt'>,
  place = 'body',
): void {
  if (effect === 'approve') return;
  const errors: FieldError[] = [];
  const refuse = (name: string) =>
    errors.push({ path: `${place}.${name}`, message: 'is only for the effect approve' });
  if (budget !== null) refuse('budget');
  if (expiresAt !== null) refuse('expires_at');
  if (errors.length > 0) throw invalidRequest(errors);
}

/** @throws Problem `invalid_request` if the expiry that a policy gets is not in the future */
export function requireInFuture(expiresAt: number | null, now: number): void {
  if (expiresAt === null || expiresAt > now) return;
  throw invalidRequest([{ path: 'body.expires_at', message: 'must be in the future' }]);
}

/**
 * When the calendar window that contains a time began, in milliseconds since the epoch; 0 for a
 * budget for all time.
 */
function windowStart(per: PolicyBudget['per'], time: number): number {
  const date = new Date(time);
  switch (per) {
    case 'total':
      return 0;
    case 'hour':
      return time - (time % HOUR);
    case 'day':
      return time - (time % DAY);
    case 'month':
      return Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
  }
}

/** The columns of a count that starts now; those of a policy without a budget count nothing. */
export function startCount(budget: PolicyBudget | null, now: number): UsageColumns {
  const nothing = { usageRequests: 0, usageSumMillionths: 0 };
  if (budget === null) return { usageWindowStart: 0, ...nothing };
  const isForAllTime = budget.per === 'total';
  return { usageWindowStart: isForAllTime ? now : windowStart(budget.per, now), ...nothing };
}

/** Whether the count of one budget cannot continue for another: its period or key differs. */
export function restartsCount(before: PolicyBudget | null, after: PolicyBudget | null): boolean {
  return before?.per !== after?.per || before?.sum?.key !== after?.sum?.key;
}

/**
 * The approvals of a policy in the window of a time. A window that has been counted in never gives
 * way to an earlier one, so a request that commits late counts in the later window.
 */
function usageAt(policy: CountedPolicy, budget: PolicyBudget, time: number): UsageColumns {
  const usageWindowStart = windowStart(budget.per, time);
  if (policy.usageWindowStart >= usageWindowStart) return policy;
  return { usageWindowStart, usageRequests: 0, usageSumMillionths: 0 };
}

/** Shows what a policy has approved in its current window; null without a budget. */
export function presentUsage(
  policy: CountedPolicy,
  now: number,
): LazyOutput<typeof UsageField> | null {
  if (policy.budget === null) return null;
  const usage = usageAt(policy, policy.budget, now);
  return {
    window_start: formatTime(usage.usageWindowStart),
    requests: usage.usageRequests,
    sum: fromMillionths(usage.usageSumMillionths),
  };
}

/**
 * The millionths that an approval takes of a budget's sum; 0 if the budget has none; null if the
 * value of its key is missing or no amount. The product of a value and its uses may be beyond the
 * whole numbers of a double: it is then far above every sum.
 */
function takenMillionths({ budget, maxUses }: CountedPolicy, limits: CountedLimits): number | null {
  if (!budget?.sum) return 0;
  const value = toMillionths(ownValue(limits.scope, budget.sum.key));
  if (value === null) return null;
  return value * Math.min(limits.maxUses, maxUses ?? limits.maxUses);
}

/** Whether a policy has expired: an expiry ends it at its millisecond. */
export function isExpired({ expiresAt }: Pick<PolicyRow, 'expiresAt'>, now: number): boolean {
  return expiresAt !== null && expiresAt <= now;
}

/** Whether a policy has expired, or has no room in its budget for a request. */
export function isExhausted(policy: CountedPolicy, limits: CountedLimits, now: number): boolean {
  const { budget } = policy;
  if (isExpired(policy, now)) return true;
  if (budget === null) return false;
  const taken = takenMillionths(policy, limits);
  if (taken === null) return true;
  const usage = usageAt(policy, budget, now);
  if (budget.requests !== undefined && usage.usageRequests >= budget.requests) return true;
  if (!budget.sum) return false;
  return usage.usageSumMillionths + taken > (toMillionths(budget.sum.max) ?? 0);
}

/** The share of a budget that an approval takes, for the transaction that stores the approval. */
export interface BudgetUse {
  /**
   * The guard that the policy still is as it was read, and still has room: fails with `otherwise`.
   */
  guard: Guard;
  /** The statement that counts the approval. */
  countApproval: (write: StateWriter) => Statement;
}

/**
 * Makes the guard and the statement of an approval by a policy with a budget.
 * @param otherwise thrown if another request took the room, or the policy was changed
 */
export function takeFromBudget(
  policy: PolicyRow & { budget: PolicyBudget },
  limits: CountedLimits,
  { now, otherwise }: { now: number; otherwise: () => Error },
): BudgetUse {
  const { budget } = policy;
  const taken = takenMillionths(policy, limits);
  const window = windowStart(budget.per, now);
  const inWindow = (count: Column) =>
    sql`iif(${policies.usageWindowStart} >= ${window}, ${count}, 0)`;
  const isThisPolicy = and(eq(policies.account, policy.account), eq(policies.id, policy.id));
  const requests = inWindow(policies.usageRequests);
  const spent = inWindow(policies.usageSumMillionths);
  const hasRoom = and(
    budget.requests === undefined ? undefined : sql`${requests} < ${budget.requests}`,
    budget.sum && sql`${spent} + ${taken} <= ${toMillionths(budget.sum.max)}`,
  );
  const guard: Guard = {
    name: 'policy_has_room',
    holds: hasRow(policies, and(isThisPolicy, isAsRead(policy), hasRoom)),
    otherwise,
  };
  const countApproval = (write: StateWriter) =>
    write
      .update(policies)
      .set({
        usageWindowStart: sql`max(${policies.usageWindowStart}, ${window})`,
        usageRequests: sql`${requests} + 1`,
        usageSumMillionths: sql`${spent} + ${taken}`,
      })
      .where(isThisPolicy);
  return { guard, countApproval };
}

/** Whether a policy still is as it was read, but for its usage. */
function isAsRead(policy: PolicyRow): SQL | undefined {
  const {
    usageWindowStart: _start,
    usageRequests: _requests,
    usageSumMillionths: _sum,
    ...definition
  } = getTableColumns(policies);
  const names = Object.keys(definition) as (keyof typeof definition)[];
  const conditions = names.map((name) => {
    const column = definition[name];
    return sql`${column} is ${sql.param(policy[name], column)}`;
  });
  return and(...conditions);
}

import { equalJson, isJsonObject, type Json, type JsonObject, ownValue } from '../lib/json';
import { matchesPattern } from '../lib/pattern';
import { byId, type Id } from '../lib/typeid';
import { isExhausted } from './budget';
import type { PolicyCondition } from './fields';
import type { PolicyRow } from './policy';

/** The part of a request that policies look at. */
export interface EvaluatedRequest {
  /** Null in a simulation without an agent: policies for certain agents then do not apply. */
  agentId: string | null;
  action: string;
  resource: string;
  scope: JsonObject;
  /** The uses that the agent asks for. */
  maxUses: number;
}

/**
 * The possible results. For `review` the reviewers of the policy decide; for `pending` no policy
 * applies, and anybody who may decide does.
 */
export const DECISIONS = ['approve', 'deny', 'review', 'pending'] as const;

/** The result for a request. */
export interface Evaluation<P extends PolicyRow> {
  decision: (typeof DECISIONS)[number];
  /** The policy that decides; null if none applies. */
  policy: P | null;
  /** Every policy that applies. The first one decides. */
  matched: Id<'policy'>[];
  /** Approvals that match, but have expired or have no budget left. */
  exhausted: Id<'policy'>[];
}

/**
 * Evaluates an account's policies for a request. Any denial that applies decides; otherwise the
 * approval or review of highest priority does. At equal priority a review comes before an approval,
 * and then an older policy before a newer one. If no policy applies, the request waits for a
 * person. An approval that has expired, or has no room in its budget, does not apply.
 */
export function evaluatePolicies<P extends PolicyRow>(
  policies: readonly P[],
  request: EvaluatedRequest,
  now: number,
): Evaluation<P> {
  const matching = policies
    .filter((policy) => policy.isActive && applies(policy, request))
    .sort(byPrecedence);
  const exhausted = matching.filter((policy) => isExhausted(policy, request, now));
  const applying = matching.filter((policy) => !exhausted.includes(policy));
  const [policy = null] = applying;
  return {
    decision: policy?.effect ?? 'pending',
    policy,
    matched: applying.map(({ id }) => id),
    exhausted: exhausted.map(({ id }) => id),
  };
}

type Precedence = Pick<PolicyRow, 'effect' | 'priority' | 'createdAt' | 'id'>;

/**
 * Compares two policies by the order in which they are weighed: of those that apply, the first
 * decides.
 */
export function byPrecedence(a: Precedence, b: Precedence): number {
  const byDenial = Number(b.effect === 'deny') - Number(a.effect === 'deny');
  const byReview = Number(b.effect === 'review') - Number(a.effect === 'review');
  return byDenial || b.priority - a.priority || byReview || a.createdAt - b.createdAt || byId(a, b);
}

function applies(policy: PolicyRow, request: EvaluatedRequest): boolean {
  const { agentIds, actions, resources } = policy;
  const { agentId, action, resource, scope } = request;
  if (agentIds !== null && !(agentId !== null && agentIds.includes(agentId))) return false;
  if (!actions.some((pattern) => matchesPattern(pattern, action))) return false;
  if (!resources.some((pattern) => matchesPattern(pattern, resource))) return false;
  return conditionsHold(policy, scope);
}

/**
 * Whether a scope meets a policy's conditions. In doubt (the scope lacks a key, a value has another
 * type, a condition is malformed) a denial or review applies and an approval does not: all fail
 * closed. An approval with conditions must have one for every key of the scope, because it does not
 * allow what it does not mention.
 */
function conditionsHold({ effect, conditions }: PolicyRow, scope: JsonObject): boolean {
  const keys = Object.keys(conditions);
  const answerInDoubt = effect !== 'approve';
  const isComplete = Object.keys(scope).every((key) => Object.hasOwn(conditions, key));
  if (effect === 'approve' && keys.length > 0 && !isComplete) return false;
  return keys.every((key) => {
    const condition = conditions[key];
    const value = ownValue(scope, key);
    if (!isCondition(condition) || value === undefined) return answerInDoubt;
    return holds(condition, value) ?? answerInDoubt;
  });
}

/**
 * Whether a stored value has the form of a condition. Written without Zod, as it runs for every
 * policy on every request.
 */
function isCondition(value: unknown): value is PolicyCondition {
  if (!isJsonObject(value)) return false;
  return Object.entries(value).every(([name, limit]) => isPartOfCondition(name, limit));
}

function isPartOfCondition(name: string, limit: Json): boolean {
  switch (name) {
    case 'min':
    case 'max':
      return typeof limit === 'number';
    case 'in':
      return Array.isArray(limit);
    default:
      return name === 'equals';
  }
}

/**
 * Whether a value meets every part of a condition; null if no part fails, but one cannot be
 * compared, because the value has another type.
 */
function holds(condition: PolicyCondition, value: Json): boolean | null {
  const answers: (boolean | null)[] = [];
  const { min, max } = condition;
  const isNumber = typeof value === 'number';
  if (min !== undefined) answers.push(isNumber ? value >= min : null);
  if (max !== undefined) answers.push(isNumber ? value <= max : null);
  if (condition.equals !== undefined) answers.push(isOneOf(value, [condition.equals as Json]));
  if (condition.in !== undefined) answers.push(isOneOf(value, condition.in as Json[]));
  if (answers.includes(false)) return false;
  if (answers.includes(null)) return null;
  return true;
}

/** Whether a value equals one of those wanted; null if none of them has its type. */
function isOneOf(value: Json, wanted: Json[]): boolean | null {
  if (!wanted.some((member) => typeName(member) === typeName(value))) return null;
  return wanted.some((member) => equalJson(member, value));
}

function typeName(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value;
}

import { equalJson, isJsonObject, type Json, type JsonObject } from '../../lib/json';
import { matchesPattern } from '../../lib/pattern';
import type { Id } from '../../lib/typeid';
import type { Condition, PolicyRow } from './policy';

/** What is asked for, as policies see it. */
export interface EvaluatedRequest {
  /** Null in a simulation that names none: policies for certain agents then do not apply. */
  agentId: string | null;
  action: string;
  resource: string;
  scope: JsonObject;
}

/** What policies can say of a request; without one that applies it waits for a person. */
export const DECISIONS = ['approve', 'deny', 'pending'] as const;

/** What the policies say: the one that decides, and all that apply, those that decide first at the front. */
export interface Evaluation {
  decision: (typeof DECISIONS)[number];
  policy: PolicyRow | null;
  matched: Id<'policy'>[];
}

/**
 * Decides a request by an account's policies: any applying deny wins, else the approval of highest priority, oldest
 * first; without either it waits for a person.
 */
export function evaluatePolicies(policies: PolicyRow[], asked: EvaluatedRequest): Evaluation {
  const applying = policies.filter((policy) => policy.isActive && applies(policy, asked)).sort(byWeight);
  const [policy = null] = applying;
  return { decision: policy?.effect ?? 'pending', policy, matched: applying.map(({ id }) => id) };
}

function byWeight(a: PolicyRow, b: PolicyRow): number {
  if (a.effect !== b.effect) return a.effect === 'deny' ? -1 : 1;
  return b.priority - a.priority || a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1);
}

function applies(policy: PolicyRow, { agentId, action, resource, scope }: EvaluatedRequest): boolean {
  return (
    (policy.agentIds === null || (agentId !== null && policy.agentIds.includes(agentId))) &&
    policy.actions.some((pattern) => matchesPattern(pattern, action)) &&
    policy.resources.some((pattern) => matchesPattern(pattern, resource)) &&
    conditionsHold(policy, scope)
  );
}

/**
 * Whether a scope meets a policy's conditions. In doubt (a key is missing, a value is of another type, a condition cannot
 * be read) a denial applies and an approval does not: both fail closed. An approval that has conditions must have one
 * for every key of the scope: what it does not speak of it does not allow.
 */
function conditionsHold({ effect, conditions }: PolicyRow, scope: JsonObject): boolean {
  const keys = Object.keys(conditions);
  const inDoubt = effect === 'deny';
  if (!inDoubt && keys.length > 0 && !Object.keys(scope).every((key) => Object.hasOwn(conditions, key))) return false;
  return keys.every((key) => {
    const condition = conditions[key];
    if (!isCondition(condition) || !Object.hasOwn(scope, key)) return inDoubt;
    return holds(condition, scope[key] as Json) ?? inDoubt;
  });
}

/** Whether a stored condition is one that can be judged. By hand: this runs for every policy at every request. */
function isCondition(value: unknown): value is Condition {
  if (!isJsonObject(value)) return false;
  return Object.entries(value).every(
    ([name, limit]) =>
      ((name === 'min' || name === 'max') && typeof limit === 'number') ||
      (name === 'in' && Array.isArray(limit)) ||
      name === 'equals',
  );
}

/** Whether a value meets a condition; null where they are of different types and cannot be compared. */
function holds(condition: Condition, value: Json): boolean | null {
  const answers: (boolean | null)[] = [];
  if (condition.min !== undefined) answers.push(typeof value === 'number' ? value >= condition.min : null);
  if (condition.max !== undefined) answers.push(typeof value === 'number' ? value <= condition.max : null);
  if (condition.equals !== undefined) answers.push(isOneOf(value, [condition.equals as Json]));
  if (condition.in !== undefined) answers.push(isOneOf(value, condition.in as Json[]));
  if (answers.includes(false)) return false;
  return answers.includes(null) ? null : true;
}

function isOneOf(value: Json, wanted: Json[]): boolean | null {
  if (!wanted.some((member) => typeName(member) === typeName(value))) return null;
  return wanted.some((member) => equalJson(member, value));
}

function typeName(value: Json): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : isJsonObject(value) ? 'object' : typeof value;
}

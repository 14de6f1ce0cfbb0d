import { isJsonObject, type JsonObject } from '../../lib/json';
import type { Policy } from '../../permissions/policies/policy';
import type { Form } from '../frame/form';
import { type ConditionRow, conditionRows, parseJson } from './conditions';
import { writePatterns } from './patterns';

/** People as the form names them. */
export interface PeopleValues {
  roles: string[];
  members: string[];
}

/** What the form of a policy shows: texts as typed, under the names of its fields. */
export interface PolicyValues {
  name: string;
  effect: string;
  actions: string;
  resources: string;
  /** `all`, or `some` for those in `agentIds`. */
  agents: string;
  agentIds: string[];
  rows: ConditionRow[];
  /** Conditions that no row can express, and whether they stay. */
  others: { condition: JsonObject; isKept: boolean }[];
  priority: string;
  token_ttl: string;
  max_uses: string;
  reason: string;
  isActive: boolean;
  approvals: string;
  reviewers: PeopleValues;
  allowSelf: boolean;
  passkey: boolean;
  escalation_after: string;
  escalation: PeopleValues;
}

/** The fields of a policy that the form shows. */
export type ShownPolicy = Omit<Policy, 'id' | 'created_at' | 'updated_at'>;

/** The policy with which the form for a new one begins. */
export const EMPTY_POLICY: ShownPolicy = {
  ...{ name: '', effect: 'review', actions: [], resources: [], agent_ids: null, conditions: {} },
  ...{ token_ttl: null, max_uses: null, reason: null, priority: 0, is_active: true, review: null },
};

/** Fills in the form from a policy. */
export function valuesOf(policy: ShownPolicy): PolicyValues {
  const { name, effect, priority, review } = policy;
  const { rows, others } = conditionRows(policy.conditions as JsonObject);
  return {
    ...{ name, effect, rows },
    actions: writePatterns(policy.actions),
    resources: writePatterns(policy.resources),
    agents: policy.agent_ids === null ? 'all' : 'some',
    agentIds: policy.agent_ids ?? [],
    others: others.map((condition) => ({ condition, isKept: true })),
    priority: String(priority),
    token_ttl: textOf(policy.token_ttl),
    max_uses: textOf(policy.max_uses),
    reason: policy.reason ?? '',
    isActive: policy.is_active,
    approvals: String(review?.approvals ?? 1),
    reviewers: peopleOf(review),
    allowSelf: review?.allow_self ?? false,
    passkey: review?.passkey ?? false,
    escalation_after: textOf(review?.escalation?.after),
    escalation: peopleOf(review?.escalation),
  };
}

function textOf(value: number | null | undefined): string {
  return value === null || value === undefined ? '' : String(value);
}

function peopleOf(people: { members: string[] | null; roles: string[] | null } | null | undefined): PeopleValues {
  return { roles: people?.roles ?? [], members: people?.members ?? [] };
}

/** What somebody typed into the form. */
export function readValues(form: Form): PolicyValues {
  const people = (name: string) => ({ roles: form.list(`${name}_roles`), members: form.list(`${name}_members`) });
  const kept = form.list('keep');
  return {
    name: form.text('name'),
    effect: form.text('effect'),
    actions: form.text('actions'),
    resources: form.text('resources'),
    agents: form.text('agents'),
    agentIds: form.list('agent_ids'),
    rows: readRows(form),
    others: form.list('other').flatMap((text, index) => {
      const condition = parseJson(text);
      return isJsonObject(condition) ? { condition, isKept: kept.includes(String(index)) } : [];
    }),
    priority: form.text('priority'),
    token_ttl: form.text('token_ttl'),
    max_uses: form.text('max_uses'),
    reason: form.text('reason'),
    isActive: form.has('is_active'),
    approvals: form.text('approvals'),
    reviewers: people('review'),
    allowSelf: form.has('allow_self'),
    passkey: form.has('passkey'),
    escalation_after: form.text('escalation_after'),
    escalation: people('escalation'),
  };
}

function readRows(form: Form): ConditionRow[] {
  const keys = form.list('condition_key');
  const operators = form.list('condition_operator');
  const values = form.list('condition_value');
  return keys.map((key, index) => ({ key, operator: operators[index] ?? '', value: values[index] ?? '' }));
}

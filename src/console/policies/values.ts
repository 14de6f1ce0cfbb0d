import type * as z from 'zod';
import type { FieldError } from '../../errors';
import { isJsonObject, type JsonObject } from '../../lib/json';
import { PolicyCreation } from '../../policies/create';
import type { Policy } from '../../policies/policy';
import { nullIfEmpty, readNumber, type SentForm, validate } from '../frame/form';
import {
  type DurationValue,
  readDuration,
  secondsOf,
  writeDuration,
} from '../parts/duration-field';
import { type ConditionRow, conditionRows, parseJson, readConditions } from './conditions';
import { readPatterns, writePatterns } from './patterns';

/** People as the form names them. */
export interface PeopleValues {
  roles: string[];
  members: string[];
}

/** The texts that the form of a policy shows, as typed, under the names of its fields. */
export type PolicyValues = ReturnType<typeof readValues>;

/** The fields of a policy that the form shows. */
export type ShownPolicy = Omit<Policy, 'id' | 'usage' | 'created_by' | 'created_at' | 'updated_at'>;

/** The policy with which the form for a new one begins. */
export const EMPTY_POLICY: ShownPolicy = {
  name: '',
  effect: 'review',
  actions: [],
  resources: [],
  agent_ids: null,
  conditions: {},
  token_ttl: null,
  max_uses: null,
  reason: null,
  priority: 0,
  is_active: true,
  review: null,
  budget: null,
  expires_at: null,
};

/** Fills in the form from a policy. */
export function valuesOf(policy: ShownPolicy): PolicyValues {
  const { name, effect, priority, review, budget } = policy;
  const { rows, others } = conditionRows(policy.conditions as JsonObject);
  return {
    name,
    effect,
    rows,
    actions: writePatterns(policy.actions),
    resources: writePatterns(policy.resources),
    agents: policy.agent_ids === null ? 'all' : 'some',
    agentIds: policy.agent_ids ?? [],
    others: others.map((condition) => ({ condition, isKept: true })),
    priority: String(priority),
    token_ttl: writeDuration(policy.token_ttl, 'minute'),
    max_uses: textOf(policy.max_uses),
    reason: policy.reason ?? '',
    isActive: policy.is_active,
    approvals: String(review?.approvals ?? 1),
    reviewers: peopleOf(review),
    allowSelf: review?.allow_self ?? false,
    passkey: review?.passkey ?? false,
    escalation_after: writeDuration(review?.escalation?.after ?? null, 'minute'),
    escalation: peopleOf(review?.escalation),
    budget_per: budget?.per ?? '',
    budget_requests: textOf(budget?.requests),
    budget_key: budget?.sum?.key ?? '',
    budget_max: textOf(budget?.sum?.max),
    expires_at: policy.expires_at?.replace(/(:00)?\.000Z$|Z$/, '') ?? '',
  };
}

function textOf(value: number | null | undefined): string {
  return String(value ?? '');
}

function peopleOf(
  people: { members: string[] | null; roles: string[] | null } | null | undefined,
): PeopleValues {
  return { roles: people?.roles ?? [], members: people?.members ?? [] };
}

/** Reads the values of a sent form. */
export function readValues(form: SentForm) {
  const people = (name: string): PeopleValues => {
    return { roles: form.list(`${name}_roles`), members: form.list(`${name}_members`) };
  };
  const kept = form.list('keep');
  const operators = form.list('condition_operator');
  const values = form.list('condition_value');
  return {
    name: form.text('name'),
    effect: form.text('effect'),
    actions: form.text('actions'),
    resources: form.text('resources'),
    /** `all`, or `some` for those in `agentIds`. */
    agents: form.text('agents'),
    agentIds: form.list('agent_ids'),
    rows: form.list('condition_key').map((key, index): ConditionRow => {
      return { key, operator: operators[index] ?? '', value: values[index] ?? '' };
    }),
    /** Conditions that no row can express, and whether they stay. */
    others: form.list('other').flatMap((text, index) => {
      const condition = parseJson(text);
      if (!isJsonObject(condition)) return [];
      return { condition, isKept: kept.includes(String(index)) };
    }),
    priority: form.text('priority'),
    token_ttl: readDuration(form, 'token_ttl'),
    max_uses: form.text('max_uses'),
    reason: form.text('reason'),
    isActive: form.has('is_active'),
    approvals: form.text('approvals'),
    reviewers: people('review'),
    allowSelf: form.has('allow_self'),
    passkey: form.has('passkey'),
    escalation_after: readDuration(form, 'escalation_after'),
    escalation: people('escalation'),
    budget_per: form.text('budget_per'),
    budget_requests: form.text('budget_requests'),
    budget_key: form.text('budget_key'),
    budget_max: form.text('budget_max'),
    expires_at: form.text('expires_at'),
  };
}

/** A valid policy that is not stored yet. */
export type PolicyDraft = z.output<ReturnType<typeof PolicyCreation>>;

/**
 * Makes the policy that a form describes, in the words of the API.
 * @throws Problem `invalid_request` with the invalid fields, named as in the API; the rows of
 *   conditions by their index
 */
export function draftOf(values: PolicyValues): PolicyDraft {
  const { policy, faults } = policyInput(values);
  return validate(PolicyCreation(), policy, faults);
}

/**
 * Writes a form in the words of the API, not checked, with the faults of rows. Leaves out fields
 * that the chosen effect does not use.
 */
export function policyInput(values: PolicyValues): {
  policy: Record<string, unknown>;
  faults: FieldError[];
} {
  const { name, effect, reason, isActive } = values;
  const keptOthers = values.others.filter(({ isKept }) => isKept);
  const others = keptOthers.map(({ condition }) => condition);
  const { conditions, faults } = readConditions(values.rows, others);
  const policy: Record<string, unknown> = {
    name,
    effect,
    conditions,
    is_active: isActive,
    actions: readPatterns(values.actions),
    resources: readPatterns(values.resources),
    agent_ids: values.agents === 'some' ? values.agentIds : null,
    reason: reason.trim() || null,
    priority: readNumber(values.priority),
    review: effect === 'review' ? reviewOf(values) : null,
  };
  if (effect !== 'deny') {
    policy.token_ttl = secondsOrNull(values.token_ttl);
    policy.max_uses = numberOrNull(values.max_uses);
  }
  if (effect === 'approve') {
    policy.budget = budgetOf(values);
    policy.expires_at = timeOrNull(values.expires_at);
  }
  return { policy, faults };
}

/** Null if every field is empty: a limit without a period is a mistake. */
function budgetOf({
  budget_per: per,
  budget_requests: requests,
  budget_key: key,
  budget_max: max,
}: PolicyValues) {
  if ([per, requests, key, max].every((text) => text.trim() === '')) return null;
  const hasSum = key.trim() !== '' || max.trim() !== '';
  return {
    per,
    ...(requests.trim() !== '' && { requests: readNumber(requests) }),
    ...(hasSum && { sum: { key, max: readNumber(max) } }),
  };
}

/** A time in UTC, as browsers send it: without seconds where these are 0. */
const LOCAL_TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d)(:[\d.]+)?$/;

/** A field for a time that may stay empty. */
function timeOrNull(text: string): string | null {
  if (text.trim() === '') return null;
  return text.trim().replace(LOCAL_TIME, (_, time, seconds = ':00') => `${time}${seconds}Z`);
}

function reviewOf({
  approvals,
  reviewers,
  allowSelf,
  passkey,
  escalation_after: after,
  escalation,
}: PolicyValues) {
  const people = peopleInput(escalation);
  const escalates = after.amount.trim() !== '' || people.members !== null || people.roles !== null;
  return {
    approvals: readNumber(approvals),
    ...peopleInput(reviewers),
    allow_self: allowSelf,
    passkey,
    escalation: escalates ? { after: secondsOf(after), ...people } : null,
  };
}

function peopleInput({ members, roles }: PeopleValues) {
  return { members: nullIfEmpty(members), roles: nullIfEmpty(roles) };
}

/** A field for a length of time that may stay empty. */
function secondsOrNull(time: DurationValue): number | string | null {
  return time.amount.trim() === '' ? null : secondsOf(time);
}

/** A field that may stay empty. */
function numberOrNull(text: string): number | string | null {
  if (text.trim() === '') return null;
  return readNumber(text);
}

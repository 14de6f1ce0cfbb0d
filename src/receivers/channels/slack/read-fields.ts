import { roundingFault } from '../../../lib/exact-json';
import { equalJson } from '../../../lib/json';
import { valueText } from '../../../permissions/limit-texts';
import type { Narrowing, RequestedLimits } from '../../../permissions/limits';
import { permissionFields } from '../../../permissions/permission-fields';
import type { VoteDecision } from '../../../permissions/reviews/review';
import { setAt } from '../../../permissions/scope-leaves';
import { limitFields } from './limit-fields';
import { DECISION, MAX_USES, MIN_TOKEN_TTL, REASON, TOKEN_TTL, VALUE } from './modal';

/** The state of a field of a submitted modal. */
export interface FieldState {
  value?: string | null | undefined;
  selected_option?: { value: string } | null | undefined;
  selected_options?: { value: string }[] | undefined;
}

/** The fields of a submitted modal by their block and action, as `view.state.values` has them. */
export type ViewValues = Record<string, Record<string, FieldState>>;

/** A decision as a person sent it. Limits that were left as proposed are absent. */
export type SubmittedDecision = { decision: VoteDecision; reason?: string } & Narrowing;

/**
 * The faults of the fields of a submission, by block: the `errors` of the `response_action` of the
 * same name.
 */
export interface Refusal {
  errors: Record<string, string>;
}

/**
 * The refusal of a whole submission. Slack shows the reason at the decision, because each error
 * belongs to a field.
 */
export function makeRefusal(reason: string): Refusal {
  return { errors: { [DECISION]: reason } };
}

/**
 * Reads the decision of a submitted modal. A denial has no limits.
 * @param proposal the limits from which the modal was made
 */
export function readFields(
  values: ViewValues,
  proposal: RequestedLimits,
): SubmittedDecision | Refusal {
  const errors: Record<string, string> = {};
  const fieldAt = (blockId: string) => {
    if (!Object.hasOwn(values, blockId)) return undefined;
    return values[blockId]?.[VALUE];
  };
  const decision = readDecision(fieldAt(DECISION));
  const reason = permissionFields().reason.safeParse(fieldAt(REASON)?.value ?? '');
  if (decision === null) errors[DECISION] = 'Choose to approve or to deny.';
  if (!reason.success) errors[REASON] = `The reason ${reason.error.issues[0]?.message}.`;
  const limits = decision === 'approve' ? readLimits(fieldAt, proposal, errors) : {};
  if (decision === null || Object.keys(errors).length > 0) return { errors };
  return { decision, ...(reason.data && { reason: reason.data }), ...limits };
}

function readDecision(field: FieldState | undefined): VoteDecision | null {
  const chosen = field?.selected_option?.value;
  if (chosen !== 'approve' && chosen !== 'deny') return null;
  return chosen;
}

/** Reads the limits that differ from the proposed ones. Adds to `errors` what is wrong. */
function readLimits(
  fieldAt: (blockId: string) => FieldState | undefined,
  proposal: RequestedLimits,
  errors: Record<string, string>,
): Narrowing {
  const scope = structuredClone(proposal.scope);
  for (const field of limitFields(proposal.scope)) {
    const state = fieldAt(field.blockId);
    if (state === undefined) continue;
    if (field.kind === 'number') {
      const number = readNumber(state, field.value);
      if (typeof number === 'string') errors[field.blockId] = number;
      else setAt(scope, field.path, number);
    }
    if (field.kind === 'list') {
      const kept = new Set(state.selected_options?.map(({ value }) => value));
      const members = field.value.filter((_, index) => kept.has(String(index)));
      if (members.length === 0) errors[field.blockId] = 'Keep at least one, or deny the request.';
      else setAt(scope, field.path, members);
    }
  }
  const narrowing: Narrowing = {};
  if (!equalJson(scope, proposal.scope)) narrowing.scope = scope;
  const ttl = readWhole(fieldAt(TOKEN_TTL), MIN_TOKEN_TTL, proposal.token_ttl);
  if (typeof ttl === 'string') errors[TOKEN_TTL] = ttl;
  else if (ttl !== proposal.token_ttl) narrowing.token_ttl = ttl;
  const uses = readWhole(fieldAt(MAX_USES), 1, proposal.max_uses);
  if (typeof uses === 'string') errors[MAX_USES] = uses;
  else if (uses !== proposal.max_uses) narrowing.max_uses = uses;
  return narrowing;
}

/** Reads a number of at most `max`; a text says what is wrong. */
function readNumber({ value }: FieldState, max: number): number | string {
  const typed = value?.trim() ?? '';
  if (typed === String(max)) return max;
  const number = Number(typed);
  if (!/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(typed) || !Number.isFinite(number))
    return 'Enter a number.';
  if (number > max) return `Enter at most ${valueText(max)}.`;
  if (roundingFault(typed) !== null) return 'Enter fewer digits.';
  return number;
}

/**
 * Reads a whole number from `min` to `max`, `max` if the modal has no such field; a text says what
 * is wrong.
 */
function readWhole(state: FieldState | undefined, min: number, max: number): number | string {
  if (state === undefined) return max;
  const typed = state.value?.trim() ?? '';
  const number = Number(typed);
  if (/^\d{1,9}$/.test(typed) && number >= min && number <= max) return number;
  return `Enter a whole number from ${min} to ${max}.`;
}

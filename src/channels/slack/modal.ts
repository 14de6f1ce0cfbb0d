import * as z from 'zod';
import { duration } from '../../lib/duration';
import { roundingFault } from '../../lib/exact-json';
import { equalJson } from '../../lib/json';
import { lazy } from '../../lib/lazy';
import { withScriptsMark } from '../../lib/scripts';
import { SECOND } from '../../lib/time';
import { valueText } from '../../permissions/limit-texts';
import type { Narrowing, RequestedLimits } from '../../permissions/limits';
import type { Permission } from '../../permissions/permission';
import { permissionFields } from '../../permissions/permission-fields';
import type { Preview } from '../../permissions/preview';
import type { VoteDecision } from '../../permissions/reviews/review';
import { setAt } from '../../permissions/scope-leaves';
import {
  type Block,
  context,
  header,
  type InputBlock,
  type InputElement,
  type ModalView,
  plain,
  section,
} from './blocks';
import { type LimitField, limitFields } from './limit-fields';
import { linkButton, requestLines } from './message';
import { canBeSubmitted } from './payload-size';
import { inLine, inLines, MAX_SECTION, split } from './text';

/** The `callback_id` of the modal. */
export const REVIEW_MODAL = 'review_permission';

/** What Slack sends back with a submitted modal, as its `private_metadata`. */
export const ModalState = lazy(() =>
  z.object({
    permission: z.string(),
    /** How many votes the permission had when the modal was made. */
    votes: z.number(),
  }),
);

type ModalState = z.output<ReturnType<typeof ModalState>>;

/** The `action_id` of every field: fields are told apart by their block. */
const VALUE = 'value';
const TOKEN_TTL = 'token_ttl';
const MAX_USES = 'max_uses';
const REASON = 'reason';
const DECISION = 'decision';

const MIN_TOKEN_TTL = 30;
const MAX_REASON = 1_000;

/** Slack's maximum number of blocks in a view. */
const MAX_BLOCKS = 100;

export interface ReviewModal {
  permission: Permission;
  /** What the agent wrote for the person who decides; null if nothing. */
  preview: Preview | null;
  /** The arguments of the act as JSON; null if the service does not have them. */
  input: string | null;
  /**
   * What an approval may narrow: the requested limits, or those that the votes so far have left.
   */
  proposal: RequestedLimits;
  agentName: string;
  /** The address of the decision card. */
  cardUrl: string;
  /** How many votes the permission has. */
  votes: number;
}

/**
 * The modal in which a person approves or denies a permission, may narrow its limits and may give a
 * reason. It shows the arguments and everything that the agent wrote, whole: nobody approves what
 * they cannot see.
 * @returns null if Slack cannot show that, or cannot send it back
 */
export function reviewModal(modal: ReviewModal): ModalView | null {
  const { permission, proposal, cardUrl, votes } = modal;
  const state: ModalState = { permission: permission.id, votes };
  const asked = requestLines(modal, (whole) => whole).map(({ text }) => text);
  const blocks: Block[] = [
    ...sections(asked.join('\n')),
    ...(permission.reason
      ? sections(withScriptsMark(`Why it asks: ${inLines(permission.reason)}`))
      : []),
    { type: 'actions', elements: [linkButton(cardUrl)] },
    ...previewBlocks(modal.preview),
    ...inputBlocks(modal.input),
    ...limitBlocks(permission, proposal),
    input(REASON, 'Reason', {
      optional: true,
      hint: 'The agent sees it, and the log keeps it.',
      element: {
        type: 'plain_text_input',
        action_id: VALUE,
        multiline: true,
        max_length: MAX_REASON,
      },
    }),
    input(DECISION, 'Decision', {
      element: {
        type: 'radio_buttons',
        action_id: VALUE,
        options: [
          { text: plain('Approve'), value: 'approve' },
          { text: plain('Deny'), value: 'deny' },
        ],
      },
    }),
  ];
  const view: ModalView = {
    type: 'modal',
    callback_id: REVIEW_MODAL,
    private_metadata: JSON.stringify(state),
    title: plain('Review a permission'),
    submit: plain('Send decision'),
    close: plain('Cancel'),
    blocks,
  };
  return blocks.length <= MAX_BLOCKS && canBeSubmitted(view, MAX_REASON) ? view : null;
}

function previewBlocks(preview: Preview | null): Block[] {
  // The lines about the request have the title.
  const { summary = '', fields = [], blocks = [] } = preview ?? {};
  const shown = [
    withScriptsMark(summary),
    fields.map(({ label, value }) => withScriptsMark(`${inLine(label)}: ${value}`)).join('\n'),
    ...blocks.map(({ title, text }) => withScriptsMark(title ? `${title}\n${text}` : text)),
  ].flatMap((text) => sections(inLines(text)));
  if (shown.length === 0) return [];
  return [
    header('What the agent says it will do'),
    context('In the words of the agent. Nobody checked it.'),
    ...shown,
  ];
}

/** The arguments as JSON, whole. */
function inputBlocks(input: string | null): Block[] {
  if (input === null) return [];
  const text = JSON.stringify(JSON.parse(input), null, 2);
  return [
    header('Arguments'),
    context('The agent may do it only with exactly these.'),
    ...sections(withScriptsMark(inLines(text))),
  ];
}

function limitBlocks(
  permission: Permission,
  { scope, token_ttl, max_uses }: RequestedLimits,
): Block[] {
  const fields = limitFields(scope);
  const listed = (kind: 'fixed' | 'card', heading: string) => {
    const lines = fields.filter((field) => field.kind === kind).map(limitLine);
    return lines.length === 0 ? [] : sections([heading, ...lines].join('\n'));
  };
  return [
    header('Limits'),
    ...(permission.input_digest === null
      ? []
      : [
          context(
            'The arguments stay as they are: if they exceed what you leave, the agent has to ask again.',
          ),
        ]),
    input(TOKEN_TTL, 'Time to act, in seconds', {
      hint: `At most ${token_ttl} (${duration(token_ttl * SECOND)})`,
      element: numberInput(token_ttl, MIN_TOKEN_TTL),
    }),
    input(MAX_USES, 'Times it may act', {
      hint: `At most ${max_uses}`,
      element: numberInput(max_uses, 1),
    }),
    ...(fields.length === 0 ? [] : [header('Limits that the agent named')]),
    ...fields.flatMap((field) => limitInput(field) ?? []),
    ...listed('fixed', 'These cannot be narrowed:'),
    ...listed('card', 'These can be narrowed in Countersign only:'),
  ];
}

/** The field of a limit; null if it cannot be narrowed in Slack. */
function limitInput(field: LimitField): InputBlock | null {
  const { blockId, label } = field;
  if (field.kind === 'number') {
    return input(blockId, label, {
      hint: `At most ${valueText(field.value)}`,
      element: numberInput(field.value, null),
    });
  }
  if (field.kind !== 'list') return null;
  const { options } = field;
  return input(blockId, label, {
    hint: 'Keep at least one.',
    element: { type: 'checkboxes', action_id: VALUE, options, initial_options: options },
  });
}

function limitLine({ label, value }: LimitField): string {
  return `${label}: ${withScriptsMark(inLine(valueText(value)))}`;
}

/** A field for a number. With a minimum it takes whole numbers only. */
function numberInput(max: number, min: number | null): InputElement {
  return {
    type: 'number_input',
    action_id: VALUE,
    is_decimal_allowed: min === null,
    initial_value: String(max),
    ...(min !== null && { min_value: String(min) }),
    max_value: String(max),
  };
}

interface Input {
  element: InputElement;
  hint?: string;
  optional?: boolean;
}

function input(
  blockId: string,
  label: string,
  { element, hint, optional = false }: Input,
): InputBlock {
  return {
    type: 'input',
    block_id: blockId,
    label: plain(label),
    ...(hint !== undefined && { hint: plain(hint) }),
    optional,
    element,
  };
}

/** A text in as many sections as it needs. */
function sections(text: string): Block[] {
  const parts = split(text, MAX_SECTION).filter((part) => part.trim() !== '');
  return parts.map(section);
}

/** What a field of a submitted modal holds. */
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
 * What is wrong with the fields of a submission, by block: the `errors` of the `response_action` of
 * the same name.
 */
export interface Refusal {
  errors: Record<string, string>;
}

/**
 * Refuses a whole submission. Slack shows the reason at the decision, because each error belongs to
 * a field.
 */
export function refuseSubmission(reason: string): Refusal {
  return { errors: { [DECISION]: reason } };
}

/**
 * Reads the decision that a submitted modal says. A denial has no limits.
 * @param proposal the limits from which the modal was made
 */
export function readSubmission(
  values: ViewValues,
  proposal: RequestedLimits,
): SubmittedDecision | Refusal {
  const errors: Record<string, string> = {};
  const fieldAt = (blockId: string) =>
    Object.hasOwn(values, blockId) ? values[blockId]?.[VALUE] : undefined;
  const decision = fieldAt(DECISION)?.selected_option?.value;
  const reason = permissionFields().reason.safeParse(fieldAt(REASON)?.value ?? '');
  if (decision !== 'approve' && decision !== 'deny')
    errors[DECISION] = 'Choose to approve or to deny.';
  if (!reason.success) errors[REASON] = `The reason ${reason.error.issues[0]?.message}.`;
  const limits = decision === 'approve' ? readLimits(fieldAt, proposal, errors) : {};
  if (Object.keys(errors).length > 0) return { errors };
  return {
    decision: decision as VoteDecision,
    ...(reason.data && { reason: reason.data }),
    ...limits,
  };
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
  const ttl = readWhole(fieldAt(TOKEN_TTL), MIN_TOKEN_TTL, proposal.token_ttl);
  if (typeof ttl === 'string') errors[TOKEN_TTL] = ttl;
  const uses = readWhole(fieldAt(MAX_USES), 1, proposal.max_uses);
  if (typeof uses === 'string') errors[MAX_USES] = uses;
  return {
    ...(!equalJson(scope, proposal.scope) && { scope }),
    ...(typeof ttl === 'number' && ttl !== proposal.token_ttl && { token_ttl: ttl }),
    ...(typeof uses === 'number' && uses !== proposal.max_uses && { max_uses: uses }),
  };
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
  return /^\d{1,9}$/.test(typed) && number >= min && number <= max
    ? number
    : `Enter a whole number from ${min} to ${max}.`;
}

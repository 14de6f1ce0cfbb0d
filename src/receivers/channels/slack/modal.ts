import type { InputBlockElement, NumberInput } from '@slack/types';
import * as z from 'zod';
import { duration } from '../../../lib/duration';
import { type LazyOutput, lazy } from '../../../lib/lazy';
import { withScriptsMark } from '../../../lib/scripts';
import { SECOND } from '../../../lib/time';
import { valueText } from '../../../permissions/limit-texts';
import type { RequestedLimits } from '../../../permissions/limits';
import type { Permission } from '../../../permissions/permission';
import type { Preview } from '../../../permissions/preview';
import {
  actions,
  type Block,
  context,
  header,
  type InputBlock,
  type ModalView,
  plain,
  section,
} from './blocks';
import { type LimitField, limitFields } from './limit-fields';
import { linkButton, requestLines } from './message';
import { canBeSubmitted } from './payload-size';
import { inLine, inLines, MAX_SECTION, split } from './text';

/** The `callback_id` of the modal. It never changes, because a modal may be open for long. */
export const DECISION_MODAL = 'review_permission';

/** The `private_metadata` of a modal, which Slack sends back with the submission. */
export const ModalState = lazy(() =>
  z.object({
    permission: z.string(),
    /** How many votes the permission had when the modal was made. */
    votes: z.number(),
  }),
);

type ModalState = LazyOutput<typeof ModalState>;

/** The `action_id` of every field: fields are told apart by their block. */
export const VALUE = 'value';
export const TOKEN_TTL = 'token_ttl';
export const MAX_USES = 'max_uses';
export const REASON = 'reason';
export const DECISION = 'decision';

export const MIN_TOKEN_TTL = 30;
const MAX_REASON = 1_000;

/** Slack's maximum number of blocks in a view. */
const MAX_BLOCKS = 100;

export interface DecisionModal {
  permission: Permission;
  /** The texts of the agent for the person who decides; null if there are none. */
  preview: Preview | null;
  /** The arguments of the act as JSON; null if the service does not have them. */
  input: string | null;
  /**
   * The limits that an approval may narrow: the requested ones, or those that the votes so far have
   * left.
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
export function decisionModal(modal: DecisionModal): ModalView | null {
  const { permission, proposal, cardUrl, votes } = modal;
  const state: ModalState = { permission: permission.id, votes };
  const asked = requestLines(modal, (whole) => whole).map(({ text }) => text);
  const blocks: Block[] = [
    ...sections(asked.join('\n')),
    ...reasonBlocks(permission.reason),
    actions(linkButton(cardUrl)),
    ...previewBlocks(modal.preview, permission.connection_id !== null),
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
    callback_id: DECISION_MODAL,
    private_metadata: JSON.stringify(state),
    title: plain('Review a permission'),
    submit: plain('Send decision'),
    close: plain('Cancel'),
    blocks,
  };
  if (blocks.length > MAX_BLOCKS || !canBeSubmitted(view, MAX_REASON)) return null;
  return view;
}

function reasonBlocks(reason: string | null): Block[] {
  if (!reason) return [];
  return sections(withScriptsMark(`Why it asks: ${inLines(reason)}`));
}

function previewBlocks(preview: Preview | null, isOfConnection: boolean): Block[] {
  // The lines about the request have the title.
  const { summary = '', fields = [], blocks = [] } = preview ?? {};
  const fieldLines = fields.map(({ label, value }) =>
    withScriptsMark(`${inLine(label)}: ${value}`),
  );
  const texts = blocks.map(({ title, text }) => (title ? `${title}\n${text}` : text));
  const shown = [withScriptsMark(summary), fieldLines.join('\n'), ...texts.map(withScriptsMark)];
  const shownBlocks = shown.flatMap((text) => sections(inLines(text)));
  if (shownBlocks.length === 0) return [];
  return [
    ...(isOfConnection
      ? [header('What Countersign will send'), context("By the connection's rule.")]
      : [
          header('What the agent says it will do'),
          context('In the words of the agent. Nobody checked it.'),
        ]),
    ...shownBlocks,
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

const ARGUMENTS_STAY =
  'The arguments stay as they are: if they exceed what you leave, the agent has to ask again.';

function limitBlocks(
  permission: Permission,
  { scope, token_ttl, max_uses }: RequestedLimits,
): Block[] {
  const ttl = input(TOKEN_TTL, 'Time to act, in seconds', {
    hint: `At most ${token_ttl} (${duration(token_ttl * SECOND)})`,
    element: wholeNumberInput(token_ttl, MIN_TOKEN_TTL),
  });
  // A connection sends its request as it is, once.
  if (permission.connection_id !== null) return [header('Limits'), ttl];
  const fields = limitFields(scope);
  const blocks: Block[] = [header('Limits')];
  if (permission.input_digest !== null) blocks.push(context(ARGUMENTS_STAY));
  blocks.push(
    ttl,
    input(MAX_USES, 'Times it may act', {
      hint: `At most ${max_uses}`,
      element: wholeNumberInput(max_uses, 1),
    }),
  );
  if (fields.length > 0) blocks.push(header('Limits that the agent named'));
  return [
    ...blocks,
    ...fields.flatMap((field) => limitInput(field) ?? []),
    ...listed('These cannot be narrowed:', fields, 'fixed'),
    ...listed('These can be narrowed in Countersign only:', fields, 'card'),
  ];
}

/** The limits of one kind as lines below a heading. */
function listed(heading: string, fields: LimitField[], kind: LimitField['kind']): Block[] {
  const lines = fields.filter((field) => field.kind === kind).map(limitLine);
  if (lines.length === 0) return [];
  return sections([heading, ...lines].join('\n'));
}

/** The field of a limit; null if it cannot be narrowed in Slack. */
function limitInput(field: LimitField): InputBlock | null {
  const { blockId, label } = field;
  if (field.kind === 'number') {
    return input(blockId, label, {
      hint: `At most ${valueText(field.value)}`,
      element: { ...numberInput(field.value), is_decimal_allowed: true },
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

/** A field for a number, which has the maximum at first. */
function numberInput(max: number): Omit<NumberInput, 'is_decimal_allowed'> {
  const max_value = String(max);
  return { type: 'number_input', action_id: VALUE, initial_value: max_value, max_value };
}

function wholeNumberInput(max: number, min: number): NumberInput {
  return { ...numberInput(max), is_decimal_allowed: false, min_value: String(min) };
}

interface Input {
  element: InputBlockElement;
  hint?: string;
  optional?: boolean;
}

function input(blockId: string, label: string, options: Input): InputBlock {
  const { element, hint, optional = false } = options;
  const block: InputBlock = {
    type: 'input',
    block_id: blockId,
    label: plain(label),
    optional,
    element,
  };
  if (hint !== undefined) block.hint = plain(hint);
  return block;
}

/** A text in as many sections as it needs. */
function sections(text: string): Block[] {
  const parts = split(text, MAX_SECTION).filter((part) => part.trim() !== '');
  return parts.map(section);
}

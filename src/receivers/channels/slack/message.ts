import type { Button } from '@slack/types';
import { withScriptsMark } from '../../../lib/scripts';
import { utcText } from '../../../lib/time';
import { amountOf } from '../../../permissions/amount';
import { isWithdrawn, type Permission } from '../../../permissions/permission';
import type { DecisionSource } from '../../../permissions/reviews/review';
import { MISSING_OUTCOME, type PermissionMessage } from '../message';
import {
  actions,
  type Block,
  context,
  header,
  localTime,
  plain,
  type SlackMessage,
  section,
} from './blocks';
import { cut, escapeText, inLine } from './text';

/**
 * The `action_id` of the button that opens the modal. Its value is the permission's id. It never
 * changes, because the messages that were sent keep it.
 */
export const DECIDE_ACTION = 'review_permission';

/** The `action_id` of link buttons. Slack reports clicks on them too; nothing has to be done. */
export const OPEN_ACTION = 'open_in_countersign';

/**
 * Arguments of `chat.postMessage`, `chat.postEphemeral` and `chat.update` that keep Slack from
 * finding mentions, links and markup in the text of a message.
 */
export const AS_WRITTEN = {
  parse: 'none',
  link_names: false,
  mrkdwn: false,
  unfurl_links: false,
  unfurl_media: false,
} as const;

/**
 * Maximum sizes of texts that an agent or a person wrote; the card shows all of them. A section
 * holds the longest four together.
 */
const MAX_WRITTEN = 500;
const MAX_RESOURCE = 1_500;

/** Why a message has no button to decide. */
export const DECIDED_ELSEWHERE =
  'It needs several approvals or a passkey, so it is decided in Countersign.';

const VIA: Record<DecisionSource, string> = {
  api: 'the API',
  console: 'the console',
  slack: 'Slack',
};

/** Whether a pending permission can be decided in Slack: it needs one approval and no passkey. */
export function canDecideInSlack({ review }: Pick<Permission, 'review'>): boolean {
  return review === null || (review.approvals_required === 1 && review.passkey === false);
}

/**
 * The message about a permission that waits for a decision.
 * @param canDecide whether it can be decided in Slack; else only a link leads to the decision card
 */
export function permissionMessage(
  message: PermissionMessage,
  { canDecide }: { canDecide: boolean },
): SlackMessage {
  const { permission, url } = message;
  const utc = utcText(permission.expires_at);
  const deadline = `Waits until ${utc}`;
  const times = context(
    deadline,
    localTime('In your time zone:', Date.parse(permission.expires_at), utc),
  );
  const ways = canDecide
    ? [actions(decideButton(permission.id), linkButton(url))]
    : [context(DECIDED_ELSEWHERE), actions(linkButton(url))];
  return compose({
    headline: headlineOf(message),
    request: requestLines(message),
    outcome: [],
    closing: [times, ...ways],
    spoken: [deadline],
  });
}

/**
 * The message about the same permission once it is settled: who decided what and when, that it
 * expired, or that its outcome is unknown.
 * @param via through what a person decided; null if a policy decided, or nobody
 * @throws Error if the permission is pending
 */
export function settledMessage(
  message: PermissionMessage,
  { via }: { via: DecisionSource | null },
): SlackMessage {
  const outcome = outcomeLines(message, via);
  return compose({
    headline: settledHeadline(message),
    request: requestLines(message),
    outcome,
    closing: [actions(linkButton(message.url))],
    spoken: [],
  });
}

/** A line of a message. */
interface Line {
  text: string;
  /** Whether a part of what an agent or a person wrote is missing. */
  isCut: boolean;
}

interface Parts {
  headline: string;
  request: Line[];
  outcome: Line[];
  closing: Block[];
  /** Lines that only the text without blocks has, because the closing blocks say them too. */
  spoken: string[];
}

function compose({ headline, request, outcome, closing, spoken }: Parts): SlackMessage {
  const lines = [...request, ...outcome].map(({ text }) => text);
  return {
    text: escapeText([headline, ...lines, ...spoken].join('\n')),
    blocks: [header(headline), ...lineBlocks(request), ...lineBlocks(outcome), ...closing],
  };
}

/** Lines as a section, with a note if one of them was cut. */
function lineBlocks(lines: Line[]): Block[] {
  if (lines.length === 0) return [];
  const whole = section(lines.map(({ text }) => text).join('\n'));
  if (!lines.some((line) => line.isCut)) return [whole];
  return [whole, context('Open it in Countersign to read what is cut here.')];
}

/**
 * The request of an agent: first how much and on what. Each line has one text of the agent.
 * @param shorten shortens a text to a size; the default puts an ellipsis in place of the rest
 */
export function requestLines(
  { agentName, permission }: Pick<PermissionMessage, 'agentName' | 'permission'>,
  shorten: (text: string, max: number) => string = cut,
): Line[] {
  const { action, resource, title } = permission;
  const line = (label: string, text: string, max = MAX_WRITTEN) =>
    writtenLine(label, text, (whole) => shorten(whole, max));
  const amount = amountOf(permission);
  const lines = [
    ...(amount === null ? [] : [line('Amount', amount)]),
    line('Resource', resource, MAX_RESOURCE),
    line('Action', action),
    line('Agent', agentName),
  ];
  if (title !== null) lines.push(line("In the agent's words", title));
  return lines;
}

function writtenLine(
  label: string,
  text: string,
  shorten = (whole: string) => cut(whole, MAX_WRITTEN),
): Line {
  const whole = inLine(text);
  const shown = shorten(whole);
  return { text: `${label}: ${withScriptsMark(shown)}`, isCut: shown !== whole };
}

function ownLine(text: string): Line {
  return { text, isCut: false };
}

function headlineOf({ event }: PermissionMessage): string {
  if (event === 'permission.escalated') return 'Permission requested, now escalated';
  return 'Permission requested';
}

function settledHeadline({ event, permission }: PermissionMessage): string {
  if (event === 'permission.outcome_missing') return 'Outcome unknown';
  if (permission.status === 'approved') return 'Permission approved';
  if (permission.status === 'denied') return 'Permission denied';
  return isWithdrawn(permission) ? 'Request withdrawn' : 'Request expired';
}

const DECIDED_BY = { approved: 'Approved by', denied: 'Denied by' };

function outcomeLines(
  { event, permission, decidedBy }: PermissionMessage,
  via: DecisionSource | null,
): Line[] {
  const { status, decided_at, decision_reason, expires_at, updated_at } = permission;
  if (status === 'pending') throw new Error(`${permission.id} is not settled`);
  if (status === 'expired') {
    const how = isWithdrawn(permission)
      ? `The request was withdrawn on ${utcText(updated_at)}.`
      : `Nobody decided by ${utcText(expires_at)}.`;
    return [ownLine(`${how} The agent may not do it.`)];
  }
  const lines: Line[] = [];
  if (event === 'permission.outcome_missing') lines.push(ownLine(MISSING_OUTCOME));
  if (decidedBy !== null) lines.push(writtenLine(DECIDED_BY[status], decidedBy));
  if (decided_at !== null) lines.push(ownLine(`When: ${utcText(decided_at)}`));
  if (via !== null) lines.push(ownLine(`Through: ${VIA[via]}`));
  if (decision_reason !== null) lines.push(writtenLine('Reason', decision_reason));
  return lines;
}

function decideButton(id: string): Button {
  return {
    type: 'button',
    action_id: DECIDE_ACTION,
    text: plain('Review'),
    value: id,
    style: 'primary',
  };
}

/** A short message with a link. */
export function notice(text: string, url: string, label?: string): SlackMessage {
  return {
    text: escapeText(text),
    blocks: [section(text), actions(linkButton(url, label))],
  };
}

export function linkButton(url: string, text = 'Open in Countersign'): Button {
  return { type: 'button', action_id: OPEN_ACTION, text: plain(text), url };
}

import { equalJson, type JsonObject } from '../../../lib/json';
import { utcText } from '../../../lib/time';
import { amountOf } from '../../../permissions/amount';
import { limitTexts } from '../../../permissions/limit-texts';
import { shortPathLabel } from '../../../permissions/path-label';
import { isWithdrawn, type Permission } from '../../../permissions/permission';
import { isOutcomeMissing, wordsOf } from '../event-words';
import { MISSING_OUTCOME, type PermissionMessage } from '../message';
import type { Block, Fact } from './document';
import type { Mail, MailRecipient } from './mail';
import { renderMail } from './render';
import { count, deadlineText } from './time-text';
import {
  MAX_LINE,
  MAX_TEXT,
  quoteForSubject,
  writtenLabel,
  writtenLine,
  writtenLines,
} from './written';

const MAX_RESOURCE = 500;

const MAX_LIMITS = 15;

const MAX_LIMIT_NAME = 60;

const MAX_LIMIT_VALUE = 100;

export const SIGN_IN = 'The link asks you to sign in; without that it shows nothing.';

/**
 * Composes the mail to a person about a permission: who asks for what and why, the limits, until
 * when it can be decided or how it ended, and a link to its card. It never has the input, nor
 * anything of the preview but its title.
 * @param now when the message was made, in milliseconds since the epoch. Every attempt to send it
 *   must pass the same time: a mail provider refuses another body with the same idempotency key.
 */
export function composePermissionMail(
  message: PermissionMessage,
  to: MailRecipient,
  now: number,
): Mail {
  const { permission, agentName, url } = message;
  const { title, reason, status } = permission;
  const { heading, label } = wordsOf(message);
  const what = quoteForSubject(amountOf(permission) ?? permission.action, 36);
  const resource = quoteForSubject(permission.resource, 36);
  const blocks: Block[] = [
    ...endOf(message),
    { kind: 'facts', rows: requestFacts(message, now) },
    limitsBlock(permission),
  ];
  if (title !== null) {
    blocks.push({
      kind: 'quote',
      label: 'Agent says',
      lines: [writtenLine(title, MAX_LINE).written],
    });
  }
  if (reason) {
    blocks.push({
      kind: 'quote',
      label: 'Why, in the agent’s own words',
      lines: writtenLines(reason, MAX_TEXT),
    });
  }
  return renderMail(
    {
      subject: `${label}: ${what} on ${resource}, asked by ${quoteForSubject(agentName, 24)}`,
      heading,
      blocks,
      link: { label: status === 'pending' ? 'Review the request' : 'Open the request', url },
      note: `${SIGN_IN} A reply to this mail decides nothing.`,
    },
    to,
  );
}

const EFFECTS = {
  approved: 'The agent may do it, within the limits below.',
  denied: 'The agent may not do it.',
};

/**
 * How a request ended, or what is not known of its outcome, and by whose decision; nothing while it
 * waits.
 */
function endOf(message: PermissionMessage): Block[] {
  const { permission, decidedBy } = message;
  const { status, decided_at, decision_reason, updated_at, expires_at } = permission;
  if (status === 'pending') return [];
  if (status === 'expired') {
    const text = isWithdrawn(permission)
      ? `The request was withdrawn on ${utcText(updated_at)}.`
      : `Nobody decided by ${utcText(expires_at)}.`;
    return [{ kind: 'paragraph', text: `${text} The agent may not do it.` }];
  }
  const rows: Fact[] = [];
  if (decidedBy !== null)
    rows.push({ label: 'Decided by', value: [writtenLine(decidedBy, MAX_LINE)] });
  if (decided_at !== null) rows.push({ label: 'Decided', value: [utcText(decided_at)] });
  const text = isOutcomeMissing(message) ? MISSING_OUTCOME : EFFECTS[status];
  const blocks: Block[] = [{ kind: 'paragraph', text }];
  if (rows.length > 0) blocks.push({ kind: 'facts', rows });
  if (decision_reason) {
    blocks.push({
      kind: 'quote',
      label: 'Reason of the decision',
      lines: writtenLines(decision_reason, MAX_TEXT),
    });
  }
  return blocks;
}

/**
 * Who asks for what, and while it waits, until when it can be decided and how many approvals it
 * needs.
 */
function requestFacts({ permission, agentName }: PermissionMessage, now: number): Fact[] {
  const { action, resource, status, expires_at, review } = permission;
  const rows: Fact[] = [
    { label: 'Agent', value: [writtenLine(agentName, MAX_LINE)] },
    { label: 'Action', value: [writtenLine(action, MAX_LINE)] },
    { label: 'Resource', value: [writtenLine(resource, MAX_RESOURCE)] },
  ];
  if (status !== 'pending') return rows;
  rows.push({ label: 'Decide by', value: [deadlineText(expires_at, now)] });
  // Not how many there are: a mail may be sent long after the event that it is about.
  if (review && review.approvals_required > 1) {
    rows.push({
      label: 'Review',
      value: [`needs ${count(review.approvals_required, 'approval')}`],
    });
  }
  return rows;
}

/**
 * The limits that were granted, or those that the next approval would grant, beside those that the
 * agent requested.
 */
function limitsBlock({ status, scope, granted_scope, review }: Permission): Block {
  const proposal = status === 'pending' ? review?.proposal?.scope : undefined;
  const current: JsonObject = granted_scope ?? proposal ?? scope;
  const rows = limitRows(scope, current);
  const more = rows.length - MAX_LIMITS;
  return {
    kind: 'facts',
    title: granted_scope ? 'Limits granted' : 'Limits that the agent named',
    hint: limitsHint(status, {
      hasLimits: rows.length > 0,
      isNarrowed: !equalJson(current, scope),
    }),
    rows: rows.slice(0, MAX_LIMITS),
    more: more > 0 ? `${count(more, 'more limit')}: see the request.` : undefined,
  };
}

/** Says how the limits of a request bind in its state. */
function limitsHint(
  status: Permission['status'],
  { hasLimits, isNarrowed }: { hasLimits: boolean; isNarrowed: boolean },
): string {
  if (!hasLimits) return NO_LIMITS_HINTS[status];
  if (status === 'approved') return 'The agent may do no more than this.';
  if (status !== 'pending') return 'The agent asked for this. Nothing was granted.';
  const hint = 'If you approve, the agent may do no more than this.';
  if (isNarrowed) return `As the votes so far have left them. ${hint}`;
  return hint;
}

const NO_LIMITS_HINTS: Record<Permission['status'], string> = {
  pending:
    'The agent names no limits: an approval allows this action on this resource in any form.',
  approved: 'There are no limits.',
  denied: 'Nothing was granted.',
  expired: 'Nothing was granted.',
};

function limitRows(requested: JsonObject, current: JsonObject): Fact[] {
  const before = new Map(limitTexts(requested));
  const after = new Map(limitTexts(current));
  return [...new Set([...before.keys(), ...after.keys()])].map((label, index) => {
    const old = before.get(label) ?? '–';
    const value = after.get(label) ?? '–';
    const row: Fact = {
      label: writtenLabel(shortPathLabel(label, index + 1, MAX_LIMIT_NAME)),
      value: [writtenLine(value, MAX_LIMIT_VALUE)],
    };
    if (old !== value) row.before = [writtenLine(old, MAX_LIMIT_VALUE)];
    return row;
  });
}

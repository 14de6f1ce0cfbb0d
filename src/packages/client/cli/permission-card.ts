import type { Outcome, Permission, Preview } from '../api.ts';
import type { Names } from './names.ts';
import { describeSeries, describeUsage } from './series/describe-series.ts';
import { distinctJson, escapeLines, printableJson } from './terminal/escape.ts';
import { type Fact, formatFacts } from './terminal/facts.ts';
import { withScriptsMark } from './terminal/scripts.ts';
import type { Style } from './terminal/style.ts';
import { formatTime, formatTimeLeft } from './terminal/time.ts';
import { wrapText } from './terminal/width.ts';

type Token = NonNullable<Permission['token']>;

/** The options of a card. */
interface CardOptions {
  width: number;
  style: Style;
  /** The address of the service, for the link to the console. */
  baseUrl: string;
  now: number;
  names: Names;
}

/**
 * Formats a request for the person who decides. What the service knows comes first, then the
 * arguments of the act. What the agent wrote about it follows, labelled as its words and behind a
 * bar, so that it cannot look like the rest.
 */
export function formatPermission(permission: Permission, options: CardOptions): string[] {
  const { width, style, baseUrl, now, names } = options;
  const { status, expires_at, review, token, outcome } = permission;
  let expiry = `${formatTime(expires_at)}`;
  if (status === 'pending') expiry += ` (${formatTimeLeft(expires_at, now)} left)`;
  const facts: Fact[] = [
    ['Request', permission.id],
    ['Agent', names.withId(permission.agent_id)],
    ['Action', permission.action],
    ['Resource', permission.resource],
    ['Limits', formatLimits(permission.scope)],
    ['Proposed', review?.proposal && formatLimits(review.proposal.scope)],
    ['Granted', permission.granted_scope && formatLimits(permission.granted_scope)],
    ['Series', permission.series && `asks for ${describeSeries(permission.series)}`],
    ['Proposed', review?.proposal?.series && describeSeries(review.proposal.series)],
    ['Given', permission.granted_series && describeSeries(permission.granted_series)],
    ['So far', describeUsage(permission)],
    ['Status', status],
    ['Asked at', formatTime(permission.created_at)],
    ['Expires at', expiry],
    ['Approvals', review && `${countApprovals(permission)} of ${review.approvals_required}`],
    ['Decided by', permission.decided_by && names.withId(permission.decided_by)],
    ['Decided at', formatTime(permission.decided_at)],
    ['Reason', permission.decision_reason],
    ['Token', token && describeToken(token)],
    ['Outcome', outcome && describeOutcome(outcome)],
    ['Console', `${baseUrl}/console/permissions/${permission.id}`],
  ];
  for (const { decision, name, by, reason } of review?.votes ?? []) {
    const vote = `${decision} by ${name ?? by}`;
    facts.push(['Vote', [vote, reason].filter(Boolean).join(': ')]);
  }
  const lines = formatFacts(facts, width, style.dim);
  // Only the answer for a single request has its arguments.
  if (permission.input !== undefined) {
    lines.push('', style.bold(inputTitle(permission)));
    if (permission.input !== null)
      lines.push(...quote(printableJson(permission.input, 2).split('\n'), width));
  }
  const told = agentWords(permission);
  if (told.length > 0) {
    const isOfConnection = permission.connection_id !== null;
    const title = isOfConnection ? 'What Countersign will send' : 'In the words of the agent';
    lines.push('', style.bold(title));
    lines.push(...quote(told, width));
  }
  return lines;
}

/** The limits of a request in one line, for a table. */
export function formatLimits(scope: object): string {
  if (Object.keys(scope).length === 0) return 'none';
  return distinctJson(scope);
}

function describeToken({ status, uses, max_uses, expires_at }: Token): string {
  return `${status}, ${uses} of ${max_uses} uses, until ${formatTime(expires_at)}`;
}

function describeOutcome({ status, reported_at }: Outcome): string {
  if (reported_at === null) return `${status}, not reported`;
  return `${status}, as the program reported at ${formatTime(reported_at)}`;
}

/** How many people have approved so far. */
function countApprovals({ review }: Permission): number {
  return review?.votes?.filter(({ decision }) => decision === 'approve').length ?? 0;
}

/**
 * Puts escaped lines behind a bar, which no text of theirs can leave. Marks those in which words
 * mix scripts.
 */
function quote(lines: string[], width: number): string[] {
  const room = Math.max(20, width - 4);
  return lines.flatMap((line) =>
    wrapText(withScriptsMark(line), room).map((part) => `  │ ${part}`),
  );
}

function inputTitle({ input, input_digest }: Permission): string {
  if (input !== null) return 'Arguments of the act';
  if (!input_digest) return 'Arguments of the act: none';
  return `Arguments of the act: not shown, only their digest ${input_digest}`;
}

/** Returns the agent's own words as escaped lines. */
function agentWords({ reason, preview, external_id, outcome }: Permission): string[] {
  const words: string[] = [];
  if (reason) words.push('Reason', ...indent(reason));
  if (preview) words.push(...previewLines(preview));
  if (external_id)
    words.push(`Its own name for the request: ${escapeLines(external_id).join(' ')}`);
  if (outcome?.summary) words.push('What happened', ...indent(outcome.summary));
  return words;
}

function previewLines({ title, summary, fields = [], blocks = [] }: Preview): string[] {
  const lines = ['Title', ...indent(title)];
  if (summary) lines.push('Summary', ...indent(summary));
  for (const { label, value } of fields) lines.push(...escapeLines(label), ...indent(value));
  for (const block of blocks)
    lines.push(...escapeLines(block.title ?? 'Text'), ...indent(block.text));
  return lines;
}

function indent(text: string): string[] {
  return escapeLines(text).map((line) => `  ${line}`);
}

import { formatCount, type Report } from './core/findings.ts';
import { isJsonObject, type Json, type JsonObject } from './core/json.ts';
import type { Receipt, ReceiptEntry } from './receipt.ts';

/** Longer values are cut in sentences. */
const MAX_LENGTH = 2_000;
/** If there are more uses, only their number and the last one are told. */
const MAX_TOLD_USES = 10;

/** How a person decided. */
const WAYS: Record<string, string> = {
  api: 'by the API',
  console: 'in the console',
  slack: 'in Slack',
};

/** Adds sentences to a report that tell what a receipt shows, and what it does not. */
export function addStory(report: Report, receipt: Receipt): void {
  const { own, series, isComplete } = receipt;
  if (series.length > 0)
    report.proven.push(
      'The first request of the series:',
      ...series.flatMap(tellEntry),
      'This one:',
    );
  const uses = own.filter(({ event }) => event === 'use');
  for (const entry of own) {
    if (entry.event === 'use' && uses.length > MAX_TOLD_USES) {
      if (entry === uses.at(-1))
        report.proven.push(
          `${entry.time}: its token was used for the last time of ${formatCount(uses.length, 'time')} that the receipt holds.`,
        );
      continue;
    }
    report.proven.push(...tellEntry(entry));
    if (entry.event === 'request') report.proven.push(...tellContents(receipt, entry));
  }
  if (own.some(({ event }) => event === 'approve'))
    report.limits.push(
      'Whether the act happened: the log says that it was allowed, and when its token was used.',
    );
  report.limits.push(
    isComplete
      ? 'Whether the permission has more entries: only the service says that these are all.'
      : 'Everything that happened: the service says that the receipt does not hold all entries.',
    'Who the agent and the members are: the log has their ids. When it was: the clock of the service says so.',
  );
}

/** Tells in sentences what an entry says. */
function tellEntry({ event, time, agent, details, entry }: ReceiptEntry): string[] {
  const by = nameOf(details.decided_by);
  const because = details.decision_reason ? `, because ${quote(details.decision_reason)}` : '';
  switch (event) {
    case 'request':
      return [
        `${time}: ${agent} asked for ${details.action} on ${quote(details.resource)}${within(details)}${from(entry)}.`,
      ];
    case 'approve':
    case 'deny':
      return [`${time}: ${tellDecision(event, details)}${because}.`, ...tellVotes(details)];
    case 'use':
      return [`${time}: its token was used${from(entry)}.`];
    case 'revoke':
      return [`${time}: ${by} revoked its token${because}.`];
    case 'expire':
      return [`${time}: ${tellExpiry(details)}.`, ...tellVotes(details)];
    default:
      return [`${time}: ${event}.`];
  }
}

function tellDecision(event: 'approve' | 'deny', details: JsonObject): string {
  const did = event === 'approve' ? 'approved' : 'denied';
  const limits = event === 'approve' ? within(details) : '';
  const { decided_by: by, decided_via: via, votes, series } = details;
  if (via === 'policy') return `the policy ${nameOf(by)} ${did} it${limits}`;
  if (isJsonObject(series)) {
    const givers = Array.isArray(series.given_by) ? series.given_by.map(nameOf).join(', ') : '';
    return `it was ${did} as one of the series that ${givers} gave with ${nameOf(series.permission_id)}${limits}`;
  }
  const how = WAYS[String(via)] ?? '';
  if (event === 'approve' && Array.isArray(votes) && votes.length > 1)
    return `it was approved by ${votes.length} votes${limits}`;
  return `${nameOf(by)} ${did} it ${how}${limits}`.replaceAll(/ +/g, ' ');
}

/** The votes, if there are several or one is signed. */
function tellVotes({ votes }: JsonObject): string[] {
  if (!Array.isArray(votes)) return [];
  return votes.filter(isJsonObject).map(({ by, decision, at, via, signature }) => {
    const did = decision === 'approve' ? 'approved' : 'denied';
    const how = WAYS[String(via)] ?? '';
    const signed = signature ? ', with a signature' : '';
    return `  vote: ${nameOf(by)} ${did} ${how}${signed}, ${at}.`;
  });
}

function tellExpiry({ expired }: JsonObject): string {
  switch (expired) {
    case 'token':
      return 'its token expired without a use';
    case 'withdrawn':
      return 'the request was withdrawn';
    default:
      return 'it expired, because nobody decided in time';
  }
}

/** Tells which parts of the arguments and the preview the receipt has, and which it lacks. */
function tellContents({ input, preview }: Receipt, { details }: ReceiptEntry): string[] {
  const sentences: string[] = [];
  if (input !== null || details.input_digest === DIGEST_OF_NULL)
    sentences.push(`  Its arguments, exactly as requested: ${shorten(JSON.stringify(input))}`);
  else if (details.input_digest)
    sentences.push(
      `  Its arguments are not in the receipt. Their digest is ${details.input_digest}.`,
    );
  if (preview !== null)
    sentences.push(
      `  What the agent wrote for who decides, in its own words: ${shorten(JSON.stringify(preview))}`,
    );
  else if (details.preview_digest)
    sentences.push('  What the agent wrote for who decides is not in the receipt.');
  return sentences;
}

/** The digest of the arguments `null`. */
const DIGEST_OF_NULL = 'sha-256:dCNOmK_nSY-12vHzasLXiswzlGT5UHA7jAGYkvmCuQs';

function within({ scope }: JsonObject): string {
  const hasLimits = isJsonObject(scope) && Object.keys(scope).length > 0;
  return hasLimits ? ` within ${shorten(JSON.stringify(scope))}` : '';
}

function from({ ip_address: address }: JsonObject): string {
  return address ? `, from ${address}` : '';
}

function nameOf(id: Json | undefined): string {
  if (typeof id !== 'string') return 'somebody';
  return id.startsWith('user_') ? `a token of the account ${id}` : id;
}

/** A text in quotes that it cannot end, so that it never reads as a part of the sentence. */
function quote(text: Json | undefined): string {
  return shorten(JSON.stringify(text ?? null));
}

function shorten(text: string): string {
  if (text.length <= MAX_LENGTH) return text;
  return `${text.slice(0, MAX_LENGTH)}… (${text.length.toLocaleString('en')} characters)`;
}

import { canonicalJson, isJsonObject, type Json, type JsonObject } from './json.ts';
import { isSeriesWithin } from './series.ts';
import { readVote, type Vote } from './vote.ts';

/** The permission as the entry of its request describes it. */
export interface RequestedPermission {
  agent: Json;
  details: JsonObject;
}

/** The end of a request, from its `approve`, `deny` or `expire` entry. */
export interface Settlement {
  event: 'approve' | 'deny' | 'expire';
  entry: JsonObject;
  details: JsonObject;
  votes: Vote[];
}

/**
 * A vote that contradicts its entry, its request or its signature. The message is the rest of a
 * sentence about it.
 */
export class WrongVote extends Error {
  /** The place of the vote in its entry, from 0. */
  readonly index: number;
  readonly evidence: Record<string, string | null>;

  constructor(index: number, message: string, evidence: Record<string, string | null> = {}) {
    super(message);
    this.index = index;
    this.evidence = evidence;
  }
}

/**
 * An approval with fewer votes than the review of its request asks for. The message is the rest of
 * a sentence about it.
 */
export class MissingVotes extends Error {}

/** Whether an event type can end a request. */
export function isSettling(event: Json | undefined): event is Settlement['event'] {
  return event === 'approve' || event === 'deny' || event === 'expire';
}

/**
 * Reads the votes of a settling entry.
 * @returns null if it has none: a policy or the account's own token decided, nobody signed, or a
 *   token expired
 * @throws WrongVote if a vote is malformed
 */
export function readSettlement(entry: JsonObject): Settlement | null {
  const { event_type: event, details } = entry;
  if (!isSettling(event) || !isJsonObject(details) || details.votes === undefined) return null;
  if (!Array.isArray(details.votes)) throw new WrongVote(0, 'the votes are not a list');
  const votes = details.votes.map((value, index) => {
    try {
      return readVote(value);
    } catch (error) {
      throw error instanceof SyntaxError ? new WrongVote(index, error.message) : error;
    }
  });
  if (votes.length === 0 && event !== 'expire')
    throw new WrongVote(0, 'the entry of a decision has no votes');
  return { event, entry, details, votes };
}

/**
 * The scope of each vote: a vote without one has that of the vote before, and the first one that of
 * the request.
 * @param request null if it is not known
 * @returns null for votes whose scope only the unknown request has
 */
export function resolveScopes(
  { event, details, votes }: Settlement,
  request: RequestedPermission | null,
): (JsonObject | null)[] {
  // An approval without narrower votes grants what was requested. The other entries repeat the
  // requested scope.
  const repeatsRequest = event !== 'approve' || votes.every(({ scope }) => scope === null);
  const repeated = repeatsRequest ? details.scope : null;
  const requested = request ? request.details.scope : repeated;
  let last = isJsonObject(requested) ? requested : null;
  return votes.map(({ scope }) => {
    last = scope ?? last;
    return last;
  });
}

/**
 * Checks that the votes agree with each other, with the rest of their entry, and with the request
 * if it is known.
 * @param scopes the scopes of the votes
 * @throws WrongVote
 */
export function checkVotes(
  settlement: Settlement,
  scopes: (JsonObject | null)[],
  request: RequestedPermission | null,
): void {
  checkOrder(settlement);
  checkDecision(settlement, scopes);
  if (request) checkRequest(settlement, request);
}

/**
 * Nobody approves twice, only the last vote denies, and no approval has higher limits than the one
 * before.
 */
function checkOrder({ event, votes }: Settlement): void {
  const approvers = new Set<string>();
  for (const [index, { by, decision, tokenTtl, maxUses, series }] of votes.entries()) {
    if (decision === 'deny') {
      if (event !== 'deny' || index < votes.length - 1)
        throw new WrongVote(index, 'it denies, but did not end the request');
      continue;
    }
    if (approvers.has(by)) throw new WrongVote(index, 'the member approved before');
    approvers.add(by);
    const before = votes[index - 1];
    if (before && (tokenTtl > before.tokenTtl || maxUses > before.maxUses)) {
      throw new WrongVote(index, 'it has higher limits than the vote before');
    }
    if (before && !isSeriesWithin(series, before.series))
      throw new WrongVote(index, 'it gives a longer series than the vote before');
  }
}

/** The entry of a decision repeats what its last vote says. */
function checkDecision({ event, details, votes }: Settlement, scopes: (JsonObject | null)[]): void {
  const index = votes.length - 1;
  const vote = votes[index];
  if (event === 'expire' || !vote) return;
  const expected: Record<string, Json> = {
    event_type: vote.decision,
    decided_by: vote.by,
    decision_reason: vote.reason,
    decided_via: vote.via,
    scope: scopes[index] ?? null,
    granted_series: vote.series && { ...vote.series },
  };
  const found: JsonObject = { ...details, event_type: event };
  for (const [name, value] of Object.entries(expected)) {
    if (!isSame(found[name], value)) throw contradiction(index, name, 'vote', [found[name], value]);
  }
  if (!isJsonObject(details.scope)) throw new WrongVote(index, 'its entry has no scope');
  for (const name of ['input_digest', 'preview_digest']) {
    const digest = details[name];
    if (typeof digest !== 'string' && digest !== null)
      throw new WrongVote(index, `its entry has no ${name}`);
  }
}

/** The entry repeats what the request says; an approval may have a narrower scope. */
function checkRequest(
  { event, entry, details, votes }: Settlement,
  request: RequestedPermission,
): void {
  const index = votes.length - 1;
  if (index < 0) return;
  const repeated = [
    'action',
    'resource',
    'input_digest',
    'preview_digest',
    ...(event === 'approve' ? [] : ['scope']),
  ];
  for (const name of repeated) {
    // An expiry repeats no digests.
    if (event === 'expire' && details[name] === undefined) continue;
    const [found, value] = [details[name], request.details[name]];
    if (!isSame(found, value)) throw contradiction(index, name, 'request', [found, value]);
  }
  if (entry.agent_id !== request.agent) {
    throw contradiction(index, 'agent_id', 'request', [entry.agent_id, request.agent]);
  }
}

/**
 * Checks that an approval has as many votes as the review of its request asks for, signed ones
 * where it asks for passkeys.
 * @param votes of different members (see {@link checkVotes})
 * @returns whether a review policy routed the request
 * @throws MissingVotes
 */
export function checkReview(
  votes: readonly Vote[],
  { details: { review } }: RequestedPermission,
): boolean {
  if (review === undefined) return false;
  const { approvals, passkey } = isJsonObject(review) ? review : {};
  if (typeof approvals !== 'number' || typeof passkey !== 'boolean') {
    throw new MissingVotes('the review that its request asks for is malformed');
  }
  const approved = votes.filter(({ decision }) => decision === 'approve');
  const found = passkey ? approved.filter(({ signature }) => signature !== null) : approved;
  if (found.length >= approvals) return true;
  const kind = passkey ? 'approvals signed with a passkey' : 'approvals';
  throw new MissingVotes(`its request asked for ${approvals} ${kind}, and it has ${found.length}`);
}

function contradiction(
  index: number,
  name: string,
  other: 'vote' | 'request',
  [found, expected]: [Json | undefined, Json | undefined],
): WrongVote {
  return new WrongVote(index, `the ${name} of its entry is not that of the ${other}`, {
    found: shorten(found),
    expected: shorten(expected),
  });
}

/** Compares JSON values; a missing one is as null. Values without canonical JSON equal no other. */
function isSame(one: Json | undefined, other: Json | undefined): boolean {
  try {
    return canonicalJson(one ?? null) === canonicalJson(other ?? null);
  } catch {
    return false;
  }
}

function shorten(value: Json | undefined): string {
  return JSON.stringify(value ?? null).slice(0, 200);
}

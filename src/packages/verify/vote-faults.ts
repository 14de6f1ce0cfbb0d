import type { AssertionFault } from './core/assertion.ts';
import { entryFault, type Fault, formatCount } from './core/findings.ts';
import { isJsonObject, type JsonObject } from './core/json.ts';
import type { WrongSeries } from './core/series.ts';
import type { MissingVotes, WrongVote } from './core/settlement.ts';

/** An entry with its place in the log. */
export interface PlacedEntry {
  sequence: number;
  id: string;
  entry: JsonObject;
}

/** The fault of an assertion, as the rest of a sentence about the signature. */
export const ASSERTION_FAULTS: Record<AssertionFault, string> = {
  type: 'is not one of webauthn.get',
  challenge: 'is of another decision than the one in the log',
  origin: 'was made at another origin',
  frame: 'was made in a frame of another site',
  truncated: 'has truncated authenticator data',
  host: 'was made for another host',
  presence: 'was made without a person present',
  verification: 'was made without verifying the person',
  backup: 'has inconsistent backup flags',
  signature: 'was not made by the pinned key',
};

export function describeMissingVotes(
  { message }: MissingVotes,
  { sequence, id, entry }: PlacedEntry,
): Fault {
  const permission = String(entry.permission_request_id);
  return entryFault('vote', `lacks votes on ${permission}: ${message}`, {
    sequence,
    id,
    evidence: { permission },
  });
}

export function describeWrongSeries(
  { message }: WrongSeries,
  { sequence, id, entry }: PlacedEntry,
): Fault {
  const permission = String(entry.permission_request_id);
  return entryFault('series', `has a wrong approval by a series, of ${permission}: ${message}`, {
    sequence,
    id,
    evidence: { permission },
  });
}

export function describeWrongVote(
  { index, message, evidence }: WrongVote,
  { sequence, id, entry }: PlacedEntry,
): Fault {
  const permission = String(entry.permission_request_id);
  const { votes } = entry.details as JsonObject;
  const vote = Array.isArray(votes) ? votes[index] : null;
  const member = isJsonObject(vote) && typeof vote.by === 'string' ? vote.by : null;
  const who = member === null ? '' : ` by ${member}`;
  return entryFault(
    'vote',
    `has a wrong vote, vote ${index + 1}${who} on ${permission}: ${message}`,
    {
      sequence,
      id,
      evidence: { permission, vote: index + 1, member, ...evidence },
    },
  );
}

export function formatMembers(counts: Map<string, number>): string {
  return [...counts].map(([member, votes]) => `${member} (${votes})`).join(', ');
}

export function formatVotes(votes: number): string {
  return formatCount(votes, 'vote');
}

import type {
  DECISION_SOURCES,
  EventType,
  ReviewRule,
  SeriesTerms,
  VOTE_DECISIONS,
  VoteSignature,
} from '../db/schema';
import type { Runtime } from '../env';
import type { JsonObject } from '../lib/json';
import type { Id } from '../lib/typeid';
import { ENTRY_RANDOM_LENGTH } from './entry-id';

/** The origin of the request that caused an event. */
export interface Origin {
  /** Empty for events that the service itself causes. */
  ipAddress: string;
  userAgent: string;
}

/** The origin of events that no request caused, such as an expiry. */
export const SERVICE_ORIGIN: Origin = { ipAddress: '', userAgent: 'countersign' };

/**
 * The details of an audit entry. A nullable field that does not apply is null, an optional one is
 * absent.
 */
export interface EntryDetails {
  action: string;
  resource: string;
  scope: JsonObject | null;
  decided_by: string | null;
  decision_reason: string | null;
  policy_id: string | null;
  /**
   * How a decision or a revocation came; absent from entries of other events, and from older ones.
   */
  decided_via?: (typeof DECISION_SOURCES)[number] | 'policy' | 'series';
  /** In the entries of a request and of its decision. */
  input_digest?: string | null;
  preview_digest?: string | null;
  token_id?: Id<'token'>;
  expired?: 'request' | 'token' | 'withdrawn';
  /** In the entry of a request that a review policy routed: who has to approve it, and how. */
  review?: ReviewRule;
  /** In the entry that ends a request, if a review policy routed it or a decision was signed. */
  votes?: EntryVote[];
  /**
   * The policy that routed the request to reviewers: in the entries of the request and of its end.
   */
  review_policy_id?: Id<'policy'>;
  /** In the entry of an approval that gave a series: the series. */
  granted_series?: SeriesTerms;
  /** In the entry of an approval by a series: its first permission, and the people who gave it. */
  series?: { permission_id: Id<'perm'>; given_by: Id<'member'>[] };
}

/** A vote in the details of the entry that ends a request. */
export interface EntryVote {
  by: Id<'member'>;
  decision: (typeof VOTE_DECISIONS)[number];
  /** Absent if it is the scope of the vote before or, for the first vote, of the request. */
  scope?: JsonObject;
  token_ttl: number;
  max_uses: number;
  series?: SeriesTerms;
  reason: string | null;
  via: (typeof DECISION_SOURCES)[number];
  signed: boolean;
  at: string;
  signature?: VoteSignature;
}

/**
 * An audit entry to be written. The ledger assigns its sequence number, from which with its time
 * its id follows, and may write a later time.
 */
export interface Entry {
  /** Its salt, and the random part of its id: see `entry-id.ts`. */
  random: Uint8Array;
  /** Milliseconds since the epoch. */
  at: number;
  event: EventType;
  /** The number of the account. */
  account: number;
  /**
   * The number of the agent. Null for an entry about a permission that was not read: the ledger
   * takes the agent, and the `policy_id` of the details, from the permission.
   */
  agent: number | null;
  permission: Id<'perm'>;
  details: EntryDetails;
  origin: Origin;
}

/** Makes an entry from an event: adds the random bytes. */
export function draftEntry(runtime: Runtime, event: Omit<Entry, 'random'>): Entry {
  return { ...event, random: runtime.random(ENTRY_RANDOM_LENGTH) };
}

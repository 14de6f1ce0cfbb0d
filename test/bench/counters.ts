import { EVENTS, type History } from './history.ts';

/** The counters of an agent's requests and tokens. */
export interface Counters {
  requests: number;
  approved: number;
  denied: number;
  expired: number;
  approvalTime: number;
  tokensIssued: number;
  tokensUsed: number;
  tokensRevoked: number;
}

/** One agent's counters by unit of time: days or hours since the epoch. */
export type Buckets = Map<number, Counters>;

/**
 * Counts a history by agent. Requests and their outcomes count in the bucket of the request, tokens
 * in the buckets in which they were issued, first used and revoked.
 * @param length of a bucket, in milliseconds
 * @param first the first bucket that counts
 */
export function countHistory(
  history: History,
  length: number,
  first: number,
): Map<number, Buckets> {
  const agents = new Map<number, Buckets>();
  const bucketOf = (agent: number, time: number): Counters | null => {
    const bucket = Math.floor(time / length);
    if (bucket < first) return null;
    const buckets = agents.get(agent) ?? new Map();
    agents.set(agent, buckets);
    const counters = buckets.get(bucket) ?? noCounters();
    buckets.set(bucket, counters);
    return counters;
  };
  const used = new Uint8Array(history.agent.length);
  const approved = new Uint8Array(history.agent.length);
  for (let at = 0; at < history.time.length; at++) {
    const permission = history.permission[at] as number;
    const agent = history.agent[permission] as number;
    const time = history.time[at] as number;
    const requestedAt = history.requestedAt[permission] as number;
    const ofRequest = bucketOf(agent, requestedAt);
    const ofEvent = bucketOf(agent, time);
    const event = EVENTS[history.event[at] as number];
    if (event === 'approve') approved[permission] = 1;
    if (ofRequest && event === 'request') ofRequest.requests += 1;
    if (ofRequest && event === 'deny') ofRequest.denied += 1;
    if (ofRequest && event === 'expire' && !approved[permission]) ofRequest.expired += 1;
    if (ofRequest && event === 'approve') {
      ofRequest.approved += 1;
      ofRequest.approvalTime += time - requestedAt;
    }
    if (ofEvent && event === 'approve') ofEvent.tokensIssued += 1;
    if (ofEvent && event === 'revoke') ofEvent.tokensRevoked += 1;
    if (ofEvent && event === 'use' && !used[permission]) ofEvent.tokensUsed += 1;
    if (event === 'use') used[permission] = 1;
  }
  return agents;
}

function noCounters(): Counters {
  return {
    ...{ requests: 0, approved: 0, denied: 0, expired: 0, approvalTime: 0 },
    ...{ tokensIssued: 0, tokensUsed: 0, tokensRevoked: 0 },
  };
}

import type { series } from '../../db/schema';
import { equalJson, isJsonObject, type Json, type JsonObject, ownValue } from '../../lib/json';
import type { Id } from '../../lib/typeid';
import { findWidenings } from '../find-widenings';

/** The acts that a series approves: see {@link covers}. */
type CoveredActs = Pick<
  typeof series.$inferSelect,
  'action' | 'resource' | 'scope' | 'varies' | 'policyId' | 'policyUpdatedAt' | 'connectionId'
>;

/** The part of a request that decides whether it belongs to a series. */
export interface SeriesCandidate {
  action: string;
  resource: string;
  scope: JsonObject;
  max_uses: number;
  /** The connection that makes the request; null if the agent asks itself. */
  connectionId: Id<'conn'> | null;
  /** The review policy that routes the request; null if none does. */
  reviewPolicy: { id: string; updatedAt: number } | null;
}

/**
 * Whether a request belongs to a series: people who saw the first permission of the series have
 * seen this one too, except its arguments.
 *
 * Action and resource are equal texts. The scope has the same keys, with equal values; the values
 * that may vary are at most as wide as the granted ones, and no number in them is negative. The
 * request is for one use, and the same connection makes it, or none does. It would wait for the
 * same people: the same review policy, unchanged, routes it, or none does.
 */
export function covers(acts: CoveredActs, request: SeriesCandidate): boolean {
  if (request.action !== acts.action || request.resource !== acts.resource) return false;
  if (request.max_uses !== 1) return false;
  if (request.connectionId !== acts.connectionId) return false;
  const policy = request.reviewPolicy;
  if ((policy?.id ?? null) !== acts.policyId) return false;
  if ((policy?.updatedAt ?? null) !== acts.policyUpdatedAt) return false;
  return isScopeOfSeries(acts, request.scope);
}

function isScopeOfSeries(
  { scope: granted, varies }: Pick<CoveredActs, 'scope' | 'varies'>,
  scope: JsonObject,
): boolean {
  const keys = Object.keys(granted);
  if (Object.keys(scope).length !== keys.length) return false;
  return keys.every((key) => {
    const limit = granted[key] as Json;
    const value = ownValue(scope, key);
    if (value === undefined) return false;
    if (!varies.includes(key)) return equalJson(limit, value);
    return !hasNegative(value) && findWidenings({ limit }, { limit: value }).length === 0;
  });
}

function hasNegative(value: Json): boolean {
  if (typeof value === 'number') return value < 0;
  if (Array.isArray(value)) return value.some(hasNegative);
  if (isJsonObject(value)) return Object.values(value).some(hasNegative);
  return false;
}

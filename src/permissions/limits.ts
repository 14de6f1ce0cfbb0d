import type { SeriesTerms } from '../db/schema';
import { type FieldError, invalidRequest, Problem } from '../errors';
import { equalJson } from '../lib/json';
import { findWidenings } from './find-widenings';
import type { ReviewedPermission } from './permission';
import type { Limits, TokenLimits, VoteDecision } from './reviews/review';
import { findSeriesWidenings } from './series/terms';

/**
 * The limits that an approval sets, by their names in the API. A limit that it leaves out stays as
 * it was.
 */
export interface Narrowing {
  scope?: Limits['scope'] | undefined;
  token_ttl?: number | undefined;
  max_uses?: number | undefined;
  /** The series that the approval gives. Without it, it gives none. */
  series?: SeriesTerms | undefined;
}

/** The limits that an approval may narrow: what earlier ones have left of those requested. */
export function proposedLimits(row: ReviewedPermission): Limits {
  return row.review?.proposal ?? row;
}

/**
 * Returns the limits that a decision grants or denies. An approval may narrow the limits that
 * earlier approvals have left, or else the requested ones; a denial denies the requested ones.
 * @throws Problem `scope_widened` if an approval widens a limit; `invalid_request` if it narrows
 *   what a connection sends
 */
export function limitsOf(
  row: ReviewedPermission,
  decision: VoteDecision,
  narrowed: Narrowing,
): Limits {
  if (decision === 'deny')
    return { scope: row.scope, tokenTtl: row.tokenTtl, maxUses: row.maxUses, series: null };
  const base = proposedLimits(row);
  const source = row.review ? 'proposed' : 'requested';
  const {
    scope = base.scope,
    token_ttl: tokenTtl = base.tokenTtl,
    max_uses: maxUses = base.maxUses,
    series = null,
  } = narrowed;
  if (row.connectionId !== null) requireUnnarrowed(narrowed, { scope: base.scope, maxUses });
  const errors: FieldError[] = [];
  if (narrowed.scope) errors.push(...findWidenings(base.scope, scope));
  const atMost = (path: string, most: number) =>
    errors.push({ path, message: `must be at most the ${source} ${most}` });
  if (tokenTtl > base.tokenTtl) atMost('body.token_ttl', base.tokenTtl);
  if (maxUses > base.maxUses) atMost('body.max_uses', base.maxUses);
  if (series) errors.push(...findSeriesWidenings(base.series, series, source));
  if (errors.length === 0) return { scope, tokenTtl, maxUses, series };
  throw new Problem(
    'scope_widened',
    `An approval may narrow what is ${source}, but never widen it.`,
    { errors },
  );
}

/**
 * Refuses an approval that narrows the scope or the uses of what a connection asked for: the
 * connection sends its request as it is, once.
 * @throws Problem `invalid_request`
 */
function requireUnnarrowed(
  narrowed: Narrowing,
  { scope, maxUses }: Pick<Limits, 'scope' | 'maxUses'>,
): void {
  const errors: FieldError[] = [];
  const refuse = (field: string) =>
    errors.push({
      path: `body.${field}`,
      message: 'cannot be narrowed: the connection sends the request as it is, once',
    });
  if (narrowed.scope && !equalJson(narrowed.scope, scope)) refuse('scope');
  if (narrowed.max_uses !== undefined && narrowed.max_uses < maxUses) refuse('max_uses');
  if (errors.length > 0) throw invalidRequest(errors);
}

/** The limits that an agent asks for, by their names in the API. */
export interface RequestedLimits {
  scope: Limits['scope'];
  token_ttl: number;
  max_uses: number;
  series?: SeriesTerms | undefined;
}

/** Returns the requested limits, lowered to those of a policy. A limit of null lowers nothing. */
export function capLimits(
  { scope, token_ttl, max_uses }: RequestedLimits,
  { tokenTtl, maxUses }: { tokenTtl: number | null; maxUses: number | null },
): TokenLimits {
  return {
    scope,
    tokenTtl: Math.min(token_ttl, tokenTtl ?? token_ttl),
    maxUses: Math.min(max_uses, maxUses ?? max_uses),
  };
}

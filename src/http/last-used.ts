import { and, eq, isNull, lt, or } from 'drizzle-orm';
import type { Database, Statement } from '../db/database';
import { agents, userTokens } from '../db/schema';
import { MINUTE } from '../lib/time';
import type { Id } from '../lib/typeid';

/**
 * Makes the statement that records the use of a user token; null if the last use was recorded less than a minute ago.
 */
export function recordTokenUse(
  { build }: Database,
  account: number,
  token: Id<'utok'>,
  last: number | null,
  now: number,
): Statement | null {
  if (!isStale(last, now)) return null;
  const stale = or(isNull(userTokens.lastUsedAt), lt(userTokens.lastUsedAt, now));
  return build
    .update(userTokens)
    .set({ lastUsedAt: now })
    .where(and(eq(userTokens.account, account), eq(userTokens.id, token), stale));
}

/** Makes the statement that records activity of an agent; null if the last was recorded less than a minute ago. */
export function recordAgentActivity(
  { build }: Database,
  agent: number,
  last: number | null,
  now: number,
): Statement | null {
  if (!isStale(last, now)) return null;
  const stale = or(isNull(agents.lastActivityAt), lt(agents.lastActivityAt, now));
  return build
    .update(agents)
    .set({ lastActivityAt: now })
    .where(and(eq(agents.number, agent), stale));
}

function isStale(last: number | null, now: number): boolean {
  return last === null || last <= now - MINUTE;
}

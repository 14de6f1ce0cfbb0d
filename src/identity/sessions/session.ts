import { and, eq, gt, type InferSelectModel, isNull, or, sql } from 'drizzle-orm';
import * as z from 'zod';
import { sessions, userTokens } from '../../db/schema';
import { EXAMPLE, exampleId } from '../../http/examples';
import { idField, timeField } from '../../http/response-fields';
import { SESSION_IDLE_TIME, SESSION_LIFETIME } from '../../ledger/authority';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { formatTime } from '../../lib/time';
import type { CallerSql } from '../credentials';
import { ownTokens } from '../tokens/user-token';

export { SESSION_LIFETIME };

const exampleSession = {
  id: exampleId('session'),
  token_id: null,
  ip_address: EXAMPLE.ipAddress,
  user_agent: 'Mozilla/5.0',
  last_seen_at: EXAMPLE.time,
  expires_at: EXAMPLE.laterTime,
  created_at: EXAMPLE.time,
};

export const Session = lazy(() =>
  z
    .object({
      id: idField('session'),
      token_id: idField('utok').nullable().meta({
        description:
          'The user token with which it was started, and with which it ends; null after another sign-in.',
      }),
      ip_address: z.string().meta({ description: 'The address of the sign-in.' }),
      user_agent: z.string(),
      last_seen_at: timeField.meta({ description: 'To the minute.' }),
      expires_at: timeField.meta({ description: 'When it ends if it is not used until then.' }),
      created_at: timeField.meta({ description: 'When the sign-in was.' }),
    })
    .meta({ id: 'Session', description: 'A session of the console.', examples: [exampleSession] }),
);

export type Session = LazyOutput<typeof Session>;

/** The time at which a session ends if it is not used again, in milliseconds since the epoch. */
function sessionEnd({ createdAt, lastSeenAt }: { createdAt: number; lastSeenAt: number }): number {
  return Math.min(lastSeenAt + SESSION_IDLE_TIME, createdAt + SESSION_LIFETIME);
}

/**
 * The condition that finds the caller's own sessions. A member has those that the member or the
 * member's tokens started; a token of the account has those that any of the account's own tokens
 * started. Leaves out the sessions of a token that has expired at the time `now`, because they
 * ended with it. It also finds sessions that are over by {@link sessionEnd} but not erased yet: a
 * list must leave those out itself.
 */
export function ownSessions(caller: Pick<CallerSql, 'account' | 'member'> & { now: number }) {
  const { account, member, now } = caller;
  const isLive = or(isNull(userTokens.expiresAt), gt(userTokens.expiresAt, now));
  const ofMember = and(eq(sessions.account, account), eq(sessions.member, member));
  const ofToken = and(eq(sessions.account, userTokens.account), eq(sessions.token, userTokens.id));
  // Each half uses an index: the second one finds the tokens first, then their sessions. A
  // condition on the account instead would read the sessions of all its members.
  return sql`${sessions.hash} in (
    select ${sessions.hash} from ${sessions} where ${ofMember}
    union all
    select ${sessions.hash} from ${userTokens} cross join ${sessions} on ${ofToken} where ${and(ownTokens(caller), isLive)})`;
}

export function presentSession(
  row: Omit<InferSelectModel<typeof sessions>, 'hash' | 'account' | 'member'>,
): Session {
  return {
    id: row.id,
    token_id: row.token,
    ip_address: row.ipAddress,
    user_agent: row.userAgent,
    last_seen_at: formatTime(row.lastSeenAt),
    expires_at: formatTime(sessionEnd(row)),
    created_at: formatTime(row.createdAt),
  };
}

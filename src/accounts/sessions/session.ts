import type { InferSelectModel } from 'drizzle-orm';
import * as z from 'zod';
import type { sessions } from '../../db/schema';
import { EXAMPLE, exampleId } from '../../http/examples';
import { idField, timeField } from '../../http/response-fields';
import { SESSION_IDLE_TIME, SESSION_LIFETIME } from '../../ledger/authority';
import { lazy } from '../../lib/lazy';
import { formatTime } from '../../lib/time';

const exampleSession = {
  id: exampleId('sess'),
  ip_address: EXAMPLE.ipAddress,
  user_agent: 'Mozilla/5.0',
  last_seen_at: EXAMPLE.time,
  expires_at: EXAMPLE.laterTime,
  created_at: EXAMPLE.time,
};

export const Session = lazy(() =>
  z
    .object({
      id: idField('sess'),
      ip_address: z.string().meta({ description: 'The address from which the member signed in.' }),
      user_agent: z.string(),
      last_seen_at: timeField.meta({ description: 'To the minute.' }),
      expires_at: timeField.meta({ description: 'When it ends if it is not used until then.' }),
      created_at: timeField.meta({ description: 'When the member signed in.' }),
    })
    .meta({ id: 'Session', description: 'A session of the console.', examples: [exampleSession] }),
);

export type Session = z.output<ReturnType<typeof Session>>;

/** When a session ends if it is not used until then, in milliseconds since the epoch. */
export function sessionEnd({ createdAt, lastSeenAt }: { createdAt: number; lastSeenAt: number }): number {
  return Math.min(lastSeenAt + SESSION_IDLE_TIME, createdAt + SESSION_LIFETIME);
}

export function presentSession(row: Omit<InferSelectModel<typeof sessions>, 'hash' | 'account' | 'member'>): Session {
  return {
    id: row.id,
    ip_address: row.ipAddress,
    user_agent: row.userAgent,
    last_seen_at: formatTime(row.lastSeenAt),
    expires_at: formatTime(sessionEnd(row)),
    created_at: formatTime(row.createdAt),
  };
}

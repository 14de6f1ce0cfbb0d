import type { InferSelectModel } from 'drizzle-orm';
import { eq } from 'drizzle-orm';
import { z } from 'zod';
import type { Reader } from '../db/database';
import { accounts } from '../db/schema';
import { notFound } from '../errors';
import type { Incoming, Shard } from '../http/context';
import { text, wholeNumber } from '../http/fields';
import { shownId, shownTime } from '../http/shown';
import { MAX_RETENTION_DAYS, PLANS, retentionDays } from '../lib/plans';
import { formatTime } from '../lib/time';
import { parseId } from '../lib/typeid';

export type AccountRow = InferSelectModel<typeof accounts>;

/** The part of an account's row that is shown. */
type ShownAccount = Omit<AccountRow, 'number' | 'erasedSequence' | 'erasedAt'>;

/** An account as the API shows it. */
export const Account = z.object({
  id: shownId('user'),
  email: z.string(),
  name: z.string().nullable(),
  plan: z.enum(PLANS),
  audit_retention_days: z.number(),
  is_active: z.boolean(),
  created_at: shownTime,
  updated_at: shownTime,
});

export type Account = z.output<typeof Account>;

/** The fields that the operator may set. */
export const accountFields = {
  email: z.string().trim().max(254, 'must be at most 254 characters long').pipe(z.email('must be an e-mail address')),
  name: text(1, 255),
  plan: z.enum(PLANS, `must be one of ${PLANS.join(', ')}`),
  audit_retention_days: wholeNumber(1, MAX_RETENTION_DAYS),
};

export function presentAccount(row: ShownAccount): Account {
  return {
    id: row.id,
    email: row.email,
    name: row.name,
    plan: row.plan,
    audit_retention_days: retentionDays(row),
    is_active: row.isActive,
    created_at: formatTime(row.createdAt),
    updated_at: formatTime(row.updatedAt),
  };
}

export function findAccount(reader: Reader, number: number) {
  return reader.select().from(accounts).where(eq(accounts.number, number));
}

/** A preload of the account that the path names: the operator's requests do not say on which shard it lives. */
export function accountOfPath(c: Incoming, reader: Reader) {
  const id = parseId('user', c.req.param('id') ?? '');
  return id && { query: reader.select().from(accounts).where(eq(accounts.id, id)) };
}

/** An account, and the shard on which it lives. */
export interface LocatedAccount {
  shard: Shard;
  row: AccountRow;
}

/**
 * The account that was loaded.
 * @throws Problem `not_found`
 */
export function locatedAccount(loaded: { shard: Shard; loaded: AccountRow[] | undefined }[]): LocatedAccount {
  for (const { shard, loaded: [row] = [] } of loaded) if (row) return { shard, row };
  throw notFound('account');
}

import { asc, type InferSelectModel, type SQL, sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Reader } from '../../db/database';
import { isPasskeyOf } from '../../db/passkeys-by-member';
import { passkeys } from '../../db/schema';
import { EXAMPLE } from '../../http/examples';
import { timeField } from '../../http/response-fields';
import { toBase64Url } from '../../lib/bytes';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { formatTime, formatTimeOrNull } from '../../lib/time';
import { type Id, idBytes } from '../../lib/typeid';

/** Maximum number of passkeys of a member that are not removed. */
export const MAX_PASSKEYS = 20;

export type PasskeyRow = InferSelectModel<typeof passkeys>;

export const examplePasskey = {
  id: 'mYnWbTgmYbNLRwHKQyTjnw',
  name: 'Laptop',
  public_key:
    'pQECAyYgASFYIPzQ1yxnVZh9nYGmT8cQ1pNsRrGk4CbSYfYYp3k2mWJ8IlggZ1yLQfvBqk0fYB3b8jvZ9vKQ0zv1Q6r0oYk2p5s3d4w',
  added_at: EXAMPLE.time,
  removed_at: null,
};

export const Passkey = lazy(() =>
  z
    .object({
      id: z.string().meta({ description: 'The credential id, in base64url.' }),
      name: z.string(),
      public_key: z
        .string()
        .meta({ description: 'The public key: a COSE_Key (RFC 9052), in base64url.' }),
      added_at: timeField,
      removed_at: timeField.nullable(),
    })
    .meta({ id: 'Passkey', description: 'A passkey of a member.', examples: [examplePasskey] }),
);

export type Passkey = LazyOutput<typeof Passkey>;

export function presentPasskey(row: PasskeyRow): Passkey {
  return {
    id: toBase64Url(row.id),
    name: row.name,
    public_key: toBase64Url(row.publicKey),
    added_at: formatTime(row.addedAt),
    removed_at: formatTimeOrNull(row.removedAt),
  };
}

/** Selects all passkeys of a member, also the removed ones, the oldest first. */
export function selectPasskeys(
  reader: Reader,
  account: number | SQL<number>,
  member: Id<'member'>,
) {
  return reader
    .select()
    .from(passkeys)
    .where(isPasskeyOf(account, sql`${idBytes(member)}`))
    .orderBy(asc(passkeys.addedAt), asc(passkeys.id));
}

import type { passkeys } from '../../db/schema';
import { toBase64Url } from '../../lib/bytes';
import type { RowContent } from '../../lib/row-mac';
import type { Id } from '../../lib/typeid';

/** A passkey with whom it belongs to. */
export type OwnedPasskey = Pick<
  typeof passkeys.$inferSelect,
  'id' | 'member' | 'publicKey' | 'firstCounter' | 'addedAt'
> & {
  accountId: Id<'user'>;
};

/**
 * The contents of a passkey that its MAC covers: that this key (with its algorithm, which the COSE
 * key names) is this member's, and the counter with which it was added. Without it, whoever can
 * write to the database could sign in as anybody.
 */
export function passkeyContent({
  accountId,
  member,
  id,
  publicKey,
  firstCounter,
  addedAt,
}: OwnedPasskey): RowContent {
  const key = { id: toBase64Url(id), public_key: toBase64Url(publicKey) };
  const added = { first_counter: firstCounter, added_at: addedAt };
  return {
    table: 'passkeys',
    label: 'passkey-mac',
    fields: { account: accountId, member, ...key, ...added },
  };
}

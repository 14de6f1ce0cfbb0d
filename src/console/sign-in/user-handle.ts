import { concatBytes } from '../../lib/bytes';
import { formatId, type Id, idBytes } from '../../lib/typeid';

/** Whom a passkey belongs to. The passkey itself stores this, so that sign-in needs no directory. */
export interface UserHandle {
  /** The shard on which the account was when the passkey was made. */
  shard: string;
  account: Id<'user'>;
  member: Id<'member'>;
}

const SHARD_LENGTH = 2;
const ID_LENGTH = 16;

/** Encodes a user handle (WebAuthn Level 3 section 4): shard, account and member, 34 bytes. */
export function encodeUserHandle({ shard, account, member }: UserHandle): Uint8Array {
  return concatBytes(new TextEncoder().encode(shard), idBytes(account), idBytes(member));
}

/** Decodes a user handle; null if it is none of this service. */
export function decodeUserHandle(bytes: Uint8Array | null): UserHandle | null {
  if (bytes?.length !== SHARD_LENGTH + 2 * ID_LENGTH) return null;
  const shard = new TextDecoder().decode(bytes.subarray(0, SHARD_LENGTH));
  const ids = bytes.subarray(SHARD_LENGTH);
  return {
    shard,
    account: formatId('user', ids.slice(0, ID_LENGTH)),
    member: formatId('member', ids.slice(ID_LENGTH)),
  };
}

import { formatId, type Id, idBytes } from '../lib/typeid';

const SALT_LENGTH = 16;

/**
 * Number of random bytes that an entry keeps: 16 bytes of salt, and 6 that stand only in its id, so
 * that the id tells nothing about the salt.
 */
export const ENTRY_RANDOM_LENGTH = SALT_LENGTH + 6;

/** What the id of an entry is computed from. */
export interface EntryIdentity {
  /** Milliseconds since the epoch. */
  createdAt: number;
  /** Its place in the account's log, from 1. */
  sequence: number;
  /** {@link ENTRY_RANDOM_LENGTH} random bytes. */
  random: Uint8Array;
}

/**
 * Computes the id of an entry: a UUIDv7 (RFC 9562 section 5.7) with the time of the entry, its
 * sequence (32 bits) and 42 random bits.
 *
 * The id is not stored. The sequence in it tells where the entry is: see {@link sequenceOfEntryId}.
 */
export function entryId({ createdAt, sequence, random }: EntryIdentity): Id<'audit'> {
  const uuid = new Uint8Array(16);
  const view = new DataView(uuid.buffer);
  const tail = random.subarray(SALT_LENGTH);
  uuid.set(tail, 10);
  view.setUint16(0, Math.floor(createdAt / 2 ** 32));
  view.setUint32(2, createdAt % 2 ** 32);
  view.setUint16(6, 0x7000 | (sequence >>> 20));
  view.setUint32(8, 0x80000000 | ((sequence & 0xfffff) << 10) | (view.getUint16(10) & 0x3ff));
  return formatId('audit', uuid);
}

/** The sequence that an entry with this id has, if there is such an entry. */
export function sequenceOfEntryId(id: Id<'audit'>): number {
  const bytes = idBytes(id);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  return (((view.getUint16(6) & 0xfff) << 20) | ((view.getUint32(8) >>> 10) & 0xfffff)) >>> 0;
}

/** The salt of an entry: it is hashed with it, so that its leaf hash reveals nothing once erased. */
export function saltOf({ random }: Pick<EntryIdentity, 'random'>): Uint8Array {
  return random.subarray(0, SALT_LENGTH);
}

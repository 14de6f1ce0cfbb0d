import { type Id, makeSequencedId } from '../lib/typeid';

const SALT_LENGTH = 16;

/**
 * Number of random bytes that an entry keeps: 16 bytes of salt, and 6 that stand only in its id, so
 * that the id tells nothing about the salt.
 */
export const ENTRY_RANDOM_LENGTH = SALT_LENGTH + 6;

/** The values from which the id of an entry is computed. */
export interface EntryIdentity {
  /** Milliseconds since the epoch. */
  createdAt: number;
  /** Its place in the account's log, from 1. */
  sequence: number;
  /** {@link ENTRY_RANDOM_LENGTH} random bytes. */
  random: Uint8Array;
}

/**
 * Computes the id of an entry, which is not stored: a UUIDv7 (RFC 9562 section 5.7) of its time,
 * its sequence and 42 random bits. The sequence in it tells where the entry is: see `sequenceOfId`.
 */
export function entryId({ createdAt, sequence, random }: EntryIdentity): Id<'audit'> {
  return makeSequencedId('audit', createdAt, sequence, random.subarray(SALT_LENGTH));
}

/**
 * The salt of an entry: it is hashed with it, so that its leaf hash reveals nothing once erased.
 */
export function saltOf({ random }: Pick<EntryIdentity, 'random'>): Uint8Array {
  return random.subarray(0, SALT_LENGTH);
}

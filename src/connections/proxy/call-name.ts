import { concatBytes, sha256 } from '../../lib/bytes';

/** How a call is recognized: by the caller's own key, or by its input if it has none. */
const KINDS = { key: 0, input: 1 } as const;

/**
 * The name under which a call of an agent is found again: that of its idempotency key, or of the
 * digest of its input. Names of the two kinds are never equal.
 */
export async function callName(kind: keyof typeof KINDS, text: string): Promise<Uint8Array> {
  return concatBytes(Uint8Array.of(KINDS[kind]), await sha256(text));
}

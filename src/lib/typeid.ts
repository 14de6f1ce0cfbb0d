/** The prefixes of all kinds of identifiers. */
export type Prefix =
  | 'user'
  | 'utok'
  | 'member'
  | 'session'
  | 'agent'
  | 'key'
  | 'perm'
  | 'token'
  | 'policy'
  | 'audit'
  | 'export'
  | 'report'
  | 'webhook'
  | 'chan'
  | 'conn'
  | 'push'
  | 'dlv'
  | 'act'
  | 'req';

/** A TypeID: `<prefix>_<26 characters>`, a UUIDv7 in Crockford base32, which sorts by time. */
export type Id<P extends Prefix> = `${P}_${string}`;

/**
 * Makes a new identifier.
 * @param now milliseconds since the epoch; the identifier sorts by it
 * @param random 10 random bytes
 * @see RFC 9562 section 5.7 (UUIDv7)
 */
export function makeId<P extends Prefix>(prefix: P, now: number, random: Uint8Array): Id<P> {
  const uuid = new Uint8Array(16);
  uuid.set(random.subarray(0, 10), 6);
  const view = new DataView(uuid.buffer);
  view.setUint16(0, Math.floor(now / 2 ** 32));
  view.setUint32(2, now % 2 ** 32);
  view.setUint8(6, 0x70 | (view.getUint8(6) & 0x0f));
  view.setUint8(8, 0x80 | (view.getUint8(8) & 0x3f));
  return formatId(prefix, uuid);
}

/**
 * Makes an identifier that names a time, a sequence and 42 random bits: a UUIDv7 whose first 32
 * random bits are the sequence.
 * @param random 6 random bytes
 * @see RFC 9562 section 5.7 (UUIDv7)
 */
export function makeSequencedId<P extends Prefix>(
  prefix: P,
  time: number,
  sequence: number,
  random: Uint8Array,
): Id<P> {
  const bytes = new Uint8Array(10);
  const view = new DataView(bytes.buffer);
  bytes.set(random.subarray(0, 6), 4);
  // The version takes the first 4 of these bits, the variant 2 after the next 12.
  view.setUint16(0, sequence >>> 20);
  view.setUint32(2, ((sequence & 0xfffff) << 10) | (view.getUint16(4) & 0x3ff));
  return makeId(prefix, time, bytes);
}

/** The sequence in an identifier that {@link makeSequencedId} made. */
export function sequenceOfId(id: string): number {
  const bytes = idBytes(id);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  return (((view.getUint16(6) & 0xfff) << 20) | ((view.getUint32(8) >>> 10) & 0xfffff)) >>> 0;
}

/** The smallest identifier that can be made at a time. Those of earlier times sort before it. */
export function smallestIdAt<P extends Prefix>(prefix: P, time: number): Id<P> {
  return makeId(prefix, Math.max(0, time), new Uint8Array(10));
}

const BASE32 = new TextEncoder().encode('0123456789abcdefghjkmnpqrstvwxyz');
const BASE32_LENGTH = 26;
/** The value of each digit, by the code of its character. */
const DIGITS = new Uint8Array(128);
BASE32.forEach((code, value) => {
  DIGITS[code] = value;
});

/**
 * Formats the 16 bytes of a UUID as an identifier: a digit for each 5 bits, after two leading zero
 * bits.
 */
export function formatId<P extends Prefix>(prefix: P, bytes: Iterable<number>): Id<P> {
  const codes: number[] = [];
  let bits = 0;
  let count = 2;
  for (const byte of bytes) {
    bits = ((bits & 31) << 8) | byte;
    for (count += 8; count >= 5; ) {
      count -= 5;
      codes.push(BASE32[(bits >> count) & 31] as number);
    }
  }
  return `${prefix}_${String.fromCharCode(...codes)}` as Id<P>;
}

/**
 * The same as {@link formatId} for bytes in hexadecimal. Optimized, because exports format millions
 * of identifiers.
 */
export function formatHexId<P extends Prefix>(prefix: P, hex: string): Id<P> {
  const first = (hexDigit(hex, 0) << 4) | hexDigit(hex, 1);
  const codes = [BASE32[first >> 5], BASE32[first & 31]] as number[];
  for (let at = 2; at < 32; at += 5) {
    let bits = 0;
    for (let digit = at; digit < at + 5; digit++) bits = (bits << 4) | hexDigit(hex, digit);
    for (let shift = 15; shift >= 0; shift -= 5) codes.push(BASE32[(bits >> shift) & 31] as number);
  }
  return `${prefix}_${String.fromCharCode(...codes)}` as Id<P>;
}

/** The value of a hexadecimal digit, in upper or lower case. */
function hexDigit(hex: string, at: number): number {
  const code = hex.charCodeAt(at);
  return code <= 0x39 ? code & 0xf : (code & 0xf) + 9;
}

/**
 * The 16 bytes of a UUID that an identifier encodes.
 * @throws Error if the identifier is not valid
 */
export function idBytes(id: string): Uint8Array {
  const text = id.slice(-BASE32_LENGTH);
  if (!BITS_ALONE.test(text)) throw new Error(`${id} is not an identifier`);
  const bytes = new Uint8Array(16);
  let bits = 0;
  let count = -2;
  let at = 0;
  for (let digit = 0; digit < text.length; digit++) {
    bits = ((bits & 255) << 5) | (DIGITS[text.charCodeAt(digit)] as number);
    count += 5;
    if (count < 8) continue;
    count -= 8;
    bytes[at] = bits >> count;
    at += 1;
  }
  return bytes;
}

/** When an identifier was made, in milliseconds since the epoch (RFC 9562 section 5.7). */
export function timeOfId(id: string): number {
  const bytes = idBytes(id);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  return view.getUint16(0) * 2 ** 32 + view.getUint32(2);
}

/** A regular expression for the 26 characters after the prefix, which encode 128 bits. */
const BITS = '[0-7][0-9a-hjkmnp-tv-z]{25}';
const BITS_ALONE = new RegExp(`^${BITS}$`);

/** Returns the text if it is an identifier with this prefix, else null. */
export function parseId<P extends Prefix>(prefix: P, text: string): Id<P> | null {
  return text.startsWith(`${prefix}_`) && BITS_ALONE.test(text.slice(prefix.length + 1))
    ? (text as Id<P>)
    : null;
}

/** A regular expression for the identifiers with a prefix. */
export function idPattern(prefix: Prefix): string {
  return `^${prefix}_${BITS}$`;
}

/** The same 128 bits under another prefix. */
export function withPrefix<P extends Prefix>(prefix: P, id: string): Id<P> {
  return `${prefix}_${id.slice(id.indexOf('_') + 1)}` as Id<P>;
}

/** Compares two objects by their ids: the one that was made first comes first. */
export function byId(a: { id: string }, b: { id: string }): number {
  return a.id < b.id ? -1 : 1;
}

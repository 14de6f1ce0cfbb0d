import { formatId, type Id, makeSequencedId } from '../../src/lib/typeid.ts';

/** The random bytes of an entry, which are derived from its account and sequence. */
export function entryRandom(account: number, sequence: number): Uint8Array {
  const bytes = new Uint8Array(22);
  bytes.set(uuid(0, 0x1000 + account, sequence));
  bytes.set(uuid(0, 0x3000 + account, sequence).subarray(10), 16);
  return bytes;
}

/** An entry's identifier as the API shows it. */
export function entryId(account: number, sequence: number, time: number): string {
  return makeSequencedId('audit', time, sequence, entryRandom(account, sequence).subarray(16));
}

/** The bytes of a permission's identifier. */
export function permissionBytes(
  account: number,
  permission: number,
  requestedAt: number,
): Uint8Array {
  return uuid(requestedAt, 0x2000 + account, permission);
}

/** A permission's identifier as the API shows it. */
export function permissionId(account: number, permission: number, requestedAt: number): Id<'perm'> {
  return formatId('perm', permissionBytes(account, permission, requestedAt));
}

/** A UUIDv7 (RFC 9562 section 5.7) whose random part is derived from two numbers. */
function uuid(time: number, kind: number, number: number): Uint8Array {
  const bytes = new Uint8Array(16);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, Math.floor(time / 2 ** 32));
  view.setUint32(2, time % 2 ** 32);
  const mixed = Math.imul(number ^ Math.imul(kind, 0x9e3779b1), 0x85ebca6b) >>> 0;
  view.setUint16(6, 0x7000 | (mixed & 0xfff));
  view.setUint16(8, 0x8000 | kind);
  view.setUint32(10, number);
  view.setUint16(14, mixed >>> 16);
  return bytes;
}

import { concatBytes, equalBytes } from '../../lib/bytes';
import { hashBytes } from '../../lib/merkle';
import { MINUTE, SECOND } from '../../lib/time';
import { COSIGNATURE_TYPE, type Witness } from '../../lib/witness-list';
import { textOf } from './cosigned-head';

const KEY_ID_LENGTH = 4;
const TIME_LENGTH = 8;
const LINE = /^— (\S+) ([A-Za-z0-9+/]+={0,2})$/;

/** How far the clock of a witness may be ahead, in milliseconds. */
const CLOCK_SKEW = 5 * MINUTE;

/**
 * Finds the cosignature of a witness in its answer (https://c2sp.org/tlog-cosignature). Ignores
 * lines of other keys, as the protocol requires.
 * @param note the note of the head that it cosigned
 * @returns the signature line in its only canonical form, with its newline, so that what a witness
 *   answers never makes the note unreadable
 * @throws Error if there is none, or it is not the witness's
 */
export async function findCosignature(
  witness: Witness,
  note: string,
  answer: string,
  now: number,
): Promise<string> {
  await requireKeyId(witness);
  for (const line of answer.split('\n')) {
    const [, name, encoded = ''] = LINE.exec(line) ?? [];
    if (name !== witness.name) continue;
    const signed = Uint8Array.fromBase64(encoded);
    if (!equalBytes(signed.slice(0, KEY_ID_LENGTH), witness.keyId)) continue;
    await requireSignature(witness, note, signed.slice(KEY_ID_LENGTH), now);
    return `— ${name} ${signed.toBase64()}\n`;
  }
  throw new Error('the answer has no cosignature of its key');
}

async function requireKeyId({ name, publicKey, keyId }: Witness): Promise<void> {
  const named = new TextEncoder().encode(`${name}\n`);
  const hash = await hashBytes(concatBytes(named, new Uint8Array([COSIGNATURE_TYPE]), publicKey));
  if (!equalBytes(hash.slice(0, KEY_ID_LENGTH), keyId))
    throw new Error('the key in WITNESSES has a wrong id');
}

/** @param signed the time in seconds, and the signature */
async function requireSignature(
  { publicKey }: Witness,
  note: string,
  signed: Uint8Array<ArrayBuffer>,
  now: number,
): Promise<void> {
  const bytes = signed.buffer.slice(signed.byteOffset, signed.byteOffset + TIME_LENGTH);
  if (bytes.byteLength < TIME_LENGTH) throw new Error('its cosignature is malformed');
  const time = new DataView(bytes).getBigUint64(0);
  if (time === 0n || time * BigInt(SECOND) > BigInt(now + CLOCK_SKEW))
    throw new Error('its cosignature has no time, or one in the future');
  const text = `cosignature/v1\ntime ${time}\n${textOf(note)}`;
  const key = await crypto.subtle.importKey('raw', publicKey, 'Ed25519', false, ['verify']);
  const message = new TextEncoder().encode(text);
  if (!(await crypto.subtle.verify('Ed25519', key, signed.slice(TIME_LENGTH), message)))
    throw new Error('its cosignature is forged: its key did not make it');
}

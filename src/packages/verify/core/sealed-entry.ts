import { decodeBase64 } from './bytes.ts';
import { canonicalJson, isJsonObject, type Json, type JsonObject, parseJson } from './json.ts';

const SALT = /^[0-9a-f]{32}$/;

/**
 * Reads the sealed entry from the input of its leaf hash: a zero byte, then the entry with its salt
 * as canonical JSON.
 * @param text the input in base64
 * @returns the input and the entry without its salt; null if the input has not this form
 */
export function readSealedEntry(
  text: Json | undefined,
): { input: Uint8Array; entry: JsonObject } | null {
  const input = typeof text === 'string' ? decodeBase64(text) : null;
  if (input?.[0] !== 0) return null;
  try {
    const json = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
      input.subarray(1),
    );
    const sealed = parseJson(json);
    if (!isJsonObject(sealed) || canonicalJson(sealed) !== json) return null;
    const { salt, ...entry } = sealed;
    return typeof salt === 'string' && SALT.test(salt) ? { input, entry } : null;
  } catch {
    return null;
  }
}

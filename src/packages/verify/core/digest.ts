import { sha256, toBase64Url, utf8 } from './bytes.ts';
import { canonicalJson, type Json } from './json.ts';

/** The digest of a JSON value: the SHA-256 of its canonical form (RFC 8785). */
export async function digestOf(value: Json): Promise<string> {
  return `sha-256:${toBase64Url(await sha256(utf8(canonicalJson(value))))}`;
}

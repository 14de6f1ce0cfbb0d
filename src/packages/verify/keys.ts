import { readFile } from 'node:fs/promises';
import { CannotCheck } from './core/findings.ts';
import { parseVerifierKey, readLogKeys, type VerifierKey } from './core/note.ts';
import { fetchJson } from './web.ts';

/**
 * Reads the public keys that can verify a log.
 * @param source a verifier key (`<name>+<id>+<base64>`), a file with one or with a JWK set, or the
 *   URL of a JWK set
 * @throws CannotCheck if there are none, or the source cannot be read
 */
export async function readKeys(source: string): Promise<VerifierKey[]> {
  const keys = /^https?:\/\//.test(source)
    ? await readLogKeys(await fetchJson(source))
    : await readLocalKeys(source);
  if (keys.length === 0)
    throw new CannotCheck(`${source} has no key for logs (Ed25519, kid "log-…")`);
  return keys;
}

/**
 * The URL of the published keys of the service that a log's name begins with; null if that is no
 * valid host.
 */
export function publishedKeysUrl(origin: string): string | null {
  const host = origin.slice(0, Math.max(0, origin.indexOf('/')));
  const scheme = /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/.test(host) ? 'http' : 'https';
  const url = URL.parse(`${scheme}://${host}/.well-known/jwks.json`);
  return url?.host === host ? url.href : null;
}

async function readLocalKeys(source: string): Promise<VerifierKey[]> {
  try {
    return [await parseVerifierKey(source)];
  } catch {
    // The source must be a file.
  }
  const text = await readFile(source, 'utf8').catch(() => {
    throw new CannotCheck(`${source} is neither a key (<name>+<id>+<base64>) nor a readable file`);
  });
  try {
    return text.trimStart().startsWith('{')
      ? await readLogKeys(JSON.parse(text))
      : [await parseVerifierKey(text.trim())];
  } catch (error) {
    throw new CannotCheck(`${source}: ${(error as Error).message}`);
  }
}

import hashes from '../../dist/console-hashes.json';
import { sendAsset } from '../http/asset';
import type { RequestContext } from '../http/context';

const FOLDER = '/console/assets/';
const HASHED = /\.([\w-]{12})(?=\.)/;

const HASHES = new Map<string, string>(Object.entries(hashes));

/** The path of a file that every page loads, with the hash of its content in its name. */
export function assetPath(name: keyof typeof hashes): string {
  return FOLDER + name.replace('.', `.${hashes[name]}.`);
}

/**
 * Answers with a file that pages load. Browsers keep it for a year if its path has the hash of its
 * content. A path without a hash, or with that of another version, gets the file of this version,
 * which browsers revalidate at each use.
 * @throws Problem `not_found`
 */
export function sendConsoleAsset(c: RequestContext): Promise<Response> {
  const url = new URL(c.req.url);
  const file = url.pathname.slice(FOLDER.length);
  const [, hash] = HASHED.exec(file) ?? [];
  const name = file.replace(HASHED, '');
  const isCurrent = hash !== undefined && HASHES.get(name) === hash;
  if (HASHES.has(name)) url.pathname = FOLDER + name;
  return sendAsset(c, url, {
    'Cache-Control': isCurrent ? 'public, max-age=31536000, immutable' : 'no-cache',
  });
}

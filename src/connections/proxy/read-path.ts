import { invalidRequest } from '../../errors';

const UNRESERVED = /^[A-Za-z0-9\-._~]$/;
const ENCODED = /%([0-9A-Fa-f]{2})/g;
/** How often a path may be percent-encoded: a service that decodes too often reads no more. */
const MAX_ENCODINGS = 4;

/**
 * Reads the path of a call as it is matched and sent: unreserved characters are decoded, all other
 * encodings are in upper case (RFC 3986 section 6.2.2). Other characters keep their encoding, so
 * that an encoded `/` is no separator.
 * @param path as the agent sent it
 * @throws Problem `invalid_request` for empty and dot segments, `\` and control characters, in any
 *   encoding, for letters, digits, `-`, `.`, `_` and `~` that are encoded more than once, and for a
 *   malformed encoding or one of bytes that are not UTF-8
 */
export function readPath(path: string): string {
  const refuse = (message: string) => invalidRequest([{ path: 'path', message }]);
  if (path !== '' && !path.startsWith('/')) throw refuse('must begin with /');
  if (/%(?![0-9A-Fa-f]{2})/.test(path)) throw refuse('has a % without two hexadecimal digits');
  if (path.includes('//')) throw refuse('must not have an empty segment');
  let decoded = path;
  for (let i = 0; i < MAX_ENCODINGS; i++) {
    const fault = findFault(decoded);
    if (fault) throw refuse(fault);
    decoded = decoded.replace(ENCODED, (_, code) => characterOf(code));
    if (hidesUnreserved(decoded)) throw refuse('must not have a letter or digit encoded twice');
  }
  const fault = findFault(decoded);
  if (fault) throw refuse(fault);
  if (!isUtf8(path)) throw refuse('is not percent-encoded UTF-8');
  // Encodes what no path may hold as it is. There is no dot segment any more that it could resolve.
  const { pathname } = new URL(`http://host${path}`);
  const encoded = path === '' ? '' : pathname;
  return encoded.replace(ENCODED, (whole, code) => {
    const character = characterOf(code);
    return UNRESERVED.test(character) ? character : whole.toUpperCase();
  });
}

/** Whether a path that was decoded has encoded characters that need no encoding. */
function hidesUnreserved(decoded: string): boolean {
  return [...decoded.matchAll(ENCODED)].some(([, code = '']) => UNRESERVED.test(characterOf(code)));
}

function isUtf8(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

/** The character of a byte in hexadecimal. */
function characterOf(code: string): string {
  return String.fromCharCode(Number.parseInt(code, 16));
}

function findFault(decoded: string): string | null {
  if (/(^|[/\\])\.{1,2}([/\\;]|$)/.test(decoded)) return 'must not have a segment . or ..';
  if (decoded.includes('\\')) return 'must not have a backslash';
  if (decoded.includes('//')) return 'must not have an empty segment';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused
  if (/[\u0000-\u001f\u007f]/.test(decoded)) return 'must not have control characters';
  return null;
}

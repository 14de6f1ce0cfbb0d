/** The characters of a path (RFC 3986 section 3.3), and those that browsers leave as they are. */
const PATH_CHARACTER = /^[A-Za-z0-9\-._~!$&'()*+,;=:@/|[\]]$/;
const UNRESERVED = /^[A-Za-z0-9\-._~]$/;

/**
 * Says why a pattern can match no path of a call; null if it can match one. Paths begin with `/`,
 * have neither empty nor dot segments, and are compared with their unreserved characters decoded
 * and all others percent-encoded in upper case.
 */
export function findPathPatternFault(pattern: string): string | null {
  if (!/^[/*]/.test(pattern)) return 'must begin with / or *';
  const encodingFault = findEncodingFault(pattern);
  if (encodingFault) return encodingFault;
  if (pattern.includes('//')) return 'must not have an empty segment: no path has one';
  if (/(^|\/)\.{1,2}(\/|$)/.test(pattern))
    return 'must not have a segment . or .. : no path has one';
  return null;
}

function findEncodingFault(pattern: string): string | null {
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at] ?? '';
    if (character === '?' || character === '#')
      return 'must be a path alone: rules do not match the query';
    if (character !== '%') {
      if (PATH_CHARACTER.test(character)) continue;
      return 'must percent-encode every character that a path cannot contain, such as a blank as %20';
    }
    const code = pattern.slice(at + 1, at + 3);
    if (!/^[0-9A-F]{2}$/.test(code))
      return 'must have two digits 0 to 9 or A to F behind every %, such as %20';
    if (UNRESERVED.test(String.fromCharCode(Number.parseInt(code, 16))))
      return `must have ${String.fromCharCode(Number.parseInt(code, 16))} instead of %${code}`;
    at += 2;
  }
  return null;
}

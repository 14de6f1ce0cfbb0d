import type { RequestContext } from '../../http/context';
import { failAuthentication } from '../../identity/credentials';

/**
 * The agent key of a call, wherever the SDK of another service puts its key: `Authorization` as
 * `Bearer`, as `token`, or as `Basic` with the key as the password, or else `X-Api-Key`.
 * @throws Problem as {@link failAuthentication}
 */
export async function readCallCredential(c: RequestContext): Promise<string> {
  const [scheme = '', value = ''] = (c.req.header('Authorization') ?? '').trim().split(/ +/);
  const given = scheme === '' ? c.req.header('X-Api-Key') : readAuthorization(scheme, value);
  if (given) return given;
  return failAuthentication(
    c,
    "Send the agent's key as `Authorization: Bearer <key>`, as the password of Basic, or as `X-Api-Key`.",
  );
}

function readAuthorization(scheme: string, value: string): string | null {
  switch (scheme.toLowerCase()) {
    case 'bearer':
    case 'token':
      return value;
    case 'basic':
      return readPassword(value);
    default:
      return null;
  }
}

/** The password of Basic authentication (RFC 7617 section 2); null if there is none. */
function readPassword(encoded: string): string | null {
  try {
    const [, password] = /^[^:]*:(.+)$/s.exec(atob(encoded)) ?? [];
    return password ?? null;
  } catch {
    return null;
  }
}

import * as z from 'zod';
import { text } from '../../http/fields';
import { lazy } from '../../lib/lazy';

/**
 * `http` on loopback, with a port (RFC 8252 section 7.3). Nothing else, so that a code never leaves
 * the computer.
 */
const REDIRECT_URI = /^http:\/\/(127\.0\.0\.1|localhost|\[::1\]):([1-9]\d{0,4})\/[\w.~/-]{0,100}$/;
const MAX_PORT = 65_535;

/**
 * The request of a program, in the address of the page (RFC 6749 section 4.1.1, RFC 7636 section
 * 4.3).
 */
export const PairingRequest = lazy(() =>
  z.strictObject({
    redirect_uri: z
      .string()
      .refine(
        isLoopback,
        'must be an address of this computer, such as http://127.0.0.1:49152/callback: http, then 127.0.0.1, [::1] or ' +
          'localhost, a port, and a path',
      ),
    state: z.string().regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 visible ASCII characters'),
    code_challenge: z
      .string()
      .regex(/^[\w-]{43}$/, 'must be the SHA-256 of the code verifier in base64url, 43 characters'),
    code_challenge_method: z.literal('S256', 'must be S256'),
    /** The name of the program, which becomes that of its token. */
    name: text(1, 100).optional(),
  }),
);

export type PairingRequest = z.output<ReturnType<typeof PairingRequest>>;

function isLoopback(address: string): boolean {
  return Number(REDIRECT_URI.exec(address)?.[2] ?? MAX_PORT + 1) <= MAX_PORT;
}

/**
 * The source of `form-action` that lets the page's form lead to the program. It cannot name an IPv6
 * address.
 */
export function formTarget({ redirect_uri }: PairingRequest): string {
  const [, host, port] = REDIRECT_URI.exec(redirect_uri) ?? [];
  return `http://${host === '[::1]' ? '*' : host}:${port}`;
}

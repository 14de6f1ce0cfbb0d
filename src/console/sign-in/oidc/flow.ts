import type { Context as HonoContext } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import type { AppEnv } from '../../../http/context';
import { fromBase64Url, toBase64Url } from '../../../lib/bytes';
import { MINUTE, SECOND } from '../../../lib/time';
import type { Challenge } from '../../session/challenge';

/** Milliseconds that a person may take to sign in at the identity provider. */
const LIFETIME = 10 * MINUTE;

const COOKIE = 'countersign-oidc';
const RANDOM_LENGTH = 32;

/** A sign-in with the identity provider that has begun (OpenID Connect Core 1.0 section 3.1). */
export interface Flow {
  state: string;
  nonce: string;
  /** The PKCE code verifier (RFC 7636). */
  verifier: string;
  /** The secret of the invitation that the person accepts; null for a sign-in. */
  invitation: string | null;
  /** The page to which the person comes after a sign-in. */
  returnPath: string;
  /** In milliseconds since the epoch. */
  expiresAt: number;
}

/** Begins a flow, and keeps it in an encrypted cookie, so that nothing is stored before the person has signed in. */
export async function beginFlow(
  c: HonoContext<AppEnv>,
  purpose: Pick<Flow, 'invitation' | 'returnPath'>,
): Promise<Flow> {
  const { config, runtime } = c.var;
  const draw = () => toBase64Url(runtime.random(RANDOM_LENGTH));
  const flow = { state: draw(), nonce: draw(), verifier: draw(), ...purpose, expiresAt: runtime.now() + LIFETIME };
  const text = JSON.stringify(flow);
  const encrypted = await config.keyring.encrypt('oidc-flow', new Uint8Array(), runtime.random, text);
  const maxAge = LIFETIME / SECOND;
  // Lax: the provider sends the person back from another site.
  const attributes = { path: '/', httpOnly: true, secure: true, sameSite: 'Lax', maxAge } as const;
  setCookie(c, COOKIE, toBase64Url(encrypted), { prefix: 'host', ...attributes });
  return flow;
}

/** Reads the flow that this browser began; null if there is none, or it has expired. */
export async function readFlow(c: HonoContext<AppEnv>): Promise<Flow | null> {
  const { config, runtime } = c.var;
  const encrypted = fromBase64Url(getCookie(c, COOKIE, 'host') ?? '');
  const text = encrypted && (await config.keyring.decrypt('oidc-flow', new Uint8Array(), encrypted));
  if (!text) return null;
  const flow: Flow = JSON.parse(text);
  return flow.expiresAt > runtime.now() ? flow : null;
}

export function clearFlow(c: HonoContext<AppEnv>): void {
  deleteCookie(c, COOKIE, { prefix: 'host', path: '/', secure: true });
}

/** The state of a flow as a single-use challenge, so that a flow signs in once. */
export function flowChallenge({ state, expiresAt }: Flow): Challenge {
  return { bytes: fromBase64Url(state) ?? new Uint8Array(), expiresAt };
}

import type { Context as HonoContext } from 'hono';
import type { AppEnv } from '../../../http/context';
import type { Challenge } from '../../../identity/challenge';
import type { Flow } from '../../../identity/oidc/authorization-code';
import { fromBase64Url, toBase64Url } from '../../../lib/bytes';
import { MINUTE } from '../../../lib/time';
import { clearCookie, readCookie, writeCookie } from '../../session/cookies';

/** Milliseconds that a person may take to sign in at the identity provider. */
const LIFETIME = 10 * MINUTE;

const COOKIE = 'countersign-oidc';
const RANDOM_LENGTH = 32;

/**
 * Begins a flow, and keeps it in an encrypted cookie, so that nothing is stored before the person
 * has signed in.
 */
export async function beginFlow(
  c: HonoContext<AppEnv>,
  purpose: Pick<Flow, 'invitation' | 'memberName' | 'returnPath' | 'needsRecent'>,
): Promise<Flow> {
  const { config, runtime } = c.var;
  const draw = () => toBase64Url(runtime.random(RANDOM_LENGTH));
  const flow = {
    state: draw(),
    nonce: draw(),
    verifier: draw(),
    ...purpose,
    expiresAt: runtime.now() + LIFETIME,
  };
  const text = JSON.stringify(flow);
  const encrypted = await config.keyring.encrypt(
    'oidc-flow',
    new Uint8Array(),
    runtime.random,
    text,
  );
  writeCookie(c, COOKIE, toBase64Url(encrypted), LIFETIME);
  return flow;
}

/** Reads the flow that this browser began; null if there is none, or it has expired. */
export async function readFlow(c: HonoContext<AppEnv>): Promise<Flow | null> {
  const { config, runtime } = c.var;
  const encrypted = fromBase64Url(readCookie(c, COOKIE) ?? '');
  const text =
    encrypted && (await config.keyring.decrypt('oidc-flow', new Uint8Array(), encrypted));
  if (!text) return null;
  const flow: Flow = JSON.parse(text);
  return flow.expiresAt > runtime.now() ? flow : null;
}

export function clearFlow(c: HonoContext<AppEnv>): void {
  clearCookie(c, COOKIE);
}

/** The state of a flow as a single-use challenge, so that a flow signs in once. */
export function flowChallenge({ state, expiresAt }: Flow): Challenge {
  return { bytes: fromBase64Url(state) ?? new Uint8Array(), expiresAt };
}

import { sha256, toBase64Url } from '../../src/lib/bytes';
import type { Browser } from './browser';
import type { Answer, Json, World } from './world';

const PATH = '/console/pair';

/** What a program remembers of a pairing that it began. */
export interface BegunPairing {
  /** The path of the page, with its query. */
  page: string;
  verifier: string;
  redirectUri: string;
  state: string;
}

/** Begins a pairing, as a program does. A parameter that is null is left out. */
export async function beginPairing(
  changes: Record<string, string | null> = {},
): Promise<BegunPairing> {
  const draw = () => toBase64Url(crypto.getRandomValues(new Uint8Array(32)));
  const verifier = draw();
  const parameters: Record<string, string | null> = {
    redirect_uri: 'http://127.0.0.1:49152/callback',
    state: draw(),
    code_challenge: toBase64Url(await sha256(verifier)),
    code_challenge_method: 'S256',
    name: 'countersign on laptop',
    ...changes,
  };
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    if (value !== null) query.set(name, value);
  const { redirect_uri, state } = parameters;
  return {
    page: `${PATH}?${query}`,
    verifier,
    redirectUri: redirect_uri ?? '',
    state: state ?? '',
  };
}

/**
 * Confirms a pairing in the browser of a member, and returns the code with which the browser comes
 * back.
 */
export async function confirmPairing(browser: Browser, { page }: BegunPairing): Promise<string> {
  const answer = await browser.submit(page, { decision: 'confirm' });
  if (answer.status !== 303) throw new Error(`the pairing was refused: ${answer.text}`);
  return new URL(answer.headers.get('Location') ?? '').searchParams.get('code') ?? '';
}

/** Exchanges a code for a user token. */
export function exchange(
  world: World,
  pairing: BegunPairing,
  code: string,
  fields: Json = {},
): Promise<Answer> {
  const body = {
    code,
    code_verifier: pairing.verifier,
    redirect_uri: pairing.redirectUri,
    ...fields,
  };
  return world.call('POST', '/v1/pairing', { body });
}

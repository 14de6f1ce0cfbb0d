import { createHash, randomBytes } from 'node:crypto';
import type { CreatedUserToken } from '../../api.ts';
import type { Countersign } from '../../countersign.ts';
import { ApiError } from '../../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { Failure } from '../failures.ts';
import { listenForCode } from './listen.ts';

interface PairOptions {
  /** The text that the person is asked to confirm. */
  name: string;
  /** Shows or opens the address at which the person confirms. */
  onAddress(address: string): Promise<void>;
}

/**
 * Gets a token of the person who confirms in the console: the authorization code flow with PKCE and
 * a loopback redirect (RFC 7636, RFC 8252 section 7.3).
 * @throws Failure if the person denies, or does not confirm in time
 */
export async function pair(
  client: Countersign,
  { name, onAddress }: PairOptions,
): Promise<CreatedUserToken> {
  const verifier = randomBytes(32).toString('base64url');
  const state = randomBytes(32).toString('base64url');
  const listener = await listenForCode(state);
  try {
    const { redirectUri } = listener;
    const address = new URL(`${client.baseUrl}/console/pair`);
    address.search = new URLSearchParams({
      redirect_uri: redirectUri,
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      name,
    }).toString();
    await onAddress(address.href);
    const answer = await listener.answer;
    if ('error' in answer) {
      if (answer.error === 'access_denied')
        throw new Failure('You denied the sign-in in the console.', EXIT.denied);
      throw new Failure(`The console refused the sign-in: ${answer.error}.`);
    }
    const body = { code: answer.code, code_verifier: verifier, redirect_uri: redirectUri };
    return await client.exchangePairingCode(body);
  } catch (error) {
    if (error instanceof ApiError && error.status === 400)
      throw new Failure(`${error.detail} Run countersign login.`);
    throw error;
  } finally {
    listener.close();
  }
}

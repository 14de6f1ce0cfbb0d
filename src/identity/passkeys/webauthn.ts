import type { AuthenticationResponseJSON } from '@simplewebauthn/server';
import * as z from 'zod';
import type { passkeys } from '../../db/schema';
import type { Config } from '../../env';
import { fromBase64Url, toBase64Url } from '../../lib/bytes';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { hasRowMac } from '../../lib/row-mac';
import { type OwnedPasskey, passkeyContent } from './passkey-mac';

const MAX_FIELD = 64 * 1024;

/** Bytes in base64url. */
export const bytesField = z
  .string()
  .max(MAX_FIELD)
  .regex(/^[A-Za-z0-9_-]+$/, 'must be base64url');

/**
 * The response of an authenticator, in the JSON form of WebAuthn Level 3 section 5.1. Its content
 * is checked later.
 */
export const credentialFields = {
  id: bytesField,
  rawId: bytesField,
  type: z.literal('public-key'),
};

/** An authentication: what `navigator.credentials.get` gave. */
export const AuthenticationResponse = lazy(() =>
  z
    .looseObject({
      ...credentialFields,
      response: z.looseObject({
        clientDataJSON: bytesField,
        authenticatorData: bytesField,
        signature: bytesField,
        userHandle: bytesField.nullish(),
      }),
      clientExtensionResults: z.looseObject({}).default({}),
    })
    .meta({
      id: 'AuthenticationResponse',
      description:
        'What `navigator.credentials.get` gave, in the JSON form of WebAuthn Level 3 section 5.1.',
    }),
);

export type AuthenticationResponse = LazyOutput<typeof AuthenticationResponse>;

/** The RP id: the host of the deployment. */
export function relyingParty({ publicUrl }: Pick<Config, 'publicUrl'>): string {
  return new URL(publicUrl).hostname;
}

/**
 * The challenge that a response says it answers, before it is verified; null if it comes from a
 * frame of another site.
 */
export function claimedChallenge(clientDataJson: string): string | null {
  try {
    const data = JSON.parse(
      new TextDecoder().decode(fromBase64Url(clientDataJson) ?? new Uint8Array()),
    );
    if (
      typeof data !== 'object' ||
      data === null ||
      data.crossOrigin === true ||
      data.topOrigin !== undefined
    )
      return null;
    return String(data.challenge);
  } catch {
    return null;
  }
}

/** A verified use of a passkey. */
interface PasskeyUse {
  /** The new value of the signature counter. */
  counter: number;
  /** Whether the counter is not higher than before, as when there is a copy of the passkey. */
  wentBack: boolean;
  /**
   * Whether the use is refused because the counter went back. It is not if the counter was 0 when
   * the passkey was added: passkeys that are synced between devices begin like this, and do not
   * count reliably.
   */
  isRefused: boolean;
}

/**
 * Verifies the response of an authenticator that used a passkey. The caller decides about its
 * counter.
 * @returns null if the service did not store the passkey like this, the signature, the challenge or
 *   the origin is wrong, the user was not verified, or the response comes from a frame of another
 *   site
 */
export async function verifyAuthentication(
  config: Pick<Config, 'publicUrl' | 'keyring'>,
  challenge: Uint8Array,
  response: AuthenticationResponse,
  passkey: OwnedPasskey & Pick<typeof passkeys.$inferSelect, 'counter' | 'mac'>,
): Promise<PasskeyUse | null> {
  const expectedChallenge = toBase64Url(challenge);
  if (claimedChallenge(response.response.clientDataJSON) !== expectedChallenge) return null;
  if (!(await hasRowMac(config.keyring, passkeyContent(passkey), passkey.mac))) return null;
  const { verifyAuthenticationResponse } = await import('./verify-passkey');
  const result = await verifyAuthenticationResponse({
    response: response as unknown as AuthenticationResponseJSON,
    expectedChallenge,
    expectedOrigin: config.publicUrl,
    expectedRPID: relyingParty(config),
    credential: {
      id: toBase64Url(passkey.id),
      publicKey: Uint8Array.from(passkey.publicKey),
      // Any counter is valid after 0.
      counter: 0,
    },
    requireUserVerification: true,
  }).catch(() => null);
  if (!result?.verified) return null;
  const counter = result.authenticationInfo.newCounter;
  const isCounting = counter > 0 || passkey.counter > 0;
  const wentBack = isCounting && counter <= passkey.counter;
  return { counter, wentBack, isRefused: wentBack && passkey.firstCounter !== 0 };
}

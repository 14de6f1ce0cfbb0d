import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import * as z from 'zod';
import type { passkeys } from '../db/schema';
import type { Config, Runtime } from '../env';
import { Problem } from '../errors';
import { text } from '../http/fields';
import { fromBase64Url, toBase64Url } from '../lib/bytes';
import { lazy } from '../lib/lazy';
import { type Challenge, makeChallenge, readChallenge } from './challenge';
import { encodeUserHandle, type UserHandle } from './user-handle';

/** The signature algorithms of passkeys, the preferred first (RFC 9053): EdDSA, ES256 and RS256. */
const ALGORITHMS = [-8, -7, -257];

const MAX_FIELD = 64 * 1024;
const bytesField = z
  .string()
  .max(MAX_FIELD)
  .regex(/^[A-Za-z0-9_-]+$/, 'must be base64url');

/** The response of an authenticator, in the JSON form of WebAuthn Level 3 section 5.1. Its content is checked later. */
const credentialFields = { id: bytesField, rawId: bytesField, type: z.literal('public-key') };

/** A registration: what `navigator.credentials.create` gave. */
export const RegistrationResponse = lazy(() =>
  z.looseObject({
    ...credentialFields,
    response: z.looseObject({ clientDataJSON: bytesField, attestationObject: bytesField }),
    clientExtensionResults: z.looseObject({}).default({}),
  }),
);

/** An authentication: what `navigator.credentials.get` gave. */
export const AuthenticationResponse = lazy(() =>
  z.looseObject({
    ...credentialFields,
    response: z.looseObject({
      clientDataJSON: bytesField,
      authenticatorData: bytesField,
      signature: bytesField,
      userHandle: bytesField,
    }),
    clientExtensionResults: z.looseObject({}).default({}),
  }),
);

export const passkeyName = lazy(() => text(1, 100));

type Settings = Pick<Config, 'keyring' | 'publicUrl'>;

/** Options for `navigator.credentials.create`: a discoverable passkey with user verification, without attestation. */
export async function creationOptions(
  { config, runtime }: { config: Settings; runtime: Runtime },
  purpose: string,
  user: UserHandle & { name: string; displayName: string; existing: Uint8Array[] },
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  return {
    rp: { id: relyingParty(config), name: 'Countersign' },
    user: { id: toBase64Url(encodeUserHandle(user)), name: user.name, displayName: user.displayName },
    challenge: await makeChallenge(config.keyring, runtime, purpose),
    pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
    timeout: 300_000,
    excludeCredentials: user.existing.map((id) => ({ type: 'public-key', id: toBase64Url(id) })),
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
    attestation: 'none',
  };
}

/** Options for `navigator.credentials.get`: any passkey of this service, with user verification. */
export async function requestOptions(
  { config, runtime }: { config: Settings; runtime: Runtime },
  purpose: string,
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  return {
    rpId: relyingParty(config),
    challenge: await makeChallenge(config.keyring, runtime, purpose),
    timeout: 300_000,
    userVerification: 'required',
  };
}

/** A new passkey, as the authenticator made it, and the challenge that it answered. */
export interface Registration {
  challenge: Challenge;
  passkey: { id: Uint8Array; publicKey: Uint8Array; counter: number };
}

/**
 * Verifies the response of an authenticator that made a passkey.
 * @throws Problem `invalid_request` if it does not answer a challenge for this purpose, or comes from another origin, or
 *   the user was not verified
 */
export async function verifyRegistration(
  { config, runtime }: { config: Settings; runtime: Runtime },
  purpose: string,
  response: z.output<ReturnType<typeof RegistrationResponse>>,
): Promise<Registration> {
  const challenge = await findChallenge(config, runtime, purpose, response.response.clientDataJSON);
  if (!challenge) throw invalidPasskey();
  const { verifyRegistrationResponse } = await import('./verify-passkey');
  const { registrationInfo } = await verifyRegistrationResponse({
    response: response as unknown as RegistrationResponseJSON,
    expectedChallenge: toBase64Url(challenge.bytes),
    expectedOrigin: config.publicUrl,
    expectedRPID: relyingParty(config),
    supportedAlgorithmIDs: ALGORITHMS,
    requireUserVerification: true,
  }).catch(() => ({ registrationInfo: undefined }));
  const id = fromBase64Url(registrationInfo?.credential.id ?? '');
  if (!registrationInfo || !id) throw invalidPasskey();
  const { publicKey, counter } = registrationInfo.credential;
  return { challenge, passkey: { id, publicKey: Uint8Array.from(publicKey), counter } };
}

/**
 * The challenge that an authenticator's response says it answers, before anything else of the response is verified.
 * @returns null if it is no challenge for this purpose, or comes from a frame of another site
 */
export async function findChallenge(
  { keyring }: Settings,
  { now }: Runtime,
  purpose: string,
  clientDataJson: string,
): Promise<Challenge | null> {
  const clientData = readClientData(clientDataJson);
  if (!clientData || clientData.crossOrigin === true || clientData.topOrigin !== undefined) return null;
  return readChallenge(keyring, purpose, String(clientData.challenge), now());
}

/**
 * Verifies the response of an authenticator that used a passkey.
 * @returns the new value of the signature counter; null if the signature, the origin or the counter is wrong, or the user
 *   was not verified
 */
export async function verifyAuthentication(
  config: Settings,
  challenge: Challenge,
  response: z.output<ReturnType<typeof AuthenticationResponse>>,
  passkey: Pick<typeof passkeys.$inferSelect, 'id' | 'publicKey' | 'counter'>,
): Promise<number | null> {
  const { verifyAuthenticationResponse } = await import('./verify-passkey');
  const result = await verifyAuthenticationResponse({
    response: response as unknown as AuthenticationResponseJSON,
    expectedChallenge: toBase64Url(challenge.bytes),
    expectedOrigin: config.publicUrl,
    expectedRPID: relyingParty(config),
    credential: {
      id: toBase64Url(passkey.id),
      publicKey: Uint8Array.from(passkey.publicKey),
      counter: passkey.counter,
    },
    requireUserVerification: true,
  }).catch(() => null);
  return result?.verified ? result.authenticationInfo.newCounter : null;
}

/** The RP id: the host of the deployment. */
function relyingParty({ publicUrl }: Pick<Settings, 'publicUrl'>): string {
  return new URL(publicUrl).hostname;
}

function readClientData(text: string): { challenge?: unknown; crossOrigin?: unknown; topOrigin?: unknown } | null {
  try {
    const data: unknown = JSON.parse(new TextDecoder().decode(fromBase64Url(text) ?? new Uint8Array()));
    return typeof data === 'object' ? data : null;
  } catch {
    return null;
  }
}

function invalidPasskey(): Problem {
  return new Problem('invalid_request', 'The passkey was not accepted. Load the page again and repeat the step.', {
    errors: [{ path: 'body.response', message: 'does not answer a current challenge of this service' }],
  });
}

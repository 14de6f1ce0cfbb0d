import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import * as z from 'zod';
import type { Config, Runtime } from '../../env';
import { Problem } from '../../errors';
import { text } from '../../http/fields';
import { concatBytes, fromBase64Url, toBase64Url } from '../../lib/bytes';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { formatId, type Id, idBytes } from '../../lib/typeid';
import { type Challenge, makeChallenge, readChallenge } from '../challenge';
import { canSignDecisions } from './signature-size';
import { bytesField, claimedChallenge, credentialFields, relyingParty } from './webauthn';

/**
 * The signature algorithms of passkeys, the preferred first (RFC 9053): ES256, which every browser
 * can verify, EdDSA and RS256.
 */
const ALGORITHMS = [-7, -8, -257];

/** A registration: what `navigator.credentials.create` gave. */
export const RegistrationResponse = lazy(() =>
  z.looseObject({
    ...credentialFields,
    response: z.looseObject({ clientDataJSON: bytesField, attestationObject: bytesField }),
    clientExtensionResults: z.looseObject({}).default({}),
  }),
);

export const passkeyName = lazy(() => text(1, 100));

type Settings = Pick<Config, 'keyring' | 'publicUrl'>;

/**
 * Options for `navigator.credentials.create`: a discoverable passkey with user verification,
 * without attestation.
 */
export async function creationOptions(
  { config, runtime }: { config: Settings; runtime: Runtime },
  purpose: string,
  user: UserHandle & { name: string; displayName: string; existing: Uint8Array[] },
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  return {
    rp: { id: relyingParty(config), name: 'Countersign' },
    user: {
      id: toBase64Url(encodeUserHandle(user)),
      name: user.name,
      displayName: user.displayName,
    },
    challenge: await makeChallenge(config.keyring, runtime, purpose),
    pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
    timeout: 300_000,
    excludeCredentials: user.existing.map((id) => ({ type: 'public-key', id: toBase64Url(id) })),
    authenticatorSelection: {
      residentKey: 'required',
      requireResidentKey: true,
      userVerification: 'required',
    },
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

/**
 * Verifies the response of an authenticator that made a passkey.
 * @returns the passkey, and the challenge that it answered
 * @throws Problem `invalid_request` if it does not answer a challenge for this purpose, or comes
 *   from another origin, or the user was not verified, or no decision could be signed with the
 *   passkey
 */
export async function verifyRegistration(
  { config, runtime }: { config: Settings; runtime: Runtime },
  purpose: string,
  response: LazyOutput<typeof RegistrationResponse>,
) {
  const challenge = await findChallenge(config, runtime, purpose, response.response.clientDataJSON);
  if (!challenge) throw invalidPasskey();
  const { cose, decodeCredentialPublicKey, verifyRegistrationResponse } = await import(
    './verify-passkey'
  );
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
  const key = decodeCredentialPublicKey(publicKey);
  const modulus = cose.isCOSEPublicKeyRSA(key) ? key.get(cose.COSEKEYS.n) : undefined;
  const lengths = {
    idLength: id.length,
    signatureLength: modulus?.length ?? LONGEST_CURVE_SIGNATURE,
  };
  if (!canSignDecisions(config, lengths)) throw tooLongPasskey();
  return {
    challenge,
    passkey: { id, publicKey: Uint8Array.from(publicKey), counter, firstCounter: counter },
  };
}

/**
 * The challenge that an authenticator's response says it answers, before anything else of the
 * response is verified.
 * @returns null if it is no challenge for this purpose, or comes from a frame of another site
 */
export async function findChallenge(
  { keyring }: Settings,
  { now }: Runtime,
  purpose: string,
  clientDataJson: string,
): Promise<Challenge | null> {
  const challenge = claimedChallenge(clientDataJson);
  return challenge === null ? null : readChallenge(keyring, purpose, challenge, now());
}

/** Bytes of the longest signature by a key on a curve: of ES256, in ASN.1 DER. */
const LONGEST_CURVE_SIGNATURE = 72;

function tooLongPasskey(): Problem {
  return new Problem(
    'invalid_request',
    'No decision could be signed with this passkey, because its signatures are too long. Use another authenticator.',
    {
      errors: [
        { path: 'body.response', message: 'has a key or an id that makes its signatures too long' },
      ],
    },
  );
}

function invalidPasskey(): Problem {
  return new Problem(
    'invalid_request',
    'The passkey was not accepted. Load the page again and repeat the step.',
    {
      errors: [
        { path: 'body.response', message: 'does not answer a current challenge of this service' },
      ],
    },
  );
}

/**
 * Whom a passkey belongs to. The passkey itself stores this, so that sign-in needs no directory.
 */
export interface UserHandle {
  /** The shard on which the account was when the passkey was made. */
  shard: string;
  account: Id<'user'>;
  member: Id<'member'>;
}

const SHARD_LENGTH = 2;
const ID_LENGTH = 16;

/** Encodes a user handle (WebAuthn Level 3 section 4): shard, account and member, 34 bytes. */
export function encodeUserHandle({ shard, account, member }: UserHandle): Uint8Array {
  return concatBytes(new TextEncoder().encode(shard), idBytes(account), idBytes(member));
}

/** Decodes a user handle; null if this service did not make it. */
export function decodeUserHandle(bytes: Uint8Array | null): UserHandle | null {
  if (bytes?.length !== SHARD_LENGTH + 2 * ID_LENGTH) return null;
  const shard = new TextDecoder().decode(bytes.subarray(0, SHARD_LENGTH));
  const ids = bytes.subarray(SHARD_LENGTH);
  return {
    shard,
    account: formatId('user', ids.slice(0, ID_LENGTH)),
    member: formatId('member', ids.slice(ID_LENGTH)),
  };
}

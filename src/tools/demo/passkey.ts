import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  type JsonWebKey,
  randomBytes,
  sign,
} from 'node:crypto';
import type { AuthenticationResponse } from '../../packages/client/api.ts';

/** A passkey of somebody in the demo, with its private key. */
export interface DemoPasskey {
  id: string;
  userHandle: string;
  privateKey: JsonWebKey;
}

/** The options that the service sends to a browser that makes a passkey, as far as used here. */
export interface CreationOptions {
  challenge: string;
  rp: { id: string };
  user: { id: string };
}

/** The flags of authenticator data: user present, user verified, has a credential. */
const FLAGS = { creation: 0x45, use: 0x05 };

/**
 * Answers `navigator.credentials.create` as an authenticator in software does (WebAuthn Level 3,
 * ES256).
 */
export function createPasskey(
  origin: string,
  { challenge, rp, user }: CreationOptions,
): { passkey: DemoPasskey; response: object } {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = keys.publicKey.export({ format: 'jwk' });
  const id = randomBytes(16);
  const data = Buffer.concat([
    authenticatorData(rp.id, FLAGS.creation),
    Buffer.alloc(16),
    Buffer.of(0, id.length),
    id,
    // {1: 2 (EC2), 3: -7 (ES256), -1: 1 (P-256), -2: x, -3: y}, in CBOR.
    Buffer.from('a5010203262001215820', 'hex'),
    Buffer.from(x, 'base64url'),
    Buffer.from('225820', 'hex'),
    Buffer.from(y, 'base64url'),
  ]);
  // {"fmt": "none", "attStmt": {}, "authData": data}, in CBOR.
  const attestation = Buffer.concat([
    Buffer.from('a363666d74646e6f6e656761747453746d74a068617574684461746158', 'hex'),
    Buffer.of(data.length),
    data,
  ]);
  const name = id.toString('base64url');
  const response = credentialJson(name, {
    clientDataJSON: clientData('webauthn.create', challenge, origin).toString('base64url'),
    attestationObject: attestation.toString('base64url'),
  });
  const privateKey = keys.privateKey.export({ format: 'jwk' });
  return { passkey: { id: name, userHandle: user.id, privateKey }, response };
}

/** Answers `navigator.credentials.get` with a passkey. */
export function usePasskey(
  { id, userHandle, privateKey }: DemoPasskey,
  origin: string,
  { challenge, rpId }: { challenge: string; rpId: string },
): AuthenticationResponse {
  const data = authenticatorData(rpId, FLAGS.use);
  const client = clientData('webauthn.get', challenge, origin);
  const signed = Buffer.concat([data, createHash('sha256').update(client).digest()]);
  const key = createPrivateKey({ key: privateKey, format: 'jwk' });
  return credentialJson(id, {
    clientDataJSON: client.toString('base64url'),
    authenticatorData: data.toString('base64url'),
    signature: sign('sha256', signed, key).toString('base64url'),
    userHandle,
  });
}

function authenticatorData(rpId: string, flags: number): Buffer {
  const hash = createHash('sha256').update(rpId).digest();
  return Buffer.concat([hash, Buffer.of(flags), Buffer.alloc(4)]);
}

function clientData(type: string, challenge: string, origin: string): Buffer {
  return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
}

function credentialJson<T>(id: string, response: T) {
  return { id, rawId: id, type: 'public-key', response, clientExtensionResults: {} } as const;
}

import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  type JsonWebKey,
  randomBytes,
  sign,
} from 'node:crypto';

/** A passkey of somebody in the demo, with its private key. */
export interface DemoPasskey {
  id: string;
  userHandle: string;
  privateKey: JsonWebKey;
}

const USER_PRESENT_AND_VERIFIED = 0x05;
const HAS_CREDENTIAL = 0x40;

/**
 * Answers `navigator.credentials.create` as an authenticator in software does (WebAuthn Level 3,
 * ES256).
 */
export function createPasskey(
  origin: string,
  options: { challenge: string; rp: { id: string }; user: { id: string } },
): { passkey: DemoPasskey; response: object } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const id = randomBytes(16);
  // {1: 2 (EC2), 3: -7 (ES256), -1: 1 (P-256), -2: x, -3: y}, in CBOR.
  const coseKey = Buffer.concat([
    ...[Buffer.from('a5010203262001215820', 'hex'), Buffer.from(x, 'base64url')],
    ...[Buffer.from('225820', 'hex'), Buffer.from(y, 'base64url')],
  ]);
  const credential = Buffer.concat([Buffer.alloc(16), Buffer.of(0, id.length), id, coseKey]);
  const data = authenticatorData(
    options.rp.id,
    USER_PRESENT_AND_VERIFIED | HAS_CREDENTIAL,
    credential,
  );
  // {"fmt": "none", "attStmt": {}, "authData": data}, in CBOR.
  const attestation = Buffer.concat([
    Buffer.from('a363666d74646e6f6e656761747453746d74a068617574684461746158', 'hex'),
    Buffer.of(data.length),
    data,
  ]);
  const clientData = clientDataOf('webauthn.create', options.challenge, origin);
  return {
    passkey: {
      id: id.toString('base64url'),
      userHandle: options.user.id,
      privateKey: privateKey.export({ format: 'jwk' }),
    },
    response: credentialJson(id.toString('base64url'), {
      clientDataJSON: clientData.toString('base64url'),
      attestationObject: attestation.toString('base64url'),
    }),
  };
}

/** Answers `navigator.credentials.get` with a passkey. */
export function usePasskey(
  { id, userHandle, privateKey }: DemoPasskey,
  origin: string,
  options: { challenge: string; rpId: string },
): object {
  const data = authenticatorData(options.rpId, USER_PRESENT_AND_VERIFIED);
  const clientData = clientDataOf('webauthn.get', options.challenge, origin);
  const hash = createHash('sha256').update(clientData).digest();
  const key = createPrivateKey({ key: privateKey, format: 'jwk' });
  return credentialJson(id, {
    clientDataJSON: clientData.toString('base64url'),
    authenticatorData: data.toString('base64url'),
    signature: sign('sha256', Buffer.concat([data, hash]), key).toString('base64url'),
    userHandle,
  });
}

function authenticatorData(rpId: string, flags: number, credential = Buffer.alloc(0)): Buffer {
  const hash = createHash('sha256').update(rpId).digest();
  return Buffer.concat([hash, Buffer.of(flags), Buffer.alloc(4), credential]);
}

function clientDataOf(type: string, challenge: string, origin: string): Buffer {
  return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
}

function credentialJson(id: string, response: object): object {
  return { id, rawId: id, type: 'public-key', response, clientExtensionResults: {} };
}

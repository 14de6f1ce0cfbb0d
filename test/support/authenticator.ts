import { concatBytes, fromBase64Url, toBase64Url } from '../../src/lib/bytes';
import type { Json } from './world';

/** How a response differs from what it should be. */
export interface Tampering {
  origin?: string;
  rpId?: string;
  challenge?: string;
  /** The flags of the authenticator data, without the one for a new credential. */
  flags?: number;
  clientData?: Record<string, unknown>;
  userHandle?: string;
  /** The counter; by default one more each time. */
  counter?: number;
  /** Changes the client data after it was signed. */
  alterAfterwards?: boolean;
  /** The id of a new passkey. */
  credentialId?: Uint8Array;
  /**
   * Makes a passkey with an RSA key of this size, which can sign nothing here. By default its key
   * is on P-256.
   */
  rsaBits?: number;
}

const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;
const HAS_CREDENTIAL = 0x40;

/**
 * A software authenticator with discoverable passkeys (WebAuthn Level 3), for one browser on one
 * origin.
 */
export class Authenticator {
  private passkeys: { id: Uint8Array; key: CryptoKeyPair; userHandle: string; counter: number }[] =
    [];

  constructor(private readonly origin: string) {}

  /** Answers `navigator.credentials.create`: makes a passkey, in the JSON form of section 5.1. */
  async create(options: Json, tampering: Tampering = {}): Promise<Json> {
    const key = (await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, [
      'sign',
      'verify',
    ])) as CryptoKeyPair;
    const id = tampering.credentialId ?? crypto.getRandomValues(new Uint8Array(16));
    const publicKey = tampering.rsaBits ? rsaKey(tampering.rsaBits) : await curveKey(key.publicKey);
    const length = Uint8Array.of(id.length >> 8, id.length & 0xff);
    const credential = concatBytes(new Uint8Array(16), length, id, publicKey);
    const flags = (tampering.flags ?? USER_PRESENT | USER_VERIFIED) | HAS_CREDENTIAL;
    const data = await authenticatorData(
      tampering.rpId ?? options.rp.id,
      flags,
      tampering.counter ?? 0,
      credential,
    );
    // {fmt: "none", attStmt: {}, authData: bytes}
    const attestation = concatBytes(
      Uint8Array.of(0xa3),
      cborText('fmt'),
      cborText('none'),
      cborText('attStmt'),
      Uint8Array.of(0xa0),
      cborText('authData'),
      cborBytes(data),
    );
    this.passkeys.push({ id, key, userHandle: options.user.id, counter: 0 });
    return {
      id: toBase64Url(id),
      rawId: toBase64Url(id),
      type: 'public-key',
      response: {
        clientDataJSON: toBase64Url(
          this.clientData('webauthn.create', options.challenge, tampering),
        ),
        attestationObject: toBase64Url(attestation),
        transports: ['internal'],
      },
      clientExtensionResults: {},
      authenticatorAttachment: 'platform',
    };
  }

  /** Answers `navigator.credentials.get` with one of its passkeys, by default the newest. */
  async get(
    options: Json,
    tampering: Tampering = {},
    index = this.passkeys.length - 1,
  ): Promise<Json> {
    const passkey = this.passkeys[index];
    if (!passkey) throw new Error('the authenticator has no passkey');
    passkey.counter += 1;
    const flags = tampering.flags ?? USER_PRESENT | USER_VERIFIED;
    const counter = tampering.counter ?? passkey.counter;
    const data = await authenticatorData(tampering.rpId ?? options.rpId, flags, counter);
    const clientData = this.clientData('webauthn.get', options.challenge, tampering);
    const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', clientData));
    const signed = concatBytes(data, hash);
    const raw = await crypto.subtle.sign(
      { name: 'ECDSA', hash: 'SHA-256' },
      passkey.key.privateKey,
      signed,
    );
    const sent = tampering.alterAfterwards
      ? this.clientData('webauthn.get', options.challenge, {
          ...tampering,
          clientData: { extra: 1 },
        })
      : clientData;
    return {
      id: toBase64Url(passkey.id),
      rawId: toBase64Url(passkey.id),
      type: 'public-key',
      response: {
        clientDataJSON: toBase64Url(sent),
        authenticatorData: toBase64Url(data),
        signature: toBase64Url(derSignature(new Uint8Array(raw))),
        userHandle: tampering.userHandle ?? passkey.userHandle,
      },
      clientExtensionResults: {},
      authenticatorAttachment: 'platform',
    };
  }

  private clientData(
    type: string,
    challenge: string,
    tampering: Tampering,
  ): Uint8Array<ArrayBuffer> {
    const data = {
      type,
      challenge: tampering.challenge ?? challenge,
      origin: tampering.origin ?? this.origin,
      crossOrigin: false,
      ...tampering.clientData,
    };
    return Uint8Array.from(new TextEncoder().encode(JSON.stringify(data)));
  }
}

/** A key on P-256 as a COSE_Key (RFC 9053 section 7.1). */
async function curveKey(key: CryptoKey): Promise<Uint8Array> {
  const { x = '', y = '' } = (await crypto.subtle.exportKey('jwk', key)) as JsonWebKey;
  return concatBytes(
    Uint8Array.of(0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21),
    cborBytes(fromBase64Url(x)),
    Uint8Array.of(0x22),
    cborBytes(fromBase64Url(y)),
  );
}

/**
 * A key for RS256 with a modulus of this size and the exponent 65537, as a COSE_Key (RFC 8230
 * section 4).
 */
function rsaKey(bits: number): Uint8Array {
  return concatBytes(
    Uint8Array.of(0xa4, 0x01, 0x03, 0x03, 0x39, 0x01, 0x00, 0x20),
    cborBytes(new Uint8Array(bits / 8).fill(0xff)),
    Uint8Array.of(0x21),
    cborBytes(Uint8Array.of(1, 0, 1)),
  );
}

async function authenticatorData(
  rpId: string,
  flags: number,
  counter: number,
  credential: Uint8Array = new Uint8Array(),
) {
  const hash = new Uint8Array(
    await crypto.subtle.digest('SHA-256', new TextEncoder().encode(rpId)),
  );
  const count = new Uint8Array(4);
  new DataView(count.buffer).setUint32(0, counter);
  return Uint8Array.from(concatBytes(hash, Uint8Array.of(flags), count, credential));
}

/** A byte string in CBOR (RFC 8949), of less than 65,536 bytes. */
function cborBytes(bytes: Uint8Array | null): Uint8Array {
  const { length } = bytes ?? [];
  const head =
    length < 24
      ? [0x40 | length]
      : length < 256
        ? [0x58, length]
        : [0x59, length >> 8, length & 0xff];
  return concatBytes(Uint8Array.from(head), bytes ?? new Uint8Array());
}

/** A text in CBOR, of less than 24 characters. */
function cborText(text: string): Uint8Array {
  return concatBytes(Uint8Array.of(0x60 | text.length), new TextEncoder().encode(text));
}

/** An ECDSA signature in ASN.1 DER, as authenticators give it. */
function derSignature(raw: Uint8Array): Uint8Array {
  const integer = (bytes: Uint8Array) => {
    const first = bytes.findIndex((byte) => byte !== 0);
    const value = bytes.subarray(first === -1 ? bytes.length - 1 : first);
    const padded = (value[0] ?? 0) & 0x80 ? concatBytes(Uint8Array.of(0), value) : value;
    return concatBytes(Uint8Array.of(0x02, padded.length), padded);
  };
  const body = concatBytes(integer(raw.subarray(0, 32)), integer(raw.subarray(32)));
  return concatBytes(Uint8Array.of(0x30, body.length), body);
}

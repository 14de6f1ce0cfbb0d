import type { PasskeyKey } from './cose-key.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { sha256 } from './merkle.ts';
import { decodeBase64Url } from './note.ts';

/** A signature by a passkey (WebAuthn Level 3 section 6.3.3). */
export interface Assertion {
  authenticatorData: Buffer;
  clientDataJson: Buffer;
  signature: Buffer;
  /** The parsed `clientDataJson`. */
  clientData: JsonObject;
}

const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;
const BACKUP_ELIGIBLE = 0x08;
const BACKED_UP = 0x10;
const RP_ID_HASH_BYTES = 32;
const MIN_AUTHENTICATOR_DATA_BYTES = 37;

/**
 * Reads an assertion whose fields are in base64url.
 * @throws SyntaxError if it is malformed
 */
export function readAssertion(
  fields: Record<'authenticator_data' | 'client_data_json' | 'signature', string>,
) {
  const decode = (name: keyof typeof fields) => {
    const bytes = decodeBase64Url(fields[name]);
    if (!bytes) throw new SyntaxError(`the ${name} of its signature is not canonical base64url`);
    return bytes;
  };
  const clientDataJson = decode('client_data_json');
  return {
    authenticatorData: decode('authenticator_data'),
    clientDataJson,
    signature: decode('signature'),
    clientData: readClientData(clientDataJson),
  } satisfies Assertion;
}

function readClientData(bytes: Buffer): JsonObject {
  try {
    const data: unknown = JSON.parse(
      new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes),
    );
    if (isJsonObject(data)) return data;
  } catch {
    // Neither UTF-8 nor JSON.
  }
  throw new SyntaxError('the client_data_json of its signature is not a JSON object');
}

/**
 * Checks an assertion by WebAuthn Level 3 section 7.2, steps 10 to 21. The signature counter is not
 * checked: the log does not have all uses of a passkey.
 * @param challenge null if it cannot be known; it is then not checked
 * @param origin the origin of the relying party, whose host is the RP id
 * @returns what is wrong, as the rest of a sentence about the signature; null if nothing is
 */
export function findAssertionFault(
  { authenticatorData, clientDataJson, signature, clientData }: Assertion,
  { challenge, origin, key }: { challenge: Buffer | null; origin: string; key: PasskeyKey },
): string | null {
  if (clientData.type !== 'webauthn.get') return 'is not one of webauthn.get';
  if (challenge && clientData.challenge !== challenge.toString('base64url')) {
    return 'is of another decision than the one in the log';
  }
  if (clientData.origin !== origin) return 'was made at another origin';
  if (clientData.crossOrigin === true || clientData.topOrigin !== undefined)
    return 'was made in a frame of another site';
  if (authenticatorData.length < MIN_AUTHENTICATOR_DATA_BYTES)
    return 'has truncated authenticator data';
  const rpIdHash = sha256(Buffer.from(new URL(origin).hostname));
  if (!authenticatorData.subarray(0, RP_ID_HASH_BYTES).equals(rpIdHash))
    return 'was made for another host';
  const flags = authenticatorData[RP_ID_HASH_BYTES] ?? 0;
  if (!(flags & USER_PRESENT)) return 'was made without a person present';
  if (!(flags & USER_VERIFIED)) return 'was made without verifying the person';
  if (!(flags & BACKUP_ELIGIBLE) && flags & BACKED_UP) return 'has inconsistent backup flags';
  const signed = Buffer.concat([authenticatorData, sha256(clientDataJson)]);
  return key.hasSigned(signed, signature) ? null : 'was not made by the pinned key';
}

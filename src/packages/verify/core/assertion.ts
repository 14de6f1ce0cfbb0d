import { concatBytes, decodeBase64Url, isEqual, sha256, utf8 } from './bytes.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import type { SignatureKey } from './signature.ts';

/** A signature by a passkey (WebAuthn Level 3 section 6.3.3). */
export interface Assertion {
  authenticatorData: Uint8Array;
  clientDataJson: Uint8Array;
  signature: Uint8Array;
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

function readClientData(bytes: Uint8Array): JsonObject {
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

/** The check of WebAuthn Level 3 section 7.2 that an assertion does not pass. */
export type AssertionFault =
  | 'type'
  | 'challenge'
  | 'origin'
  | 'frame'
  | 'truncated'
  | 'host'
  | 'presence'
  | 'verification'
  | 'backup'
  | 'signature';

/**
 * Checks an assertion by WebAuthn Level 3 section 7.2, steps 10 to 21. The signature counter is not
 * checked: the log does not have all uses of a passkey.
 * @param challenge in base64url; null if it cannot be known; it is then not checked
 * @param origin the origin of the relying party, whose host is the RP id
 * @returns the first check that fails; null if all pass
 * @throws UnsupportedAlgorithm
 */
export async function findAssertionFault(
  { authenticatorData, clientDataJson, signature, clientData }: Assertion,
  { challenge, origin, key }: { challenge: string | null; origin: string; key: SignatureKey },
): Promise<AssertionFault | null> {
  if (clientData.type !== 'webauthn.get') return 'type';
  if (challenge !== null && clientData.challenge !== challenge) return 'challenge';
  if (clientData.origin !== origin) return 'origin';
  if (clientData.crossOrigin === true || clientData.topOrigin !== undefined) return 'frame';
  if (authenticatorData.length < MIN_AUTHENTICATOR_DATA_BYTES) return 'truncated';
  const rpIdHash = await sha256(utf8(new URL(origin).hostname));
  if (!isEqual(authenticatorData.subarray(0, RP_ID_HASH_BYTES), rpIdHash)) return 'host';
  const flags = authenticatorData[RP_ID_HASH_BYTES] ?? 0;
  if (!(flags & USER_PRESENT)) return 'presence';
  if (!(flags & USER_VERIFIED)) return 'verification';
  if (!(flags & BACKUP_ELIGIBLE) && flags & BACKED_UP) return 'backup';
  const signed = concatBytes(authenticatorData, await sha256(clientDataJson));
  return (await key.hasSigned(signed, signature)) ? null : 'signature';
}

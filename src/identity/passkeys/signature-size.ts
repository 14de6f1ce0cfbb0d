import type { VoteSignature } from '../../db/schema';
import type { Config } from '../../env';
import { EXAMPLE } from '../../http/examples';
import { toBase64Url } from '../../lib/bytes';

/** Maximum size of a signature that is stored with a vote, as JSON. */
export const MAX_SIGNATURE_BYTES = 2 * 1024;

/** Whether a signature is short enough to be stored with a vote. */
export function isWithinLimit(signature: VoteSignature): boolean {
  return JSON.stringify(signature).length <= MAX_SIGNATURE_BYTES;
}

/** Bytes of authenticator data without extensions (WebAuthn Level 3 section 6.1). */
const AUTHENTICATOR_DATA_LENGTH = 37;

/**
 * Whether decisions can be signed with a passkey: whether its signatures are short enough to be
 * stored with a vote.
 * @param passkey the bytes of its credential id and of its signatures
 */
export function canSignDecisions(
  { publicUrl }: Pick<Config, 'publicUrl'>,
  { idLength, signatureLength }: { idLength: number; signatureLength: number },
): boolean {
  const zeros = (length: number) => toBase64Url(new Uint8Array(length));
  const clientData = {
    type: 'webauthn.get',
    challenge: zeros(32),
    origin: publicUrl,
    crossOrigin: false,
  };
  return isWithinLimit({
    credential_id: zeros(idLength),
    signed_at: EXAMPLE.time,
    authenticator_data: zeros(AUTHENTICATOR_DATA_LENGTH),
    client_data_json: toBase64Url(new TextEncoder().encode(JSON.stringify(clientData))),
    signature: zeros(signatureLength),
  });
}

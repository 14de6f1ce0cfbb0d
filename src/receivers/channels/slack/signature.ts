import { MINUTE, SECOND } from '../../../lib/time';

/** How far the timestamp of a request may be from the service's clock, in either direction. */
const MAX_CLOCK_SKEW = 5 * MINUTE;

const TIMESTAMP = /^\d{1,12}$/;
const SIGNATURE = /^v0=([0-9a-f]{64})$/;

interface SignedRequest {
  /** The signing secret of the Slack app. */
  signingSecret: string;
  /** The header `X-Slack-Request-Timestamp`; null if the request has none. */
  timestamp: string | null;
  /** The header `X-Slack-Signature`; null if the request has none. */
  signature: string | null;
  /** The body as received, before any parsing. */
  body: string;
  /** Milliseconds since the epoch. */
  now: number;
}

/**
 * Whether a request was signed with the app's signing secret within the last five minutes. The
 * signature is compared in constant time.
 * @see https://docs.slack.dev/authentication/verifying-requests-from-slack
 */
export async function isFromSlack({
  signingSecret,
  timestamp,
  signature,
  body,
  now,
}: SignedRequest): Promise<boolean> {
  const [, hex] = SIGNATURE.exec(signature ?? '') ?? [];
  if (timestamp === null || !TIMESTAMP.test(timestamp) || hex === undefined || signingSecret === '')
    return false;
  if (Math.abs(now - Number(timestamp) * SECOND) > MAX_CLOCK_SKEW) return false;
  const encoder = new TextEncoder();
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey(
    'raw',
    encoder.encode(signingSecret),
    algorithm,
    false,
    ['verify'],
  );
  return crypto.subtle.verify(
    'HMAC',
    key,
    Uint8Array.fromHex(hex),
    encoder.encode(`v0:${timestamp}:${body}`),
  );
}

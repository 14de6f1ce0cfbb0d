/** The name of a header field (RFC 9110 section 5.1). */
export const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/;

/** Fields that are about one connection between two programs (RFC 9110 section 7.6.1). */
const HOP_BY_HOP = [
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authenticate', 'proxy-authorization'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade'],
];

/** Fields that say how a message is read, and the one that the service itself sets. */
const FRAMING = [
  ...['host', 'content-length', 'content-type', 'content-encoding', 'expect', 'idempotency-key'],
  ...HOP_BY_HOP,
];

const NEVER_FORWARDED = [
  ...['authorization', 'cookie', 'x-api-key', 'host', 'content-length', 'idempotency-key'],
  ...HOP_BY_HOP,
];

/** Whether no connection may send its credential in this header. */
export function framesMessage(name: string): boolean {
  return FRAMING.includes(name.toLowerCase());
}

/** Whether no connection may send on this header of an agent. */
export function isNeverForwarded(name: string): boolean {
  const lower = name.toLowerCase();
  return NEVER_FORWARDED.includes(lower) || lower.startsWith('x-forwarded-');
}

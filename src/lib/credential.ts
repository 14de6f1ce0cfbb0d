import { encodeBase62, randomBase62 } from './base62';
import { crc32 } from './crc32';

const KIND_PREFIX = {
  user: 'csu_',
  agent: 'csa_',
  invitation: 'csi_',
  session: 'css_',
  inbound: 'csh_',
} as const;

/**
 * `user` stands for user tokens, `agent` for agent keys, `invitation` for the secrets of members'
 * invitations, `session` for those of console sessions, `inbound` for those in the addresses at
 * which Slack calls the service.
 */
export type CredentialKind = keyof typeof KIND_PREFIX;

const FORM = /^(cs[uaish]_)([0-9A-Za-z]{2})[0-9A-Za-z]{32}[0-9A-Za-z]{6}$/;
const CHECKSUM_LENGTH = 6;
const DISPLAY_LENGTH = 12;

/**
 * Makes a credential: kind prefix, two shard characters, 32 random base62 characters, and the
 * CRC-32 of all of these in base62. The checksum lets a scanner recognize a leaked credential
 * without calling the service.
 */
export function makeCredential(
  kind: CredentialKind,
  shard: string,
  random: (bytes: number) => Uint8Array,
): string {
  const body = KIND_PREFIX[kind] + shard + randomBase62(32, random);
  return body + checksum(body);
}

/**
 * Reads the kind and the shard's name from a credential of one of these kinds; null if it is of
 * another kind, or its length, alphabet or checksum is wrong.
 */
export function parseCredential<K extends CredentialKind>(
  text: string,
  ...kinds: K[]
): ParsedCredential<K> | null {
  const match = FORM.exec(text);
  const kind = kinds.find((kind) => KIND_PREFIX[kind] === match?.[1]);
  if (!match?.[2] || !kind) return null;
  if (checksum(text.slice(0, -CHECKSUM_LENGTH)) !== text.slice(-CHECKSUM_LENGTH)) return null;
  return { kind, shard: match[2] };
}

export interface ParsedCredential<K extends CredentialKind> {
  kind: K;
  shard: string;
}

/** A regular expression for the credentials of a kind. It does not check the checksum. */
export function credentialPattern(kind: CredentialKind): string {
  return FORM.source.replace('(cs[uaish]_)', KIND_PREFIX[kind]);
}

/** The first characters of a credential, which may be stored and shown as plain text. */
export function displayPrefix(credential: string): string {
  return credential.slice(0, DISPLAY_LENGTH);
}

function checksum(body: string): string {
  return encodeBase62(crc32(body), CHECKSUM_LENGTH);
}

import * as z from 'zod';
import type { Config } from '../env';
import { equalBytes } from '../lib/bytes';
import { type LazyOutput, lazy } from '../lib/lazy';
import type { Id } from '../lib/typeid';

/**
 * The content of a signed address: a URL that grants the download to everyone who knows it, until
 * it expires.
 */
export interface SignedAddress {
  /** The identifier of an export or a report. */
  id: string;
  document: 'file' | 'proof';
  account: Id<'user'>;
  shard: string;
  /** When the address expires, in milliseconds since the epoch. */
  expires: number;
}

/**
 * The query parameters of a signed address. {@link readSignedAddress} verifies them: the signature
 * covers all of them.
 */
export const SignedAddressQuery = lazy(() =>
  z.strictObject({
    document: z.string().default('file'),
    account: z.string().default(''),
    shard: z.string().default(''),
    expires: z.string().default(''),
    signature: z.string().default(''),
  }),
);

/**
 * Returns an address at which anyone who knows it can download a file or its proof. It has no
 * random part: equal contents have equal addresses until the newest root secret changes.
 */
export async function signAddress(
  { keyring, publicUrl }: Config,
  address: SignedAddress,
): Promise<string> {
  const [mac] = await keyring.mac('download-address', text(address));
  const { id, document, account, shard, expires } = address;
  const query = new URLSearchParams({
    account,
    shard,
    expires: `${expires}`,
    signature: encode(mac),
  });
  if (document !== 'file') query.set('document', document);
  return `${publicUrl}/v1/downloads/${id}?${query}`;
}

/** Verifies the signature of an address and returns its content; null if the signature is wrong. */
export async function readSignedAddress(
  { keyring }: Config,
  id: string,
  { document, account, shard, expires, signature }: LazyOutput<typeof SignedAddressQuery>,
): Promise<SignedAddress | null> {
  const address = {
    id,
    document: document as SignedAddress['document'],
    account: account as Id<'user'>,
    shard,
    expires: Number(expires),
  };
  const macs = await keyring.mac('download-address', text({ ...address, expires }));
  const given = new TextEncoder().encode(signature);
  const known = macs.some((mac) => equalBytes(new TextEncoder().encode(encode(mac)), given));
  if (!known) return null;
  return address;
}

function text({
  id,
  document,
  account,
  shard,
  expires,
}: Record<keyof SignedAddress, string | number>): string {
  return JSON.stringify([id, document, account, shard, `${expires}`]);
}

function encode(mac: Uint8Array): string {
  return mac.toBase64({ alphabet: 'base64url', omitPadding: true });
}

import * as z from 'zod';
import type { Config, Runtime } from '../../../env';
import { equalBytes, fromBase64Url, toBase64Url } from '../../../lib/bytes';
import { type LazyOutput, lazy } from '../../../lib/lazy';
import { DAY } from '../../../lib/time';
import type { Id } from '../../../lib/typeid';

/** How long the link of a confirmation mail works, in milliseconds. */
const LIFETIME = DAY;

/** Whose address is to be confirmed. */
export interface AddressOwner {
  account: Id<'user'>;
  member: Id<'member'>;
  email: string;
}

/** The query parameters of the page. {@link isConfirmationAddress} verifies them. */
export const ConfirmationQuery = lazy(() =>
  z.strictObject({
    member: z.string().default(''),
    expires: z.string().default(''),
    signature: z.string().default(''),
  }),
);

/**
 * Returns the address of the page on which a member confirms an e-mail address. It grants nothing:
 * the page asks for sign-in as this member, so it carries neither the account nor the shard.
 */
export async function signConfirmationAddress(
  { keyring, publicUrl }: Pick<Config, 'keyring' | 'publicUrl'>,
  runtime: Pick<Runtime, 'now'>,
  owner: AddressOwner,
): Promise<string> {
  const expires = `${runtime.now() + LIFETIME}`;
  const [mac] = await keyring.mac('email-confirmation', textOf(owner, expires));
  const query = new URLSearchParams({ member: owner.member, expires, signature: toBase64Url(mac) });
  return `${publicUrl}/console/me/email?${query}`;
}

/**
 * Whether the address of the page was made for a member and their e-mail address, and has not
 * expired.
 */
export async function isConfirmationAddress(
  { keyring }: Pick<Config, 'keyring'>,
  runtime: Pick<Runtime, 'now'>,
  { member, expires, signature }: LazyOutput<typeof ConfirmationQuery>,
  owner: AddressOwner,
): Promise<boolean> {
  const given = fromBase64Url(signature);
  if (!given || member !== owner.member || !(Number(expires) > runtime.now())) return false;
  const macs = await keyring.mac('email-confirmation', textOf(owner, expires));
  return macs.some((mac) => equalBytes(mac, given));
}

function textOf({ account, member, email }: AddressOwner, expires: string): string {
  return JSON.stringify([account, member, email, expires]);
}

import * as z from 'zod';
import type { Config, Runtime } from '../../../env';
import { equalBytes, fromBase64Url, toBase64Url, toHex } from '../../../lib/bytes';
import { type LazyOutput, lazy } from '../../../lib/lazy';
import { MINUTE } from '../../../lib/time';
import { type Id, withPrefix } from '../../../lib/typeid';
import type { SlackUser } from './interaction';

/** How long the page can be opened and confirmed, in milliseconds. */
const LIFETIME = 15 * MINUTE;

/** The channel for which a Slack user asks to be linked. */
interface LinkedChannel {
  id: Id<'webhook'>;
  /** Its encrypted secrets. */
  secret: Uint8Array;
}

/**
 * The query parameters of the page. {@link readLinkAddress} verifies them: the signature covers all
 * others.
 */
export const LinkQuery = lazy(() =>
  z.strictObject({
    channel: z.string().default(''),
    team: z.string().default(''),
    user: z.string().default(''),
    expires: z.string().default(''),
    signature: z.string().default(''),
  }),
);

/**
 * Returns the address of the page on which a member confirms that a Slack user is theirs. It grants
 * nothing: the page asks for sign-in, and compares e-mail addresses. It is no longer valid once the
 * channel has other secrets.
 * @param user as Slack named them in a signed request
 */
export async function signLinkAddress(
  { keyring, publicUrl }: Pick<Config, 'keyring' | 'publicUrl'>,
  runtime: Pick<Runtime, 'now'>,
  channel: LinkedChannel,
  user: SlackUser,
): Promise<string> {
  const expires = `${runtime.now() + LIFETIME}`;
  const statement = {
    channel: withPrefix('chan', channel.id),
    team: user.teamId,
    user: user.id,
    expires,
  };
  const [mac] = await keyring.mac('slack-link', textOf(statement, channel));
  const query = new URLSearchParams({ ...statement, signature: toBase64Url(mac) });
  return `${publicUrl}/console/slack/link?${query}`;
}

/**
 * Verifies the address of the page, and returns the Slack user who asks to be linked. Returns null
 * if the address was changed, has expired, or is for another channel or for earlier secrets of this
 * one.
 */
export async function readLinkAddress(
  { keyring }: Pick<Config, 'keyring'>,
  runtime: Pick<Runtime, 'now'>,
  { signature, ...statement }: LazyOutput<typeof LinkQuery>,
  channel: LinkedChannel,
): Promise<SlackUser | null> {
  const given = fromBase64Url(signature);
  if (!given || statement.channel !== withPrefix('chan', channel.id)) return null;
  if (!(Number(statement.expires) > runtime.now())) return null;
  const macs = await keyring.mac('slack-link', textOf(statement, channel));
  if (!macs.some((mac) => equalBytes(mac, given))) return null;
  return { id: statement.user, teamId: statement.team };
}

type Statement = Record<'channel' | 'team' | 'user' | 'expires', string>;

function textOf({ channel, team, user, expires }: Statement, { secret }: LinkedChannel): string {
  return JSON.stringify([channel, team, user, expires, toHex(secret)]);
}

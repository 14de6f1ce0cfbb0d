import * as z from 'zod';
import type { Config, Runtime } from '../../env';
import { equalBytes, fromBase64Url, toBase64Url } from '../../lib/bytes';
import { lazy } from '../../lib/lazy';
import { MINUTE } from '../../lib/time';
import { type Id, parseId } from '../../lib/typeid';
import type { SlackUser } from './payload';

/** How long the page can be opened and confirmed, in milliseconds. */
const LIFETIME = 15 * MINUTE;

/** Which Slack user asks to be linked, and for which channel. Slack itself has said so, in a signed request. */
export interface LinkRequest {
  channel: Id<'chan'>;
  user: SlackUser;
}

/** The query parameters of the page. {@link readLinkAddress} verifies them: the signature covers all of them. */
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
 * Returns the address of the page on which a member confirms that a Slack user is theirs. It grants nothing: the page asks
 * for sign-in, and compares e-mail addresses.
 */
export async function signLinkAddress(
  { keyring, publicUrl }: Pick<Config, 'keyring' | 'publicUrl'>,
  runtime: Pick<Runtime, 'now'>,
  { channel, user }: LinkRequest,
): Promise<string> {
  const statement = { channel, team: user.teamId, user: user.id, expires: `${runtime.now() + LIFETIME}` };
  const [mac] = await keyring.mac('slack-link', textOf(statement));
  return `${publicUrl}/console/slack/link?${new URLSearchParams({ ...statement, signature: toBase64Url(mac) })}`;
}

/** Verifies the address of the page; null if it was changed or has expired. */
export async function readLinkAddress(
  { keyring }: Pick<Config, 'keyring'>,
  runtime: Pick<Runtime, 'now'>,
  { signature, ...statement }: z.output<ReturnType<typeof LinkQuery>>,
): Promise<LinkRequest | null> {
  const given = fromBase64Url(signature);
  const channel = parseId('chan', statement.channel);
  if (!given || !channel || !(Number(statement.expires) > runtime.now())) return null;
  const macs = await keyring.mac('slack-link', textOf(statement));
  if (!macs.some((mac) => equalBytes(mac, given))) return null;
  return { channel, user: { id: statement.user, teamId: statement.team } };
}

function textOf({ channel, team, user, expires }: Record<'channel' | 'team' | 'user' | 'expires', string>): string {
  return JSON.stringify([channel, team, user, expires]);
}

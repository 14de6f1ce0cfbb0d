import { readDemoAccount } from '../demo-account.ts';

/**
 * The channel that writes to the reviewers of payouts: of few requests, so that the demo sends few
 * mails where it can send any.
 */
const CHANNEL = { kind: 'email', name: 'Mail about payouts', filter: { actions: ['payout.*'] } };

/** Creates the channel of the demo account, unless it has it already. Returns its name. */
export async function ensureChannel(origin: string): Promise<string> {
  const channels = (await call(origin, 'GET', '?limit=100')) as { data: { name: string }[] };
  if (!channels.data.some(({ name }) => name === CHANNEL.name))
    await call(origin, 'POST', '', CHANNEL);
  return CHANNEL.name;
}

async function call(
  origin: string,
  method: string,
  query: string,
  body?: object,
): Promise<unknown> {
  const response = await fetch(`${origin}/v1/channels${query}`, {
    method,
    headers: {
      Authorization: `Bearer ${readDemoAccount()?.token}`,
      'Content-Type': 'application/json',
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!response.ok)
    throw new Error(`/v1/channels was answered ${response.status}: ${await response.text()}`);
  return response.json();
}

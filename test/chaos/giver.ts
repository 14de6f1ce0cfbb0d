import type { Memory } from './memory.ts';

// Loaded by its name: its types are those of workerd, which this program does not have.
const SIGNED_VOTES: string = '../support/signed-votes.ts';
const { Passkey } = await import(SIGNED_VOTES);

interface Invited {
  id: string;
  invitation: { url: string };
}

/**
 * Invites an approver who joins with a passkey, and returns the approver and a user token.
 * @param name distinguishes the approvers of an account
 */
export async function joinApprover(
  { user, traits }: Memory,
  origin: string,
  name: string,
): Promise<{ id: string; token: string }> {
  const body = { email: `${name}-of-${traits.name}@example.com`, role: 'approver' };
  const invited = await user.insist<Invited>('POST', '/v1/members', body);
  if (invited?.status !== 201) throw new Error(`nobody was invited: ${JSON.stringify(invited)}`);
  const { url } = invited.body.invitation;
  const passkey = new Passkey('ES256');
  const headers = { Origin: origin, 'Content-Type': 'application/json' };
  const post = (address: string, sent?: object) =>
    fetch(address, { method: 'POST', headers, ...(sent && { body: JSON.stringify(sent) }) });
  const options = await (await post(`${url}/options`)).json();
  const response = passkey.create(options, { origin });
  const joined = await post(url, { name: 'Laptop', response });
  const [cookie = ''] = joined.headers.getSetCookie()[0]?.split(';') ?? [];
  const page = await (await fetch(`${origin}/console/me`, { headers: { Cookie: cookie } })).text();
  const csrf = /name="csrf-token" content="([^"]+)"/.exec(page)?.[1] ?? '';
  const form = new URLSearchParams({ csrf, name: 'Terminal' });
  const made = await fetch(`${origin}/console/me/tokens`, {
    method: 'POST',
    headers: { Origin: origin, Cookie: cookie },
    body: form,
  });
  const token = /csu_[0-9A-Za-z]{40}/.exec(await made.text())?.[0];
  if (!token) throw new Error('the approver got no user token');
  return { id: invited.body.id, token };
}

import { Browser } from './browser';
import type { Json, TestAccount } from './world';

/** An active member of an account, the member's browser, and a user token with every scope of the role. */
export interface TestMember {
  id: string;
  token: string;
  browser: Browser;
}

/** Invites a person, who joins with a passkey. The operator invites owners, the account's token the others. */
export async function makeMember(account: TestAccount, role: string, email = `${crypto.randomUUID()}@example.com`) {
  const { world } = account;
  const { body: member } =
    role === 'owner'
      ? await world.must(201, 'POST', `/v1/admin/users/${account.id}/owner`, {
          token: world.env.ADMIN_TOKEN ?? '',
          body: { email },
        })
      : await account.must(201, 'POST', '/v1/members', { email, role });
  const browser = new Browser(world);
  const joined = await browser.join(member.invitation.url);
  if (joined.status !== 201) throw new Error(`the invitation was refused: ${joined.text}`);
  return { id: member.id as string, token: await browser.makeToken(), browser };
}

/** Makes another user token of a member who may make one. */
export async function makeToken({ world }: TestAccount, member: TestMember, fields: Json = {}): Promise<string> {
  return (await world.must(201, 'POST', '/v1/me/tokens', { token: member.token, body: fields })).body.token;
}

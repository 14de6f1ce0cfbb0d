import { env } from 'cloudflare:test';
import { idBytes } from '../../src/lib/typeid';
import type { Json, TestAccount } from './world';

/** An active member of an account, with a user token of every scope that belongs to the member. */
export interface TestMember {
  id: string;
  token: string;
}

let invited = 0;

/**
 * Makes an active member. The invitation is accepted in the database: the operator invites owners, the account's token
 * the others.
 */
export async function makeMember(
  account: TestAccount,
  role: string,
  { database = env.DB, email = `member-${invited++}@example.com` } = {},
): Promise<TestMember> {
  const { world } = account;
  const isOwner = role === 'owner';
  const { body: member } = await world.must(
    201,
    'POST',
    isOwner ? `/v1/admin/users/${account.id}/owner` : '/v1/members',
    { token: isOwner ? (world.env.ADMIN_TOKEN ?? '') : account.token, body: isOwner ? { email } : { email, role } },
  );
  await database
    .prepare('update members set status = 1, invitation_hash = null, invitation_expires_at = null where id = ?')
    .bind(idBytes(member.id))
    .run();
  return { id: member.id, token: await giveToken(account, member.id, { database }) };
}

/** Makes a user token that belongs to a member. */
export async function giveToken(
  account: TestAccount,
  member: string,
  { database = env.DB, fields = {} as Json } = {},
): Promise<string> {
  const { body } = await account.must(201, 'POST', '/v1/me/tokens', fields);
  await database
    .prepare('update user_tokens set member = ? where id = ?')
    .bind(idBytes(member), idBytes(body.id))
    .run();
  return body.token;
}

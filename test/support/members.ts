import { Keyring } from '../../src/lib/secrets';
import { parseId } from '../../src/lib/typeid';
import { signConfirmationAddress } from '../../src/receivers/channels/email/confirmation-address';
import { Browser } from './browser';
import type { Json, TestAccount, World } from './world';

/**
 * An active member of an account, the member's browser, and a user token with every scope of the
 * role.
 */
export interface TestMember {
  id: string;
  email: string;
  token: string;
  browser: Browser;
}

/**
 * Invites a person, who joins with a passkey. The operator invites owners, the account's token the
 * others.
 */
export async function makeMember(
  account: TestAccount,
  role: string,
  email = `${crypto.randomUUID()}@example.com`,
) {
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
  return { id: member.id as string, email, token: await browser.makeToken(), browser };
}

/** Makes a member whose e-mail address is proven, so that mails reach them. */
export async function makeReachableMember(
  account: TestAccount,
  role: string,
  email?: string,
): Promise<TestMember> {
  const member = await makeMember(account, role, email);
  await confirmEmail(account, member);
  return member;
}

/** Confirms a member's e-mail address as the member does who opened the link of the mail. */
export async function confirmEmail(
  { world, id }: TestAccount,
  { id: member, email, browser }: TestMember,
) {
  const answer = await browser.submit(
    await confirmationPath(world, { account: id, member, email }),
  );
  if (answer.status !== 303)
    throw new Error(`the confirmation was answered ${answer.status}: ${answer.text}`);
}

/** The path to which the link of a confirmation mail leads. */
export async function confirmationPath(
  world: World,
  { account, member, email }: { account: string; member: string; email: string },
): Promise<string> {
  const [accountId, memberId] = [parseId('user', account), parseId('member', member)];
  const keyring = Keyring.parse(world.env.ROOT_SECRET ?? '');
  if (!accountId || !memberId || !keyring) throw new Error('an id or the root secret is missing');
  const owner = { account: accountId, member: memberId, email };
  return signConfirmationAddress({ keyring, publicUrl: '' }, world.runtime, owner);
}

/** Makes another user token of a member who may make one. */
export async function makeToken(
  { world }: TestAccount,
  member: TestMember,
  fields: Json = {},
): Promise<string> {
  return (await world.must(201, 'POST', '/v1/me/tokens', { token: member.token, body: fields }))
    .body.token;
}

import { join } from 'node:path';
import { Api, UnexpectedAnswer } from './api.ts';
import { ROOT, readJsonFile, writeJsonFile } from './project.ts';

/** In the folder of the local databases, so that the token is deleted together with them. */
const FILE = join(ROOT, '.wrangler/state/demo-account.json');

/** The account that `npm start` creates, with a user token that has every scope. */
export interface DemoAccount {
  id: string;
  email: string;
  token: string;
  /** The invitation of its owner. */
  invitation: Invitation;
}

interface Invitation {
  url: string;
  expires_at: string;
}

/** The last demo account that was created; null if there is none. */
export function readDemoAccount(): DemoAccount | null {
  return readJsonFile(FILE);
}

/** Returns the existing demo account if its token is valid, else creates a new one. */
export async function ensureDemoAccount(origin: string, adminToken: string): Promise<DemoAccount> {
  const kept = readDemoAccount();
  if (kept) {
    const answer = await new Api(origin, kept.token).ask('GET', '/v1/me');
    if (answer.status === 200) return kept;
    if (answer.status !== 401 && answer.status !== 403) throw new UnexpectedAnswer('GET', '/v1/me', answer);
  }
  const made = await new Api(origin, adminToken).call<{
    id: string;
    email: string;
    token: { token: string };
    owner: { invitation: Invitation };
  }>('POST', '/v1/admin/users', { email: 'demo@example.com', name: 'Demo', plan: 'enterprise' });
  const { id, email, token, owner } = made;
  return keep({ id, email, token: token.token, invitation: owner.invitation });
}

/** The page of the console at which the demo account's owner begins. */
export interface ConsoleEntry {
  address: string;
  /** Whether it is an invitation, which works once. */
  isInvitation: boolean;
}

/**
 * Returns the page at which the owner of the demo account joins; once the owner has joined, the page to sign in. An
 * invitation that has expired is renewed.
 */
export async function findConsole(origin: string, adminToken: string, account: DemoAccount): Promise<ConsoleEntry> {
  const signIn = { address: `${origin}/console/sign-in`, isInvitation: false };
  const user = new Api(origin, account.token);
  const owners = await user.call<{ data: object[] }>('GET', '/v1/members?role=owner&status=active');
  if (owners.data.length > 0) return signIn;
  let { invitation } = account;
  if (!invitation || Date.parse(invitation.expires_at) <= Date.now()) {
    const operator = new Api(origin, adminToken);
    const path = `/v1/admin/users/${account.id}/owner`;
    const answer = await operator.ask<{ invitation: Invitation }>('POST', path, { email: account.email });
    // Somebody has invited another owner.
    if (answer.status !== 201) return signIn;
    invitation = answer.body.invitation;
    keep({ ...account, invitation });
  }
  return { address: origin + new URL(invitation.url).pathname, isInvitation: true };
}

function keep(account: DemoAccount): DemoAccount {
  writeJsonFile(FILE, account);
  return account;
}

import { join } from 'node:path';
import type { Invitation } from '../packages/client/api.ts';
import { ApiError } from '../packages/client/errors.ts';
import { connect, failureOf } from './api.ts';
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

/** The last demo account that was created; null if there is none. */
export function readDemoAccount(): DemoAccount | null {
  return readJsonFile(FILE);
}

/** Returns the existing demo account if its token is valid, else creates a new one. */
export async function ensureDemoAccount(origin: string, adminToken: string): Promise<DemoAccount> {
  const kept = readDemoAccount();
  if (kept) {
    const failure = await failureOf(connect(origin, kept.token).getOwnAccount());
    if (failure === null) return kept;
    if (!(failure instanceof ApiError && [401, 403].includes(failure.status))) throw failure;
  }
  const account = { email: 'demo@example.com', name: 'Demo', plan: 'enterprise' } as const;
  const { id, email, token, owner } = await connect(origin, adminToken).createAccount(account);
  return keep({ id, email, token: token.token, invitation: owner.invitation });
}

/** The page of the console at which the demo account's owner begins. */
export interface ConsoleEntry {
  address: string;
  /** Whether it is an invitation, which works once. */
  isInvitation: boolean;
}

/**
 * Returns the page at which the owner of the demo account joins; once the owner has joined, the
 * page to sign in. An invitation that has expired is renewed.
 */
export async function findConsole(
  origin: string,
  adminToken: string,
  account: DemoAccount,
): Promise<ConsoleEntry> {
  const signIn = { address: `${origin}/console/sign-in`, isInvitation: false };
  const owners = await connect(origin, account.token).listMembers({
    role: 'owner',
    status: 'active',
  });
  if (owners.data.length > 0) return signIn;
  let { invitation } = account;
  if (!invitation || Date.parse(invitation.expires_at) <= Date.now()) {
    const operator = connect(origin, adminToken);
    const invited = await operator
      .inviteOwner(account.id, { email: account.email })
      .catch(() => null);
    // Somebody has invited another owner.
    if (!invited) return signIn;
    invitation = invited.invitation;
    keep({ ...account, invitation });
  }
  return { address: origin + new URL(invitation.url).pathname, isInvitation: true };
}

function keep(account: DemoAccount): DemoAccount {
  writeJsonFile(FILE, account);
  return account;
}

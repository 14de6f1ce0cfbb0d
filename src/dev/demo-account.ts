import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Api, UnexpectedAnswer } from './api.ts';
import { ROOT } from './project.ts';

/** Beside the local databases, so that who deletes them deletes the account's token as well. */
const FILE = join(ROOT, '.wrangler/state/demo-account.json');

/** The account that `npm start` makes, with a user token that has every scope. */
export interface DemoAccount {
  id: string;
  email: string;
  token: string;
}

/** The demo account that was made last; null when there is none. */
export function readDemoAccount(): DemoAccount | null {
  try {
    return JSON.parse(readFileSync(FILE, 'utf8'));
  } catch {
    return null;
  }
}

/** The demo account: that of earlier starts while its token is good, else a new one. */
export async function ensureDemoAccount(origin: string, adminToken: string): Promise<DemoAccount> {
  const kept = readDemoAccount();
  if (kept) {
    const answer = await new Api(origin, kept.token).ask('GET', '/v1/me');
    if (answer.status === 200) return kept;
    if (answer.status !== 401 && answer.status !== 403) throw new UnexpectedAnswer('GET', '/v1/me', answer);
  }
  const made = await new Api(origin, adminToken).call<{ id: string; email: string; token: { token: string } }>(
    'POST',
    '/v1/admin/users',
    { email: 'demo@example.com', name: 'Demo', plan: 'enterprise' },
  );
  const account = { id: made.id, email: made.email, token: made.token.token };
  mkdirSync(dirname(FILE), { recursive: true });
  writeFileSync(FILE, `${JSON.stringify(account, null, 2)}\n`, { mode: 0o600 });
  return account;
}

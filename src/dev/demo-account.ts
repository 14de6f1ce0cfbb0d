import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Api, UnexpectedAnswer } from './api.ts';
import { ROOT } from './project.ts';

/** In the folder of the local databases, so that the token is deleted together with them. */
const FILE = join(ROOT, '.wrangler/state/demo-account.json');

/** The account that `npm start` creates, with a user token that has every scope. */
export interface DemoAccount {
  id: string;
  email: string;
  token: string;
}

/** The last demo account that was created; null if there is none. */
export function readDemoAccount(): DemoAccount | null {
  try {
    return JSON.parse(readFileSync(FILE, 'utf8'));
  } catch {
    return null;
  }
}

/** Returns the existing demo account if its token is valid, else creates a new one. */
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

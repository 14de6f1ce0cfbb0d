import { UserError } from '../user-error.ts';
import { callWrangler } from './call-wrangler.ts';
import { Cloudflare } from './cloudflare.ts';

/** A Cloudflare account that is chosen, and the way to its API. */
export interface Login {
  cloudflare: Cloudflare;
  /** The id of the account. */
  account: string;
  /** For people. */
  accountName: string;
}

/** The output of `wrangler auth token --json`. */
type Credentials =
  | { type: 'oauth' | 'api_token'; token: string }
  | { type: 'api_key'; key: string; email: string };

interface Account {
  id: string;
  name: string;
}

const NO_LOGIN = 'Cannot read the Cloudflare login.';

const SIGN_IN = 'Sign in with: npx wrangler login\nOr set CLOUDFLARE_API_TOKEN.';

/**
 * Finds the login that wrangler uses, and the account to deploy to: `CLOUDFLARE_ACCOUNT_ID`, the
 * one of this folder, or the only one of the login.
 * @param target the id of the account that this folder deploys to; null if it is not known yet
 * @param choose asks which of several accounts is meant; null if nobody can be asked
 * @throws UserError if there is no login, or several accounts and nobody to ask
 */
export async function login(
  target: string | null,
  choose: ((question: string, answers: string[]) => Promise<number>) | null,
  signal: AbortSignal,
): Promise<Login> {
  const cloudflare = new Cloudflare(headersOf(await findCredentials(signal)), signal);
  const named = process.env.CLOUDFLARE_ACCOUNT_ID || null;
  if (named && target && named !== target)
    throw new UserError(
      `This folder deploys to the account ${target}, and CLOUDFLARE_ACCOUNT_ID is ${named}.\n` +
        'Deploy to another account from another copy of the folder.',
    );
  const account = named ?? target;
  if (account) return { cloudflare, account, accountName: account };
  const accounts = await cloudflare.list<Account>('/accounts?per_page=50');
  const chosen = await chooseAccount(accounts, choose);
  return { cloudflare, account: chosen.id, accountName: `${chosen.name} (${chosen.id})` };
}

/** Tells whether there is a login; whether it is valid, Cloudflare says. */
export async function hasLogin(signal: AbortSignal): Promise<boolean> {
  try {
    await findCredentials(signal);
    return true;
  } catch (error) {
    if (error instanceof UserError) return false;
    throw error;
  }
}

async function findCredentials(signal: AbortSignal): Promise<Credentials> {
  const { CLOUDFLARE_API_TOKEN: token, CLOUDFLARE_API_KEY: key } = process.env;
  if (token && !key) return { type: 'api_token', token };
  const printed = await callWrangler(['auth', 'token', '--json'], signal, {
    WRANGLER_LOG: 'log',
  }).catch((error) => {
    throw error instanceof UserError
      ? new UserError(`${NO_LOGIN} ${error.message}\n${SIGN_IN}`)
      : error;
  });
  return readCredentials(printed);
}

/**
 * Reads what `wrangler auth token --json` printed, which can begin with a message for people.
 * @throws UserError if it has no credentials; the message does not repeat the text, which may be
 *   secret
 */
export function readCredentials(printed: string): Credentials {
  try {
    return JSON.parse(/\{.*\}/s.exec(printed)?.[0] ?? '');
  } catch {
    throw new UserError(`${NO_LOGIN} npx wrangler auth token --json printed no JSON.\n${SIGN_IN}`);
  }
}

async function chooseAccount(
  accounts: Account[],
  choose: ((question: string, answers: string[]) => Promise<number>) | null,
): Promise<Account> {
  const [only, ...others] = accounts;
  if (!only)
    throw new UserError(
      'The Cloudflare login has no account, or may not list it: set CLOUDFLARE_ACCOUNT_ID.',
    );
  if (others.length === 0) return only;
  const answers = accounts.map(({ id, name }) => `${name} (${id})`);
  if (!choose)
    throw new UserError(
      `The Cloudflare login has several accounts. Set CLOUDFLARE_ACCOUNT_ID:\n  ${answers.join('\n  ')}`,
    );
  return accounts[await choose('Which account shall the service run in?', answers)] ?? only;
}

function headersOf(credentials: Credentials): Record<string, string> {
  return credentials.type === 'api_key'
    ? { 'X-Auth-Key': credentials.key, 'X-Auth-Email': credentials.email }
    : { Authorization: `Bearer ${credentials.token}` };
}

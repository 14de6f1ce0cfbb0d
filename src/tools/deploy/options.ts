import { parseArgs } from 'node:util';
import { parseDuration } from '../../packages/client/duration.ts';
import { UserError } from '../user-error.ts';

/** Databases of a deployment that this program makes; more can be bound by hand. */
const MAX_SHARDS = 10;

/**
 * The options that an operator gives to `npm run deploy`. Null is an option that is not given: the
 * deployed setting stays.
 */
export interface Options {
  isDryRun: boolean;
  domain: string | null;
  /** The name to register for the account under workers.dev. */
  subdomain: string | null;
  shards: number | null;
  email: string | null;
  plan: string;
  location: string | null;
  jurisdiction: string | null;
  changesAddress: boolean;
  replacesDns: boolean;
  hasNewRootSecret: boolean;
  /** How long the service may take until it answers. */
  healthTimeoutSeconds: number;
}

export const HELP = `Usage: npm run deploy -- [options]

Takes a Cloudflare login to a running service, or an older version of the service to this one. Makes what is missing and
leaves the rest as it is, so it can be run again at any time: after a failure it continues.

  --dry-run             show what exists and what would be made, and change nothing
  --domain HOST         serve on this host of a zone in the account, instead of <name>.workers.dev
  --email ADDRESS       make the first account, and print the invitation of its owner
  --plan PLAN           the plan of that account: free, pro (default), team or enterprise
  --shards N            have at least N databases, up to ${MAX_SHARDS}; new accounts go to the least full one
  --location HINT       where new databases and the bucket are: weur, eeur, apac, oc, wnam or enam
  --jurisdiction NAME   where their data must stay: eu or fedramp; cannot be changed later
  --subdomain NAME      the account's name under workers.dev, if it has none yet
  --change-address      allow another address than the deployed one: passkeys end, see the guide
  --replace-dns         allow --domain to replace a DNS record of that host
  --new-root-secret     allow a new root secret although there are accounts: all credentials end
  --wait TIME           how long the service may take until it answers, such as 90s or 5m (default 180s)
  --help

The login is that of \`npx wrangler login\`, or CLOUDFLARE_API_TOKEN. CLOUDFLARE_ACCOUNT_ID chooses one of its accounts.

Example:
  npm run deploy -- --domain countersign.example.com --email owner@example.com`;

/**
 * Reads the words after `npm run deploy --`.
 * @returns null if help is asked for
 * @throws UserError for an unknown option or a value that cannot be meant
 */
export function readOptions(words: string[]): Options | null {
  const values = parse(words);
  if (values.help) return null;
  const shards = readNumber('shards', values.shards);
  if (shards !== null && (shards < 1 || shards > MAX_SHARDS))
    throw new UserError(`--shards is from 1 to ${MAX_SHARDS}.`);
  return {
    isDryRun: values['dry-run'],
    domain: readMatch(
      'domain',
      values.domain?.toLowerCase(),
      /^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}$/,
    ),
    subdomain: readMatch('subdomain', values.subdomain, /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/),
    shards,
    email: readMatch('email', values.email, /^[^\s@]+@[^\s@]+$/),
    plan: readMatch('plan', values.plan, /^(free|pro|team|enterprise)$/) ?? 'pro',
    location: readMatch('location', values.location, /^(weur|eeur|apac|oc|wnam|enam)$/),
    jurisdiction: readMatch('jurisdiction', values.jurisdiction, /^(eu|fedramp)$/),
    changesAddress: values['change-address'],
    replacesDns: values['replace-dns'],
    hasNewRootSecret: values['new-root-secret'],
    healthTimeoutSeconds: readSeconds('wait', values.wait) ?? 180,
  };
}

function parse(words: string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  const options = {
    ...{
      'dry-run': flag,
      domain: text,
      email: text,
      plan: text,
      shards: text,
      location: text,
      jurisdiction: text,
    },
    ...{
      subdomain: text,
      'change-address': flag,
      'replace-dns': flag,
      'new-root-secret': flag,
      wait: text,
    },
    help: { ...flag, short: 'h' },
  } as const;
  try {
    return parseArgs({ args: words, options, strict: true }).values;
  } catch (error) {
    throw new UserError(
      `${error instanceof Error ? error.message : error}\nAll options: npm run deploy -- --help`,
    );
  }
}

function readMatch(name: string, value: string | undefined, pattern: RegExp): string | null {
  if (value === undefined) return null;
  if (pattern.test(value)) return value;
  throw new UserError(`--${name} ${value} is not valid. All options: npm run deploy -- --help`);
}

/** Reads a number of seconds, or a text such as `5m`. */
function readSeconds(name: string, value: string | undefined): number | null {
  const text = readMatch(name, value, /^\d{1,4}[smhd]?$/);
  return text === null ? null : parseDuration(/\d$/.test(text) ? `${text}s` : text);
}

function readNumber(name: string, value: string | undefined): number | null {
  const text = readMatch(name, value, /^\d{1,4}$/);
  return text === null ? null : Number(text);
}

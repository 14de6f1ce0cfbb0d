import { Keyring } from './lib/secrets';

/** The bindings and variables of a deployment (`wrangler.toml`, `.dev.vars`, `wrangler secret put`). */
export interface Env {
  DB: D1Database;
  /** The files of dist/assets. */
  ASSETS: Fetcher;
  ADMIN_TOKEN?: string;
  ROOT_SECRET?: string;
  PUBLIC_URL?: string;
  EXPOSE_COST?: string;
  RATE_LIMITS?: string;
  CREDENTIAL_LIMITER?: RateLimit;
  ADDRESS_LIMITER?: RateLimit;
  ACCOUNT_LIMITER?: RateLimit;
  FILES?: R2Bucket;
  JOB_QUEUE?: Queue<JobMessage>;
  WEBHOOK_QUEUE?: Queue<WebhookMessage>;
  SLOW_WEBHOOK_QUEUE?: Queue<WebhookMessage>;
  WEBHOOK_ALLOW_INSECURE?: string;
  WEBHOOK_DNS?: string;
  OIDC_ISSUER?: string;
  OIDC_AUDIENCE?: string;
  /** Further shards: `DB_01`, `DB_02`, … */
  [shard: `DB_${string}`]: D1Database | undefined;
}

/** A hint that there is work to do on a file; the database knows what. */
export interface JobMessage {
  shard: string;
  /** The number of the account. */
  account: number;
  /** The identifier of an export or a report. */
  id: string;
}

/** A hint that there is something to deliver; the database knows what. */
export interface WebhookMessage {
  shard: string;
  /** The number of the account. */
  account: number;
  /** The number of the webhook whose deliveries are due; without it, deliveries are to be made of what has happened. */
  webhook?: number;
}

/** What the outside world gives to a request; tests give their own, to move time and to break things. */
export interface Runtime {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Cryptographically strong random bytes. */
  random(bytes: number): Uint8Array;
  /** Resolves after so many milliseconds. */
  sleep(milliseconds: number): Promise<void>;
  /** Asks somebody else's server. */
  fetch(url: string, options: RequestInit): Promise<Response>;
  /** A signal that is aborted after so many milliseconds. */
  timeout(milliseconds: number): AbortSignal;
}

/** The runtime of production. */
export const systemRuntime: Runtime = {
  now: () => Date.now(),
  random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
  sleep: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
  fetch: (url, options) => fetch(url, options),
  timeout: (milliseconds) => AbortSignal.timeout(milliseconds),
};

/** A deployment's settings, checked. */
export interface Config {
  adminToken: string;
  keyring: Keyring;
  /** The service's origin, without a trailing slash. */
  publicUrl: string;
  exposeCost: boolean;
  /** Null where rate limits are switched off. */
  limiters: { credential: RateLimit; address: RateLimit; account: RateLimit } | null;
  files: R2Bucket;
  jobs: Queue<JobMessage>;
  webhooks: WebhookConfig;
  /** Null where nobody signs in with an identity provider. */
  oidc: OidcConfig | null;
}

/** The identity provider whose tokens are user tokens as well. */
export interface OidcConfig {
  /** As its tokens spell it. */
  issuer: string;
  audience: string;
}

/** How webhooks are delivered. */
export interface WebhookConfig {
  queue: Queue<WebhookMessage>;
  /** For webhooks that have still to answer quickly, or did not the last time. */
  slowQueue: Queue<WebhookMessage>;
  /** Whether targets may be `http`, and on this machine. */
  allowInsecure: boolean;
  /** Whether names are looked up before something is sent to them. */
  resolvesNames: boolean;
}

/** Reads the settings, or names those that are missing or malformed. */
export function readConfig(env: Env): { config: Config } | { faults: string[] } {
  const faults: string[] = [];
  const keyring = Keyring.parse(env.ROOT_SECRET ?? '');
  const publicUrl = parseOrigin(env.PUBLIC_URL ?? '');
  if (!env.ADMIN_TOKEN) faults.push('the secret ADMIN_TOKEN is not set');
  if (!env.ROOT_SECRET) faults.push('the secret ROOT_SECRET is not set');
  else if (!keyring) faults.push('the secret ROOT_SECRET is not base64 of 32 bytes');
  if (!env.PUBLIC_URL) faults.push('the variable PUBLIC_URL is not set');
  else if (!publicUrl) faults.push('the variable PUBLIC_URL is not an http or https origin');
  const limiters = readLimiters(env);
  if (limiters === undefined)
    faults.push('the rate limiters CREDENTIAL_LIMITER, ADDRESS_LIMITER and ACCOUNT_LIMITER are not all bound');
  const { ADMIN_TOKEN: adminToken, FILES: files, JOB_QUEUE: jobs } = env;
  if (!files) faults.push('the bucket FILES is not bound');
  if (!jobs) faults.push('the queue JOB_QUEUE is not bound');
  const webhooks = readWebhookConfig(env);
  if (!webhooks) faults.push('the queues WEBHOOK_QUEUE and SLOW_WEBHOOK_QUEUE are not bound');
  const oidc = readOidcConfig(env, faults);
  if (
    !adminToken ||
    !keyring ||
    !publicUrl ||
    limiters === undefined ||
    !files ||
    !jobs ||
    !webhooks ||
    oidc === undefined
  )
    return { faults };
  const exposeCost = env.EXPOSE_COST === 'on';
  return { config: { adminToken, keyring, publicUrl, exposeCost, limiters, files, jobs, webhooks, oidc } };
}

/** Undefined where it is wanted and cannot be. */
function readOidcConfig({ OIDC_ISSUER: issuer, OIDC_AUDIENCE: audience }: Env, faults: string[]) {
  if (!issuer && !audience) return null;
  if (!issuer || !audience) faults.push('of the variables OIDC_ISSUER and OIDC_AUDIENCE one alone is set');
  else if (!isSafeAddress(issuer)) faults.push('the variable OIDC_ISSUER is not an https URL');
  else return { issuer, audience } satisfies OidcConfig;
  return undefined;
}

/** Whether nobody on the way can read or change what is asked for there: `https`, or this machine. */
function isSafeAddress(text: string): boolean {
  const url = URL.parse(text);
  const isLocal = url?.hostname === 'localhost' || url?.hostname === '127.0.0.1' || url?.hostname === '[::1]';
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && isLocal);
}

function readWebhookConfig(env: Env): WebhookConfig | null {
  const { WEBHOOK_QUEUE: queue, SLOW_WEBHOOK_QUEUE: slowQueue } = env;
  if (!queue || !slowQueue) return null;
  const allowInsecure = env.WEBHOOK_ALLOW_INSECURE === 'on';
  return { queue, slowQueue, allowInsecure, resolvesNames: env.WEBHOOK_DNS !== 'off' };
}

/** Undefined where they are wanted and missing. */
function readLimiters(env: Env): Config['limiters'] | undefined {
  if (env.RATE_LIMITS === 'off') return null;
  const { CREDENTIAL_LIMITER: credential, ADDRESS_LIMITER: address, ACCOUNT_LIMITER: account } = env;
  return credential && address && account && { credential, address, account };
}

function parseOrigin(text: string): string | null {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.pathname !== '/' || url.search || url.hash) return null;
  return url.origin;
}

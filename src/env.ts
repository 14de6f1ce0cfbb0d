import { parseMailbox } from './lib/mailbox';
import { Keyring } from './lib/secrets';
import { parseWitnesses } from './lib/witness-list';

/**
 * The bindings and variables of a deployment (`wrangler.toml`, `.dev.vars`, `wrangler secret put`).
 */
export interface Env {
  DB: D1Database;
  /** Serves the files of dist/assets. */
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
  /** The queue of work on files. */
  JOB_QUEUE?: Queue<FileMessage>;
  /** The queue of deliveries to receivers of every kind, and that of slow receivers. */
  WEBHOOK_QUEUE?: Queue<DeliveryMessage>;
  SLOW_WEBHOOK_QUEUE?: Queue<DeliveryMessage>;
  WEBHOOK_ALLOW_INSECURE?: string;
  WEBHOOK_DNS?: string;
  OIDC_ISSUER?: string;
  OIDC_AUDIENCE?: string;
  OIDC_CLIENT_ID?: string;
  OIDC_CLIENT_SECRET?: string;
  OIDC_EMAIL_VERIFIED?: string;
  WITNESSES?: string;
  EMAIL?: SendEmail;
  RESEND_API_KEY?: string;
  EMAIL_FROM?: string;
  /** The databases of further shards: `DB_01`, `DB_02`, … (see `db/shards.ts`). */
  [shard: `DB_${string}`]: D1Database | undefined;
}

/**
 * A queue message that makes the consumer work on an export or a report. The database says what is
 * to be done.
 */
export interface FileMessage {
  shard: string;
  /** The number of the account. */
  account: number;
  /** The identifier of the export or report. */
  id: string;
}

/** A queue message that makes the consumer deliver to receivers. The database says what is due. */
export interface DeliveryMessage {
  shard: string;
  /** The number of the account. */
  account: number;
  /**
   * The number of a receiver with due deliveries. Without it, the account has events that need
   * deliveries.
   */
  receiver?: number;
}

/** Clock, randomness and network. Tests replace them to move the time and to inject failures. */
export interface Runtime {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Cryptographically strong random bytes. */
  random(bytes: number): Uint8Array;
  /** Resolves after a number of milliseconds. */
  sleep(milliseconds: number): Promise<void>;
  /** Sends a request to another server. */
  fetch(url: string, options: RequestInit): Promise<Response>;
  /** A signal that is aborted after a number of milliseconds. */
  timeout(milliseconds: number): AbortSignal;
}

/** The runtime in production. */
export const systemRuntime: Runtime = {
  now: () => Date.now(),
  random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
  sleep: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
  fetch: (url, options) => fetch(url, options),
  timeout: (milliseconds) => AbortSignal.timeout(milliseconds),
};

/** The validated configuration of a deployment. */
export interface Config {
  adminToken: string;
  keyring: Keyring;
  /** The service's origin, without a trailing slash. */
  publicUrl: string;
  exposeCost: boolean;
  /** Null if rate limits are off. */
  limiters: { credential: RateLimit; address: RateLimit; account: RateLimit } | null;
  files: R2Bucket;
  fileQueue: Queue<FileMessage>;
  delivery: DeliveryConfig;
  /** Null if no identity provider is configured. */
  oidc: OidcConfig | null;
  /** Null if no mail can be sent. */
  mail: MailTransport | null;
}

/** The identity provider. At least one of `audience` and `client` is not null. */
export interface OidcConfig {
  /** Exactly as in the `iss` claim. */
  issuer: string;
  /** The `aud` claim of JWTs that are accepted as user tokens; null if none are. */
  audience: string | null;
  /** The client with which people sign in to the console; null if they cannot. */
  client: OidcClient | null;
  /**
   * Whether an e-mail address is believed about which the provider does not say whether it is
   * verified.
   */
  trustsEmails: boolean;
}

/** A client that is registered at the identity provider. */
export interface OidcClient {
  id: string;
  /** Null for a public client. */
  secret: string | null;
}

/** How mail is sent. `from` is an address, or a name and an address: see {@link parseMailbox}. */
export type MailTransport =
  /** By the HTTP API of Resend. */
  | { kind: 'resend'; apiKey: string; from: string }
  /** By the Email Service of Cloudflare. */
  | { kind: 'binding'; binding: SendEmail; from: string };

/** The configuration of delivery to receivers. */
export interface DeliveryConfig {
  queue: Queue<DeliveryMessage>;
  /** For receivers that are new, or whose last attempt failed or was slow. */
  slowQueue: Queue<DeliveryMessage>;
  /** Whether URLs may be `http` or lead to this machine. */
  allowInsecure: boolean;
  /** Whether a host name is looked up before anything is sent to it. */
  looksUpNames: boolean;
}

/**
 * Reads the configuration. If settings are missing or malformed, returns a text about each instead.
 */
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
    faults.push(
      'the rate limiters CREDENTIAL_LIMITER, ADDRESS_LIMITER and ACCOUNT_LIMITER are not all bound',
    );
  const { ADMIN_TOKEN: adminToken, FILES: files, JOB_QUEUE: fileQueue } = env;
  if (!files) faults.push('the bucket FILES is not bound');
  if (!fileQueue) faults.push('the queue JOB_QUEUE is not bound');
  const { WEBHOOK_QUEUE: queue, SLOW_WEBHOOK_QUEUE: slowQueue } = env;
  if (!queue || !slowQueue)
    faults.push('the queues WEBHOOK_QUEUE and SLOW_WEBHOOK_QUEUE are not bound');
  const oidc = readOidcConfig(env, faults);
  const mail = readMailTransport(env, faults);
  const witnesses = parseWitnesses(env.WITNESSES ?? '');
  if (!witnesses)
    faults.push(
      'the variable WITNESSES has a line that is not "witness <name> <key of type 0x04> <URL>", or a name or key twice',
    );
  const isComplete = adminToken && keyring && publicUrl && files && fileQueue && queue && slowQueue;
  const areValid = limiters !== undefined && oidc !== undefined && mail !== undefined && witnesses;
  if (!isComplete || !areValid) return { faults };
  const exposeCost = env.EXPOSE_COST === 'on';
  const allowInsecure = env.WEBHOOK_ALLOW_INSECURE === 'on';
  const delivery = { queue, slowQueue, allowInsecure, looksUpNames: env.WEBHOOK_DNS !== 'off' };
  return {
    config: {
      adminToken,
      keyring,
      publicUrl,
      exposeCost,
      limiters,
      files,
      fileQueue,
      delivery,
      oidc,
      mail,
    },
  };
}

/**
 * Null if no identity provider is configured; undefined, with a fault, if the settings are invalid.
 */
function readOidcConfig(env: Env, faults: string[]): OidcConfig | null | undefined {
  const {
    OIDC_ISSUER: issuer,
    OIDC_AUDIENCE: audience,
    OIDC_CLIENT_ID: id,
    OIDC_CLIENT_SECRET: secret,
  } = env;
  const { OIDC_EMAIL_VERIFIED: verified } = env;
  if (!issuer && !audience && !id && !secret && !verified) return null;
  if (!issuer)
    faults.push(
      'the variable OIDC_ISSUER is not set, but another variable of the identity provider is',
    );
  else if (!isTamperProof(issuer)) faults.push('the variable OIDC_ISSUER is not an https URL');
  else if (!audience && !id)
    faults.push('neither of the variables OIDC_AUDIENCE and OIDC_CLIENT_ID is set');
  else if (secret && !id)
    faults.push('the secret OIDC_CLIENT_SECRET is set without the variable OIDC_CLIENT_ID');
  else if (verified && verified !== 'trust')
    faults.push('the variable OIDC_EMAIL_VERIFIED is not "trust"');
  else {
    const client = id ? { id, secret: secret || null } : null;
    return { issuer, audience: audience || null, client, trustsEmails: verified === 'trust' };
  }
  return undefined;
}

/** Null if no mail is configured; undefined, with a fault, if the settings are invalid. */
export function readMailTransport(env: Env, faults: string[]): MailTransport | null | undefined {
  const { EMAIL: binding, RESEND_API_KEY: apiKey, EMAIL_FROM: from } = env;
  if (!binding && !apiKey && !from) return null;
  if (!from)
    faults.push(
      'the variable EMAIL_FROM is not set, but the binding EMAIL or the secret RESEND_API_KEY is',
    );
  else if (!parseMailbox(from))
    faults.push(
      'the variable EMAIL_FROM is not of the form "name@example.com" or "Name <name@example.com>"',
    );
  else if (binding && apiKey)
    faults.push('both the binding EMAIL and the secret RESEND_API_KEY are set: only one can send');
  else if (apiKey && !/^[\x21-\x7e]+$/.test(apiKey))
    faults.push('the secret RESEND_API_KEY has spaces or characters that no key has');
  else if (apiKey) return { kind: 'resend', apiKey, from };
  else if (binding) return { kind: 'binding', binding, from };
  else
    faults.push(
      'the variable EMAIL_FROM is set, but neither the binding EMAIL nor the secret RESEND_API_KEY is',
    );
  return undefined;
}

/**
 * Whether nobody on the network can read or change requests to a URL: it uses `https`, or its host
 * is this machine.
 */
function isTamperProof(text: string): boolean {
  const url = URL.parse(text);
  const isLocal =
    url?.hostname === 'localhost' || url?.hostname === '127.0.0.1' || url?.hostname === '[::1]';
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && isLocal);
}

/** Null if rate limits are off; undefined if they are on and a binding is missing. */
function readLimiters(env: Env): Config['limiters'] | undefined {
  if (env.RATE_LIMITS === 'off') return null;
  const {
    CREDENTIAL_LIMITER: credential,
    ADDRESS_LIMITER: address,
    ACCOUNT_LIMITER: account,
  } = env;
  return credential && address && account && { credential, address, account };
}

function parseOrigin(text: string): string | null {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.pathname !== '/' || url.search || url.hash)
    return null;
  return url.origin;
}

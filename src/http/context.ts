import type { Context as HonoContext } from 'hono';
import type * as z from 'zod';
import type { Cost, Database, Reader } from '../db/database';
import type { MemberRole } from '../db/schema';
import type { Config, Env, Runtime } from '../env';
import type { ProblemCode } from '../errors';
import type { Origin } from '../ledger/entry';
import type { Ledger } from '../ledger/ledger';
import { lazy } from '../lib/lazy';
import type { LogFields } from '../lib/log';
import type { Plan } from '../lib/plans';
import { type Id, makeId, type Prefix } from '../lib/typeid';
import { choice } from './fields';

/** The scopes that a user token may have. */
export const SCOPES = [
  'agents:read',
  'agents:write',
  'permissions:read',
  'permissions:decide',
  'policies:read',
  'policies:write',
  'audit:read',
  'audit:export',
  'tokens:use',
  'webhooks:read',
  'webhooks:write',
  'account:read',
  'account:write',
  'channels:read',
  'channels:write',
  'connections:read',
  'connections:write',
] as const;

export const Scope = lazy(() =>
  choice(SCOPES).meta({ id: 'Scope', description: 'What a user token may do.' }),
);

export type Scope = z.output<ReturnType<typeof Scope>>;

/** The account of a request. */
export interface AccountRef {
  /** The account's number in its shard. */
  number: number;
  id: Id<'user'>;
  plan: Plan;
  /** The account's own setting; null if the plan decides. */
  auditRetentionDays: number | null;
  /** Whether it was stopped when the caller was last authenticated: see `ledger/stop.ts`. */
  isStopped: boolean;
}

/** The member of a request, with the role by which it was authorized. */
export interface MemberRef {
  id: Id<'member'>;
  role: MemberRole;
}

/**
 * A person or program that acts for an account, with a user token or a JWT of the identity
 * provider.
 */
export interface UserPrincipal {
  kind: 'user';
  shard: string;
  account: AccountRef;
  /** The member who acts; null for a user token that belongs to the account. */
  member: MemberRef | null;
  /** The identifier of the user token; null for a JWT. */
  token: Id<'utok'> | null;
  /**
   * Those scopes of the credential that the member's role has; all of its scopes if no member acts.
   */
  scopes: readonly Scope[];
  /** When the credential expires, in milliseconds since the epoch; null if it never does. */
  expiresAt: number | null;
}

/** An agent that authenticated with its key. */
export interface AgentPrincipal {
  kind: 'agent';
  shard: string;
  account: AccountRef;
  agent: {
    number: number;
    id: Id<'agent'>;
    /** The member who is responsible for it; null if nobody is. */
    owner: Id<'member'> | null;
  };
}

export type Principal = UserPrincipal | AgentPrincipal;

/** Everything that a service function needs for one authenticated request. */
export interface Context<P extends Principal = Principal> {
  principal: P;
  config: Config;
  /** With a clock that stands still: see {@link withFixedClock}. */
  runtime: Runtime;
  reader: Reader;
  ledger: Ledger;
  origin: Origin;
}

/**
 * Everything that a service function needs for one request of the operator. Its clock does not
 * stand still.
 */
export interface OperatorContext {
  config: Config;
  runtime: Runtime;
  origin: Origin;
  /** The hash of the request's idempotency key; null without one. */
  key: Uint8Array | null;
  shards: readonly [Shard, ...Shard[]];
}

/** One of the service's databases: each account is on one of them. */
export interface Shard {
  /** The two characters that credentials contain. */
  name: string;
  reader: Reader;
  ledger: Ledger;
  /** Size of the database in bytes. */
  size(): Promise<number>;
}

/** Read access to the database of the account. */
export type { Reader };

export type UserContext = Context<UserPrincipal>;
export type AgentContext = Context<AgentPrincipal>;

/**
 * A runtime whose clock always returns its first reading, so that all rows that a request writes
 * have the same time.
 */
export function withFixedClock(runtime: Runtime): Runtime {
  let time: number | undefined;
  const now = () => {
    time ??= runtime.now();
    return time;
  };
  return { ...runtime, now };
}

/** Makes a new identifier. Identifiers sort by the time at which they were made. */
export function newId<P extends Prefix>(runtime: Runtime, prefix: P): Id<P> {
  return makeId(prefix, runtime.now(), runtime.random(10));
}

/** The parts of Hono's context that code which makes no response needs. */
export type RequestContext = Pick<HonoContext<AppEnv>, 'req' | 'env' | 'var'>;

/**
 * The content of a response. It can be stored, so that a repeated request gets the same body byte
 * for byte.
 */
export interface SentAnswer {
  status: number;
  body: string | null;
  location: string | null;
}

/**
 * The Hono environment: the bindings of the deployment, and the variables of a request. The
 * required ones are set by the first middleware, `prepareRequest`.
 */
export interface AppEnv {
  Bindings: Env;
  Variables: {
    requestId: string;
    runtime: Runtime;
    config: Config;
    cost: Cost;
    origin: Origin;
    /** The path pattern of the route that handles the request, such as `/v1/agents/:id`. */
    route?: string;
    /** The MCP tool that the request calls. */
    tool?: string;
    /** The identifier in the path, if it is of the kind that the route takes. */
    target?: string;
    /** The log fields that name the caller, once authenticated. */
    caller?: LogFields;
    /** The code of the problem that was answered. */
    problem?: ProblemCode;
    /** The database of the account, once the caller is authenticated. */
    database?: Database;
    /** Turns an operation's result into the response that the operation declares. */
    writeAnswer?: (value: object) => SentAnswer;
    /** Authenticates the caller again; fails if their credential has ended. */
    authenticateAgain?: () => Promise<unknown>;
    /** Gives the answer that a concurrent request with the same idempotency key stored. */
    replayConcurrentAnswer?: () => Promise<Response>;
  };
}

import type { Context as HonoContext } from 'hono';
import type * as z from 'zod';
import type { Cost, Database, Reader } from '../db/database';
import type { Config, Env, Runtime } from '../env';
import type { ProblemCode } from '../errors';
import type { Origin } from '../ledger/entry';
import type { Ledger } from '../ledger/ledger';
import { lazy } from '../lib/lazy';
import type { Plan } from '../lib/plans';
import { type Id, makeId, type Prefix } from '../lib/typeid';
import { choice } from './fields';

/** What a user token may be allowed to do. */
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
] as const;

export const Scope = lazy(() => choice(SCOPES).meta({ id: 'Scope', description: 'What a user token may do.' }));

export type Scope = z.output<ReturnType<typeof Scope>>;

/** The account that a request acts in. */
export interface AccountRef {
  /** The account's number in its shard. */
  number: number;
  id: Id<'user'>;
  plan: Plan;
  /** As set on the account; null where the plan decides. */
  auditRetentionDays: number | null;
}

/** A person or program that holds a user token. */
export interface UserPrincipal {
  kind: 'user';
  shard: string;
  account: AccountRef;
  /** Null for somebody who signed in with the identity provider. */
  token: Id<'utok'> | null;
  scopes: readonly Scope[];
  /** When the credential ends, in milliseconds since the epoch; null where it never does. */
  expiresAt: number | null;
}

/** An agent, by its key. */
export interface AgentPrincipal {
  kind: 'agent';
  shard: string;
  account: AccountRef;
  agent: { number: number; id: Id<'agent'> };
}

export type Principal = UserPrincipal | AgentPrincipal;

/** Who called, as the log tells it. */
export type CallerLogFields =
  | { credential: 'operator_token' }
  | { credential: 'signed_address'; shard: string; account: Id<'user'> }
  | { credential: 'user_token' | 'identity_token'; shard: string; account: Id<'user'> }
  | { credential: 'agent_key'; shard: string; account: Id<'user'>; agent: Id<'agent'> };

/** Everything that a service needs to serve one authenticated request. */
export interface Context<P extends Principal = Principal> {
  principal: P;
  config: Config;
  /** Its clock is frozen: see {@link withFixedClock}. */
  runtime: Runtime;
  reader: Reader;
  ledger: Ledger;
  origin: Origin;
}

/** What a service needs to serve the operator: every shard, each with its ledger. */
export interface OperatorContext {
  config: Config;
  runtime: Runtime;
  origin: Origin;
  /** The hash of the request's idempotency key; null without one. */
  key: Uint8Array | null;
  shards: readonly [Shard, ...Shard[]];
}

export interface Shard {
  /** The two characters that credentials carry. */
  name: string;
  reader: Reader;
  ledger: Ledger;
  /** Size of the database in bytes. */
  size(): Promise<number>;
}

export type UserContext = Context<UserPrincipal>;
export type AgentContext = Context<AgentPrincipal>;

/** A runtime whose clock stands still after its first reading, so that all rows that a request writes have one time. */
export function withFixedClock(runtime: Runtime): Runtime {
  let time: number | undefined;
  const now = () => {
    time ??= runtime.now();
    return time;
  };
  return { ...runtime, now };
}

/** Makes an identifier that sorts by the present time. */
export function newId<P extends Prefix>(runtime: Runtime, prefix: P): Id<P> {
  return makeId(prefix, runtime.now(), runtime.random(10));
}

/** What authentication and input need to see of a request. */
export type RequestContext = Pick<HonoContext<App>, 'req' | 'env' | 'var'>;

/** An answer as it goes out: its body is the text that a stored answer repeats byte for byte. */
export interface SentAnswer {
  status: number;
  body: string | null;
  location: string | null;
}

/** The Hono environment: bindings of the deployment, and what the first middlewares give to every request. */
export interface App {
  Bindings: Env;
  Variables: {
    requestId: string;
    runtime: Runtime;
    config: Config;
    cost: Cost;
    origin: Origin;
    /** The pattern of the route that took the request. */
    route?: string;
    /** The identifier in the path, where it is one of the kind that the route takes. */
    target?: string;
    /** Who called, once that is known. */
    caller?: CallerLogFields;
    /** What the request was refused for. */
    problem?: ProblemCode;
    /** The account's database, once a credential was accepted. */
    database?: Database;
    /** Writes what the operation yields as the answer that it declares. */
    writeAnswer?: (value: object) => SentAnswer;
    /** Authenticates the caller again, as if the request came now. */
    authenticateAgain?: () => Promise<void>;
    /** Answers a request with an idempotency key as the same request was answered that was faster. */
    replayConcurrentAnswer?: () => Promise<Response>;
  };
}

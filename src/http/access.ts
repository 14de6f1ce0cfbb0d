import type { SQL } from 'drizzle-orm';
import { createMiddleware } from 'hono/factory';
import type { Query, Reader } from '../db/database';
import { Problem } from '../errors';
import { Ledger } from '../ledger/ledger';
import { findStoredAnswer, type StoredAnswer } from '../ledger/stored-answer';
import type { LogFields } from '../lib/log';
import { idBytes } from '../lib/typeid';
import { enqueueWebhook } from '../outbox/enqueue';
import { authenticate, bearerCredential, isOperatorToken, isWellFormed } from './authentication';
import {
  type AgentPrincipal,
  type AppEnv,
  type Context,
  type Principal,
  type RequestContext,
  type Scope,
  type UserPrincipal,
  withFixedClock,
} from './context';
import type { PreloadQueries } from './credentials';
import { beginIdempotentRequest, idempotencyKey } from './idempotency';
import { claimedScope } from './oidc/identity';
import { withDescription } from './operation';
import { limitAccount, limitCredential } from './rate-limit';

/**
 * Makes a query of account data that runs in the same round trip as the authentication; null if nothing is needed. The
 * caller is not known yet: `owner` is an SQL expression for the number of their account, and `callerId` one for the id
 * of the agent or token. The queries are wrapped in an object, because a promise of a query would run it. `second` is
 * for an operation that needs rows of another kind too.
 */
export type Preload<Q extends Query, S extends Query = never> = (
  c: RequestContext,
  reader: Reader,
  owner: SQL<number>,
  callerId: SQL,
) => Promise<{ query: Q; second?: S | null } | null>;

type Access<P extends Principal, Q extends Query, S extends Query> = {
  Bindings: AppEnv['Bindings'];
  Variables: AppEnv['Variables'] & {
    context: Context<P>;
    /** The rows of the preload query; undefined if there was none. */
    loaded: Q['_']['result'] | undefined;
    /** The rows of the second preload query; undefined if there was none. */
    loadedSecond: S['_']['result'] | undefined;
    /** Authenticates the caller again and runs the preload query again. */
    reload: () => Promise<Q['_']['result'] | undefined>;
    /** The same, with the rows of the second query. */
    reloadSecond: () => Promise<S['_']['result'] | undefined>;
  };
};

/**
 * The problems of every operation that needs a credential. Authentication comes first: an inactive agent's key is
 * answered `agent_inactive` also where only user tokens are accepted.
 */
export const ACCESS_PROBLEMS = ['unauthorized', 'wrong_credential', 'account_inactive', 'agent_inactive'] as const;
const USER_PROBLEMS = [...ACCESS_PROBLEMS, 'insufficient_scope'] as const;

/** Admits user tokens and JWTs that have the scope, and sets `c.var.context` to a `UserContext`. */
export function userAccess<Q extends Query>(scope: Scope, preload?: Preload<Q>) {
  return withDescription(
    accountAccess((principal) => requireUser(principal, scope), preload),
    { callers: [{ credential: 'userToken', scope }], problems: USER_PROBLEMS },
  );
}

/** Admits agent keys, and sets `c.var.context` to an `AgentContext`. */
export function agentAccess<Q extends Query, S extends Query = never>(preload?: Preload<Q, S>) {
  return withDescription(accountAccess(requireAgent, preload), {
    callers: [{ credential: 'agentKey' }],
    problems: ACCESS_PROBLEMS,
  });
}

/** Admits agent keys, and user tokens and JWTs that have the scope. Sets `c.var.context`. */
export function sharedAccess<Q extends Query>(scope: Scope, preload?: Preload<Q>) {
  const requireEither = (principal: Principal) =>
    principal.kind === 'agent' ? principal : requireUser(principal, scope);
  return withDescription(accountAccess<Principal, Q, never>(requireEither, preload), {
    callers: [{ credential: 'agentKey' }, { credential: 'userToken', scope }],
    problems: USER_PROBLEMS,
  });
}

/**
 * Authenticates the caller and sets the context for the handler. A request whose idempotency key has a stored answer
 * gets that answer instead.
 * @param authorize throws a Problem for a principal who may not call the operation
 */
function accountAccess<P extends Principal, Q extends Query, S extends Query>(
  authorize: (principal: Principal) => P,
  preload: Preload<Q, S> | undefined,
) {
  return createMiddleware<Access<P, Q, S>>(async (c, next) => {
    const { config, runtime, origin } = c.var;
    const credential = await bearerCredential(c);
    // A malformed credential fails below without a database query, and counts against the client's address.
    if (isWellFormed(c, credential)) await limitCredential(c, credential);
    const { database, reference, key, stored, loaded, second, ...caller } = await authenticateRequest(
      c,
      credential,
      preload,
    );
    c.set('database', database);
    c.set('caller', callerLogFields(caller.principal));
    const principal = authorize(caller.principal);
    await limitAccount(c, principal);
    const authenticateAgain = async (preload?: Preload<Q, S>) => {
      const again = await authenticateRequest(c, credential, preload, false);
      authorize(again.principal);
      return again;
    };
    const findConcurrentAnswer = async () => (await authenticateAgain()).stored;
    const answers = await beginIdempotentRequest(c, key && answerKey(principal, key), stored, findConcurrentAnswer);
    if (answers instanceof Response) return answers;
    const notifyWebhooks = (account: number) => {
      c.executionCtx.waitUntil(enqueueWebhook(config.webhooks, { shard: principal.shard, account }));
    };
    const fixed = withFixedClock(runtime);
    const ledger = new Ledger(database, { ...reference, now: fixed.now }, answers, notifyWebhooks);
    c.set('context', { principal, config, runtime: fixed, origin, reader: database, ledger });
    c.set('authenticateAgain', async () => {
      await authenticateAgain();
    });
    c.set('loaded', loaded);
    c.set('loadedSecond', second);
    c.set('reload', async () => (await authenticateAgain(preload)).loaded);
    c.set('reloadSecond', async () => (await authenticateAgain(preload)).second);
    return next();
  });
}

/**
 * Authenticates the caller, and finds the stored answer to the idempotency key and the preloaded rows in the same round
 * trip.
 * @param mayCreateAccount whether a person who signs in for the first time gets an account
 */
async function authenticateRequest<Q extends Query, S extends Query>(
  c: RequestContext,
  credential: string,
  preload?: Preload<Q, S>,
  mayCreateAccount = true,
) {
  if (await isOperatorToken(c, credential)) {
    throw new Problem('wrong_credential', 'The operator token is accepted under /v1/admin only.');
  }
  // JWTs of one person share idempotency keys only if their scopes are equal, because an answer may contain a secret.
  const key = await idempotencyKey(c, claimedScope(c, credential));
  const now = c.var.runtime.now();
  const queries: PreloadQueries = async (reader, { id, account }) => {
    const stored = key && findStoredAnswer(reader, { principal: id, key, account }, now);
    const wanted = await preload?.(c, reader, account, id);
    return [stored, wanted?.query ?? null, wanted?.second ?? null];
  };
  const { loaded, ...caller } = await authenticate(c, credential, queries, mayCreateAccount);
  const [stored] = (loaded[0] ?? []) as StoredAnswer[];
  return { ...caller, key, stored, loaded: loaded[1], second: loaded[2] };
}

function answerKey(principal: Principal, key: Uint8Array) {
  const name = idBytes(principal.kind === 'agent' ? principal.agent.id : (principal.token ?? principal.account.id));
  return { principal: name, key, account: principal.account.number };
}

function callerLogFields(principal: Principal): LogFields {
  const { shard, account } = principal;
  const home = { shard, account: account.id };
  if (principal.kind === 'agent') return { credential: 'agent_key', ...home, agent: principal.agent.id };
  return { credential: principal.token === null ? 'identity_token' : 'user_token', ...home };
}

function requireAgent(principal: Principal): AgentPrincipal {
  if (principal.kind === 'agent') return principal;
  throw new Problem('wrong_credential', 'This endpoint requires an agent key, not a user token.');
}

function requireUser(principal: Principal, scope: Scope): UserPrincipal {
  if (principal.kind !== 'user') {
    throw new Problem('wrong_credential', 'This endpoint requires a user token, not an agent key.');
  }
  if (!principal.scopes.includes(scope)) {
    throw new Problem('insufficient_scope', `The user token lacks the scope \`${scope}\`.`);
  }
  return principal;
}

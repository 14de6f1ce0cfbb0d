import type { SQL } from 'drizzle-orm';
import { createMiddleware } from 'hono/factory';
import type { Query, Reader } from '../db/database';
import { Problem } from '../errors';
import {
  authenticate,
  bearerCredential,
  isOperatorToken,
  isWellFormed,
} from '../identity/authentication';
import type { PreloadQueries } from '../identity/credentials';
import { Ledger } from '../ledger/ledger';
import { findStoredAnswer, type StoredAnswer } from '../ledger/stored-answer';
import type { LogFields } from '../lib/log';
import { idBytes } from '../lib/typeid';
import { enqueueWebhook } from '../outbox/enqueue';
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
import { beginIdempotentRequest, idempotencyKey, type ResolvedKey } from './idempotency';
import { withDescription } from './operation';
import { limitAccount, limitCredential, limitMember } from './rate-limit';

/** Queries by name; null for one that is not needed. */
export type NamedQueries = Record<string, Query | null>;

/** The rows of each query by its name; undefined for null. */
export type LoadedRows<Q extends NamedQueries> = {
  [N in keyof Q]: NonNullable<Q[N]>['_']['result'] | undefined;
};

// The order of a request that needs an account:
// 1. The preload makes queries before the caller is known, so they find the account by SQL
//    expressions of the credential.
// 2. Authentication runs them together with the query that finds the caller, in one round trip.
// 3. The caller is authorized and the idempotency key is looked at. `c.var.context` says from then
//    on who calls.
// 4. The handler reads the rows of the preload as `c.var.loaded`, by the names of the queries. To
//    see newer rows, after a lost race or while it waits, it calls `c.var.reload()`, which does 1
//    and 2 again: the credential may have ended.

/**
 * A preload: makes queries of account data that run in the same round trip as the authentication,
 * by name; null for one that is not needed, such as for a malformed id.
 *
 * The caller is not known yet: `account` is an SQL expression for the number of their account, and
 * `callerId` one for the id of the agent or member, or of the user token if it belongs to the
 * account.
 */
export type Preload<Q extends NamedQueries> = (
  c: RequestContext,
  reader: Reader,
  account: SQL<number>,
  callerId: SQL,
) => Promise<Q>;

/** The environment of a route after the access check. */
export type Access<P extends Principal, Q extends NamedQueries> = {
  Bindings: AppEnv['Bindings'];
  Variables: AppEnv['Variables'] & {
    context: Context<P>;
    /** The rows of each query of the preload, by its name. */
    loaded: LoadedRows<Q>;
    /**
     * Authenticates the caller again, and returns the rows of the preload as they are now. `loaded`
     * keeps the old ones.
     */
    reload: () => Promise<LoadedRows<Q>>;
  };
};

/**
 * The problems of every operation that needs a credential. Authentication comes first: an inactive
 * agent's key is answered `agent_inactive` also where only user tokens are accepted.
 */
export const ACCESS_PROBLEMS = [
  'unauthorized',
  'wrong_credential',
  'account_inactive',
  'agent_inactive',
] as const;
const USER_PROBLEMS = [...ACCESS_PROBLEMS, 'insufficient_scope'] as const;

/** Admits user tokens and JWTs that have the scope, and sets `c.var.context` to a `UserContext`. */
export function userAccess<Q extends NamedQueries>(scope: Scope, preload?: Preload<Q>) {
  return withDescription(
    accountAccess((principal) => requireUser(principal, scope), preload),
    { callers: [{ credential: 'userToken', scope }], problems: USER_PROBLEMS },
  );
}

/** Admits agent keys, and sets `c.var.context` to an `AgentContext`. */
export function agentAccess<Q extends NamedQueries>(preload?: Preload<Q>) {
  return withDescription(accountAccess(requireAgent, preload), {
    callers: [{ credential: 'agentKey' }],
    problems: ACCESS_PROBLEMS,
  });
}

/** Admits agent keys, and user tokens and JWTs that have the scope. Sets `c.var.context`. */
export function sharedAccess<Q extends NamedQueries>(scope: Scope, preload?: Preload<Q>) {
  const authorize = (principal: Principal) => requireAgentOrUser(principal, scope);
  return withDescription(accountAccess<Principal, Q>(authorize, preload), {
    callers: [{ credential: 'agentKey' }, { credential: 'userToken', scope }],
    problems: USER_PROBLEMS,
  });
}

/**
 * Admits agent keys, and user tokens and JWTs with any scopes, and sets `c.var.context`. The
 * handler decides what each may do, with {@link requireAgent} and its like. The route is not part
 * of the OpenAPI document.
 */
export function anyAccess<Q extends NamedQueries>(preload?: Preload<Q>) {
  return accountAccess<Principal, Q>((principal) => principal, preload);
}

/**
 * Authenticates the caller and sets the context for the handler. A request whose idempotency key
 * has a stored answer gets that answer instead.
 * @param authorize throws a Problem for a principal who may not call the operation
 */
function accountAccess<P extends Principal, Q extends NamedQueries>(
  authorize: (principal: Principal) => P,
  preload: Preload<Q> | undefined,
) {
  return createMiddleware<Access<P, Q>>(async (c, next) => {
    const { config, runtime, origin } = c.var;
    const credential = await bearerCredential(c);
    // A malformed credential fails below without a database query, and counts against the client's
    // network.
    if (isWellFormed(c, credential)) await limitCredential(c, credential);
    const { database, reference, key, stored, loaded, ...caller } = await authenticateRequest(
      c,
      credential,
      preload,
    );
    c.set('database', database);
    c.set('caller', callerLogFields(caller.principal));
    const principal = authorize(caller.principal);
    await limitMember(c, principal);
    await limitAccount(c, principal);
    const authenticateAgain = async (preload?: Preload<Q>) => {
      const again = await authenticateRequest(c, credential, preload, false);
      authorize(again.principal);
      return again;
    };
    const findConcurrentAnswer = async () => (await authenticateAgain()).stored;
    const answers = await beginIdempotentRequest(
      c,
      key && resolveKey(principal, key),
      stored,
      findConcurrentAnswer,
    );
    if (answers instanceof Response) return answers;
    const notifyWebhooks = (account: number) => {
      c.executionCtx.waitUntil(
        enqueueWebhook(config.webhooks, { shard: principal.shard, account }),
      );
    };
    const fixed = withFixedClock(runtime);
    const ledger = new Ledger(database, { ...reference, now: fixed.now }, answers, notifyWebhooks);
    c.set('context', { principal, config, runtime: fixed, origin, reader: database, ledger });
    c.set('authenticateAgain', async () => {
      await authenticateAgain();
    });
    c.set('loaded', loaded);
    c.set('reload', async () => (await authenticateAgain(preload)).loaded);
    return next();
  });
}

/**
 * Authenticates the caller, and finds the stored answer to the idempotency key and the preloaded
 * rows in the same round trip.
 * @param mayCreateAccount whether a person who signs in for the first time gets an account
 */
async function authenticateRequest<Q extends NamedQueries>(
  c: RequestContext,
  credential: string,
  preload?: Preload<Q>,
  mayCreateAccount = true,
) {
  if (await isOperatorToken(c, credential)) {
    throw new Problem('wrong_credential', 'The operator token is accepted under /v1/admin only.');
  }
  const key = await idempotencyKey(c);
  const now = c.var.runtime.now();
  const named = nameQueries(c, preload);
  const queries: PreloadQueries = async (reader, caller) => {
    const stored =
      key && findStoredAnswer(reader, { principal: caller.id, key, account: caller.account }, now);
    return [stored, ...(await named.queries(reader, caller))];
  };
  const authentication = await authenticate(c, credential, queries, mayCreateAccount);
  const [answers = [], ...rows] = authentication.loaded;
  const [stored] = answers as StoredAnswer[];
  return { ...authentication, key, stored, loaded: named.rows(rows) };
}

/** Makes the queries of a preload, and gives their rows the names again. */
export function nameQueries<Q extends NamedQueries>(
  c: RequestContext,
  preload: Preload<Q> | undefined,
) {
  let names: string[] = [];
  return {
    queries: (async (reader, { id, account }) => {
      const wanted: NamedQueries = (await preload?.(c, reader, account, id)) ?? {};
      names = Object.keys(wanted);
      return Object.values(wanted);
    }) satisfies PreloadQueries,
    rows: (rows: unknown[]) =>
      Object.fromEntries(names.map((name, i) => [name, rows[i]])) as LoadedRows<Q>,
  };
}

/** The idempotency key of a caller. The credentials of one member share their keys. */
function resolveKey(principal: Principal, key: Uint8Array): ResolvedKey {
  const account = principal.account.number;
  if (principal.kind === 'agent')
    return { principal: idBytes(principal.agent.id), key, account, scopes: null };
  const { member, token, scopes } = principal;
  if (member) return { principal: idBytes(member.id), key, account, scopes };
  if (token === null) throw new Error('a JWT without a member was admitted');
  return { principal: idBytes(token), key, account, scopes: null };
}

function callerLogFields(principal: Principal): LogFields {
  const { shard, account } = principal;
  const home = { shard, account: account.id };
  if (principal.kind === 'agent')
    return { credential: 'agent_key', ...home, agent: principal.agent.id };
  const { member, token } = principal;
  return {
    credential: token === null ? 'identity_token' : 'user_token',
    ...home,
    ...(member && { member: member.id }),
  };
}

/** @throws Problem `wrong_credential` for a user */
export function requireAgent(principal: Principal): AgentPrincipal {
  if (principal.kind === 'agent') return principal;
  throw new Problem('wrong_credential', 'This endpoint requires an agent key, not a user token.');
}

/**
 * @throws Problem `wrong_credential` for an agent; `insufficient_scope` for a user without the
 *   scope
 */
export function requireUser(principal: Principal, scope: Scope): UserPrincipal {
  if (principal.kind !== 'user') {
    throw new Problem('wrong_credential', 'This endpoint requires a user token, not an agent key.');
  }
  if (!principal.scopes.includes(scope)) {
    const lacking = principal.member
      ? `user token, or your role \`${principal.member.role}\`,`
      : 'user token';
    throw new Problem('insufficient_scope', `The ${lacking} lacks the scope \`${scope}\`.`);
  }
  return principal;
}

/** @throws Problem `insufficient_scope` for a user without the scope */
export function requireAgentOrUser(principal: Principal, scope: Scope): Principal {
  if (principal.kind === 'agent') return principal;
  return requireUser(principal, scope);
}

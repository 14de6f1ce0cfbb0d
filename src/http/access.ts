import type { SQL } from 'drizzle-orm';
import { createMiddleware } from 'hono/factory';
import type { Cost, Database, Query, Reader } from '../db/database';
import { listShards, openShard } from '../db/shards';
import type { Env } from '../env';
import { Problem } from '../errors';
import { Ledger } from '../ledger/ledger';
import { type Authentication, authenticate, bearerCredential, isOperatorToken } from './authentication';
import type {
  AgentPrincipal,
  App,
  Context,
  Incoming,
  OperatorContext,
  Principal,
  Scope,
  UserPrincipal,
} from './context';
import { describe } from './operation';

/**
 * Makes a query of account data that travels with the authentication, in the same round trip; null when there is
 * nothing to ask for. The account is not known yet: `owner` is the SQL that finds its number by the credential.
 */
export type Preload<Q extends Query> = (
  c: Incoming,
  reader: Reader,
  owner: SQL<number>,
) => Promise<{ query: Q } | null>;

type Access<P extends Principal, Q extends Query> = {
  Bindings: App['Bindings'];
  Variables: App['Variables'] & {
    context: Context<P>;
    /** What the preload brought; undefined where it had nothing to ask for. */
    loaded: Q['_']['result'] | undefined;
  };
};

type SharedAccess<Q extends Query> = {
  Bindings: App['Bindings'];
  Variables: Access<Principal, Q>['Variables'] & {
    /** Authenticates anew, as if the request came now, and brings what the preload asks for. */
    reload: () => Promise<Q['_']['result'] | undefined>;
  };
};

type Operator = {
  Bindings: App['Bindings'];
  Variables: App['Variables'] & { operator: OperatorContext };
};

// What each kind of access may refuse. An agent's key on another's endpoint is refused as inactive before it is as wrong.
const OPERATOR_PROBLEMS = ['unauthorized', 'wrong_credential', 'account_inactive', 'agent_inactive'] as const;
const AGENT_PROBLEMS = OPERATOR_PROBLEMS;
const USER_PROBLEMS = [...OPERATOR_PROBLEMS, 'insufficient_scope'] as const;

/** Lets in user tokens that have the scope; `c.var.context` is then the user's. */
export function userAccess<Q extends Query>(scope: Scope, preload?: Preload<Q>) {
  const middleware = createMiddleware<Access<UserPrincipal, Q>>(async (c, next) => {
    const { principal, database, loaded } = await admit(c, preload);
    c.set('database', database);
    c.set('context', makeContext(c, requireUser(principal, scope), database));
    c.set('loaded', loaded);
    await next();
  });
  return describe(middleware, { callers: [{ credential: 'userToken', scope }], problems: USER_PROBLEMS });
}

/** Lets in agents; `c.var.context` is then the agent's. */
export function agentAccess<Q extends Query>(preload?: Preload<Q>) {
  const middleware = createMiddleware<Access<AgentPrincipal, Q>>(async (c, next) => {
    const { principal, database, loaded } = await admit(c, preload);
    c.set('database', database);
    if (principal.kind !== 'agent') {
      throw new Problem('wrong_credential', 'This endpoint takes an agent key, not a user token.');
    }
    c.set('context', makeContext(c, principal, database));
    c.set('loaded', loaded);
    await next();
  });
  return describe(middleware, { callers: [{ credential: 'agentKey' }], problems: AGENT_PROBLEMS });
}

/** Lets in agents, and user tokens that have the scope. */
export function sharedAccess<Q extends Query>(scope: Scope, preload?: Preload<Q>) {
  const middleware = createMiddleware<SharedAccess<Q>>(async (c, next) => {
    const enter = async () => {
      const { principal, database, loaded } = await admit(c, preload);
      c.set('database', database);
      return { principal: principal.kind === 'agent' ? principal : requireUser(principal, scope), database, loaded };
    };
    const { principal, database, loaded } = await enter();
    c.set('context', makeContext<Principal>(c, principal, database));
    c.set('loaded', loaded);
    c.set('reload', async () => (await enter()).loaded);
    await next();
  });
  return describe(middleware, {
    callers: [{ credential: 'agentKey' }, { credential: 'userToken', scope }],
    problems: [...AGENT_PROBLEMS, ...USER_PROBLEMS],
  });
}

/** Lets in the operator. */
export function operatorAccess() {
  const middleware = createMiddleware<Operator>(async (c, next) => {
    const credential = bearerCredential(c);
    if (!(await isOperatorToken(c, credential))) {
      await authenticate(c, credential);
      throw new Problem('wrong_credential', 'This endpoint takes the operator token.');
    }
    const { config, runtime, cost, origin } = c.var;
    c.set('operator', { config, runtime, origin, shards: openShards(c.env, cost) });
    await next();
  });
  return describe(middleware, { callers: [{ credential: 'operatorToken' }], problems: OPERATOR_PROBLEMS });
}

function openShards(env: Env, cost: Cost): OperatorContext['shards'] {
  const shards = listShards(env).map((name) => {
    const database = openShard(env, name, cost);
    if (!database) throw new Error(`shard ${name} is listed but not bound`);
    return { name, reader: database, ledger: new Ledger(database), size: () => database.size() };
  });
  return shards as unknown as OperatorContext['shards'];
}

async function admit<Q extends Query>(c: Incoming, preload?: Preload<Q>): Promise<Authentication> {
  const credential = bearerCredential(c);
  if (await isOperatorToken(c, credential)) {
    throw new Problem('wrong_credential', 'The operator token opens /v1/admin alone; this endpoint takes another.');
  }
  return authenticate(c, credential, preload && ((reader, owner) => preload(c, reader, owner)));
}

function requireUser(principal: Principal, scope: Scope): UserPrincipal {
  if (principal.kind !== 'user') {
    throw new Problem('wrong_credential', 'This endpoint takes a user token, not an agent key.');
  }
  if (!principal.scopes.includes(scope)) {
    throw new Problem('insufficient_scope', `The user token lacks the scope \`${scope}\`.`);
  }
  return principal;
}

function makeContext<P extends Principal>(c: Incoming, principal: P, database: Database): Context<P> {
  const { config, runtime, origin } = c.var;
  const ledger = new Ledger(database);
  return { principal, config, runtime, origin, reader: database, ledger };
}

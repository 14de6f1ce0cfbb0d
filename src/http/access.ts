import { createMiddleware } from 'hono/factory';
import { Problem, type ProblemCode } from '../errors';
import {
  authenticate,
  bearerCredential,
  isOperatorToken,
  isWellFormed,
} from '../identity/authentication';
import { requireNotStopped } from '../ledger/stop';
import type {
  AgentPrincipal,
  AppEnv,
  Context,
  Principal,
  RequestContext,
  Scope,
  UserPrincipal,
} from './context';
import { callerKey, idempotencyKey, replayAnswer, requestAnswers } from './idempotency';
import { callerLogFields, openContext } from './open-context';
import { withDescription } from './operation';
import { type LoadedRows, type NamedQueries, type Preload, requestQueries } from './preload';
import { limitAccount, limitCredential, limitMember } from './rate-limit';
import { type Shortcut, takeShortcut } from './shortcut';

// The order of a request that needs an account:
// 0. A caller whom the isolate remembers may be served by a shortcut. If it does not serve the
//    request, it has written nothing, and the steps below run.
// 1. The preload makes queries before the caller is known, so they find the account by SQL
//    expressions of the credential.
// 2. Authentication runs them together with the query that finds the caller, in one round trip.
// 3. The caller is authorized and the idempotency key is looked at. `c.var.context` says from then
//    on who calls.
// 4. The handler reads the rows of the preload as `c.var.loaded`, by the names of the queries. To
//    see newer rows, after a lost race or while it waits, it calls `c.var.reload()`, which does 1
//    and 2 again: the credential may have ended.

/** A context, with the rows that were loaded when the caller was authenticated. */
export interface Opened<P extends Principal, Q extends NamedQueries> {
  context: Context<P>;
  loaded: LoadedRows<Q>;
}

/** The environment of a route after the access check. */
export type Access<P extends Principal, Q extends NamedQueries> = {
  Bindings: AppEnv['Bindings'];
  Variables: AppEnv['Variables'] & {
    context: Context<P>;
    /** The rows of each query of the preload, by its name. */
    loaded: LoadedRows<Q>;
    /**
     * Authenticates the caller again, and returns the rows of the preload as they are now. `loaded`
     * keeps the old ones. It also writes into the account of `context` whether it is stopped now.
     */
    reload: () => Promise<LoadedRows<Q>>;
    /**
     * Authenticates the caller again, and returns a context for the present time with the rows of a
     * preload as they are now, by default of the same preload: for requests that act after a wait.
     */
    reopen: (preload?: Preload<Q>) => Promise<Opened<P, Q>>;
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

/**
 * Admits user tokens and JWTs that have the scope, or one of several, and sets `c.var.context` to a
 * `UserContext`.
 */
export function userAccess<Q extends NamedQueries>(
  scope: Scope | readonly Scope[],
  preload?: Preload<Q>,
  rule: AccessRule = {},
) {
  const scopes = [scope].flat();
  const also = rule.alsoNeeds ? [rule.alsoNeeds] : [];
  const authorize = (principal: Principal) => {
    for (const needed of also) requireUser(principal, needed);
    return requireUser(principal, ...scopes);
  };
  return withDescription(
    accountAccess(authorize, preload, {
      ...rule,
      isForUsers: true,
    }),
    {
      callers: scopes.map((each) => ({ credential: 'userToken', scopes: [each, ...also] })),
      problems: USER_PROBLEMS,
      ignoresKey: rule.ignoresKey,
    },
  );
}

/** The further conditions of an operation. */
interface AccessRule {
  /** A scope that a user needs besides. */
  alsoNeeds?: Scope;
  /** Whether it ignores the header `Idempotency-Key`, because it is idempotent itself. */
  ignoresKey?: boolean;
  /** Reads the credential of the request; by default that of `Authorization: Bearer …`. */
  readCredential?: (c: RequestContext) => Promise<string>;
  /**
   * Whether a stopped account refuses the operation. Its stored answers are then not replayed: the
   * handler refuses the request after the checks of the body.
   */
  heedsStop?: boolean;
  /** Serves requests of remembered callers in one round trip. */
  shortcut?: Shortcut;
}

interface AccountRule extends AccessRule {
  /** Whether only users are admitted: nothing is preloaded for an agent key. */
  isForUsers?: boolean;
}

/** Admits agent keys, and sets `c.var.context` to an `AgentContext`. */
export function agentAccess<Q extends NamedQueries>(preload?: Preload<Q>, rule: AccessRule = {}) {
  return withDescription(accountAccess(requireAgent, preload, rule), {
    callers: [{ credential: 'agentKey' }],
    problems: withStop(ACCESS_PROBLEMS, rule),
  });
}

/**
 * Admits agent keys to the proxy of a connection, which has its own forms for the credential and
 * for errors. It takes no idempotency key, and is not part of the OpenAPI document.
 */
export function proxyAccess<Q extends NamedQueries>(
  readCredential: (c: RequestContext) => Promise<string>,
  preload: Preload<Q>,
) {
  return accountAccess(requireAgent, preload, { readCredential, ignoresKey: true });
}

/** Admits agent keys, and user tokens and JWTs that have the scope. Sets `c.var.context`. */
export function sharedAccess<Q extends NamedQueries>(
  scope: Scope,
  preload?: Preload<Q>,
  rule: AccessRule = {},
) {
  const authorize = (principal: Principal) => requireAgentOrUser(principal, scope);
  return withDescription(accountAccess<Principal, Q>(authorize, preload, rule), {
    callers: [{ credential: 'agentKey' }, { credential: 'userToken', scopes: [scope] }],
    problems: withStop(USER_PROBLEMS, rule),
  });
}

function withStop(problems: readonly ProblemCode[], { heedsStop }: AccessRule) {
  return heedsStop ? [...problems, 'account_stopped' as const] : problems;
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
  {
    heedsStop = false,
    ignoresKey = false,
    isForUsers = false,
    readCredential = bearerCredential,
    shortcut,
  }: AccountRule = {},
) {
  return createMiddleware<Access<P, Q>>(async (c, next) => {
    const credential = await readCredential(c);
    // A malformed credential fails below without a database query, and counts against the client's
    // network.
    if (isWellFormed(c, credential)) await limitCredential(c, credential);
    const key = ignoresKey ? null : await idempotencyKey(c);
    let isLimited = false;
    const limit = async (principal: Principal) => {
      if (isLimited) return;
      await limitMember(c, principal);
      await limitAccount(c, principal);
      isLimited = true;
    };
    const served =
      shortcut && (await takeShortcut(c, { credential, key, authorize, limit }, shortcut));
    if (served) return served;
    const request = { credential, key, isForUsers };
    const first = await authenticateRequest(c, request, preload);
    const answers = key && requestAnswers(c, callerKey(first.principal, key));
    const context = openContext(c, first, answers);
    c.set('caller', callerLogFields(first));
    const principal = authorize(first.principal);
    await limit(principal);
    // The credential may have ended meanwhile, and the account may have been stopped.
    const reauthenticate = async (current?: Preload<Q>) => {
      const again = await authenticateRequest(c, request, current, { mayCreateAccount: false });
      principal.account.isStopped = again.principal.account.isStopped;
      return { ...again, principal: authorize(again.principal) };
    };
    if (!ignoresKey) {
      const isStopped = heedsStop && principal.account.isStopped;
      const replayable = isStopped ? undefined : first.stored;
      const replayed = await replayAnswer(c, answers, replayable, async () => {
        const { stored } = await reauthenticate();
        if (heedsStop) requireNotStopped(principal.account);
        return stored;
      });
      if (replayed) return replayed;
    }
    c.set('context', { ...context, principal });
    c.set('authenticateAgain', reauthenticate);
    c.set('loaded', first.loaded);
    c.set('reload', async () => (await reauthenticate(preload)).loaded);
    c.set('reopen', async (current = preload) => {
      const again = await reauthenticate(current);
      const reopened = openContext(c, again, null);
      return { context: { ...reopened, principal: again.principal }, loaded: again.loaded };
    });
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
  {
    credential,
    key,
    isForUsers,
  }: { credential: string; key: Uint8Array | null; isForUsers: boolean },
  preload?: Preload<Q>,
  { mayCreateAccount = true } = {},
) {
  if (await isOperatorToken(c, credential)) {
    throw new Problem('wrong_credential', 'The operator token is accepted under /v1/admin only.');
  }
  const { queries, read } = requestQueries(c, key, preload, isForUsers);
  const caller = await authenticate(c, credential, queries, { mayCreateAccount });
  return { ...caller, ...read(caller.loaded) };
}

/** @throws Problem `wrong_credential` for a user */
export function requireAgent(principal: Principal): AgentPrincipal {
  if (principal.kind === 'agent') return principal;
  throw new Problem('wrong_credential', 'This endpoint requires an agent key, not a user token.');
}

/**
 * @throws Problem `wrong_credential` for an agent; `insufficient_scope` for a user with none of the
 *   scopes
 */
export function requireUser(principal: Principal, ...scopes: readonly Scope[]): UserPrincipal {
  if (principal.kind !== 'user') {
    throw new Problem('wrong_credential', 'This endpoint requires a user token, not an agent key.');
  }
  if (!scopes.some((scope) => principal.scopes.includes(scope))) {
    const lacking = principal.member
      ? `user token, or your role \`${principal.member.role}\`,`
      : 'user token';
    const needed = scopes.map((scope) => `\`${scope}\``).join(' or ');
    throw new Problem('insufficient_scope', `The ${lacking} lacks the scope ${needed}.`);
  }
  return principal;
}

/** @throws Problem `insufficient_scope` for a user without the scope */
export function requireAgentOrUser(principal: Principal, scope: Scope): Principal {
  if (principal.kind === 'agent') return principal;
  return requireUser(principal, scope);
}

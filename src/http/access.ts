import type { SQL } from 'drizzle-orm';
import { createMiddleware } from 'hono/factory';
import type { Database, Query, Reader } from '../db/database';
import { Problem } from '../errors';
import type { CredentialReference } from '../ledger/authority';
import { Ledger } from '../ledger/ledger';
import { findStoredAnswer, type StoredAnswer } from '../ledger/stored-answer';
import { idBytes } from '../lib/typeid';
import { enqueueWebhook } from '../outbox/enqueue';
import { authenticate, bearerCredential, isOperatorToken, isWellFormed } from './authentication';
import {
  type AgentPrincipal,
  type App,
  type CallerLogFields,
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
 * Makes a query of account data that travels with the authentication, in the same round trip; null when there is
 * nothing to ask for. The account is not known yet: `owner` is the SQL that finds its number by the credential.
 */
export type Preload<Q extends Query> = (
  c: RequestContext,
  reader: Reader,
  owner: SQL<number>,
) => Promise<{ query: Q } | null>;

type Access<P extends Principal, Q extends Query> = {
  Bindings: App['Bindings'];
  Variables: App['Variables'] & {
    context: Context<P>;
    /** What the preload brought; undefined where it had nothing to ask for. */
    loaded: Q['_']['result'] | undefined;
    /** Authenticates anew, as if the request came now, and brings what the preload asks for. */
    reload: () => Promise<Q['_']['result'] | undefined>;
  };
};

// An agent's key on another's endpoint is refused as inactive before it is refused as wrong.
export const ACCESS_PROBLEMS = ['unauthorized', 'wrong_credential', 'account_inactive', 'agent_inactive'] as const;
const USER_PROBLEMS = [...ACCESS_PROBLEMS, 'insufficient_scope'] as const;

/** Lets in user tokens that have the scope; `c.var.context` is then the user's. */
export function userAccess<Q extends Query>(scope: Scope, preload?: Preload<Q>) {
  return withDescription(
    accountAccess((principal) => requireUser(principal, scope), preload),
    { callers: [{ credential: 'userToken', scope }], problems: USER_PROBLEMS },
  );
}

/** Lets in agents; `c.var.context` is then the agent's. */
export function agentAccess<Q extends Query>(preload?: Preload<Q>) {
  return withDescription(accountAccess(requireAgent, preload), {
    callers: [{ credential: 'agentKey' }],
    problems: ACCESS_PROBLEMS,
  });
}

/** Lets in agents, and user tokens that have the scope. */
export function sharedAccess<Q extends Query>(scope: Scope, preload?: Preload<Q>) {
  const requireEither = (principal: Principal) =>
    principal.kind === 'agent' ? principal : requireUser(principal, scope);
  return withDescription(accountAccess<Principal, Q>(requireEither, preload), {
    callers: [{ credential: 'agentKey' }, { credential: 'userToken', scope }],
    problems: USER_PROBLEMS,
  });
}

/**
 * Goes on to the handler with the caller's context, or gives the answer that the same request was given before.
 * @param authorize turns away whoever may not call
 */
function accountAccess<P extends Principal, Q extends Query>(
  authorize: (principal: Principal) => P,
  preload: Preload<Q> | undefined,
) {
  return createMiddleware<Access<P, Q>>(async (c, next) => {
    const { config, runtime, origin } = c.var;
    const credential = await bearerCredential(c);
    // One that is malformed is refused before anything is asked, and counts as a failure of its sender's.
    if (isWellFormed(c, credential)) await limitCredential(c, credential);
    const { database, reference, key, stored, loaded, ...admission } = await authenticateRequest(
      c,
      credential,
      preload,
    );
    c.set('database', database);
    c.set('caller', callerLogFields(admission.principal));
    const principal = authorize(admission.principal);
    await limitAccount(c, principal);
    /** Authenticates the caller again, as if the request came now. */
    const authenticateAgain = async (asked?: Preload<Q>) => {
      const again = await authenticateRequest(c, credential, asked, 'known');
      authorize(again.principal);
      return again;
    };
    const findConcurrentAnswer = async () => (await authenticateAgain()).stored;
    const keyed = await beginIdempotentRequest(c, key && answerKey(principal, key), stored, findConcurrentAnswer);
    if (keyed instanceof Response) return keyed;
    const announce = (account: number) => {
      c.executionCtx.waitUntil(enqueueWebhook(config.webhooks, { shard: principal.shard, account }));
    };
    const frozen = withFixedClock(runtime);
    const ledger = new Ledger(database, { ...reference, now: frozen.now }, keyed, announce);
    c.set('context', { principal, config, runtime: frozen, origin, reader: database, ledger });
    c.set('authenticateAgain', async () => {
      await authenticateAgain();
    });
    c.set('loaded', loaded);
    c.set('reload', async () => (await authenticateAgain(preload)).loaded);
    return next();
  });
}

/** A caller who may pass, and what came with the authentication. */
interface AuthenticatedRequest {
  principal: Principal;
  reference: CredentialReference;
  database: Database;
  key: Uint8Array | null;
  /** The answer that the key was given before. */
  stored: StoredAnswer | undefined;
  loaded: unknown;
}

/** @param who whether a person who is not known yet gets an account */
async function authenticateRequest<Q extends Query>(
  c: RequestContext,
  credential: string,
  preload?: Preload<Q>,
  who: 'known' | 'anybody' = 'anybody',
): Promise<AuthenticatedRequest> {
  if (await isOperatorToken(c, credential)) {
    throw new Problem('wrong_credential', 'The operator token opens /v1/admin alone; this endpoint takes another.');
  }
  // JWTs of one person share their keys only where they have the same scopes: an answer may hold a secret.
  const key = await idempotencyKey(c, claimedScope(c, credential));
  const now = c.var.runtime.now();
  const fellows: PreloadQueries = async (reader, { id, account }) => {
    const stored = key && findStoredAnswer(reader, { principal: id, key, account }, now);
    return [stored, (await preload?.(c, reader, account))?.query ?? null];
  };
  const { principal, reference, database, loaded } = await authenticate(c, credential, fellows, who);
  const [stored] = (loaded[0] ?? []) as StoredAnswer[];
  return { principal, reference, database, key, stored, loaded: loaded[1] };
}

function answerKey(principal: Principal, key: Uint8Array) {
  const name = idBytes(principal.kind === 'agent' ? principal.agent.id : (principal.token ?? principal.account.id));
  return { principal: name, key, account: principal.account.number };
}

function callerLogFields(principal: Principal): CallerLogFields {
  const { shard, account } = principal;
  const home = { shard, account: account.id };
  if (principal.kind === 'agent') return { credential: 'agent_key', ...home, agent: principal.agent.id };
  return { credential: principal.token === null ? 'identity_token' : 'user_token', ...home };
}

function requireAgent(principal: Principal): AgentPrincipal {
  if (principal.kind === 'agent') return principal;
  throw new Problem('wrong_credential', 'This endpoint takes an agent key, not a user token.');
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

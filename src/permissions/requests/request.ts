import type { SQL } from 'drizzle-orm';
import { Hono } from 'hono';
import { ConstraintError, type Reader } from '../../db/database';
import { invalidRequest, Problem, unavailable } from '../../errors';
import { agentAccess } from '../../http/access';
import { type AgentContext, newId, type RequestContext } from '../../http/context';
import { body, noQuery, readJson, readObject } from '../../http/input';
import { answer, answerExisting, created, operation } from '../../http/operation';
import type { CallerSql } from '../../identity/credentials';
import { CredentialEnded } from '../../ledger/authority';
import { requireNotStopped } from '../../ledger/stop';
import { equalJson, type JsonObject } from '../../lib/json';
import { assertLoaded, selectActivePolicies } from '../../policies/policy';
import {
  describeAct,
  EXTERNAL_ID,
  findByExternalId,
  type PermissionWithContents,
  presentContents,
} from '../contents';
import { Permission, presentPermission } from '../permission';
import { selectLiveSeries } from '../series/series';
import { requireSeriesFits } from '../series/terms';
import { signActiveTokens } from '../tokens/sign-active-tokens';
import { PendingQuotaFull } from './pending-quota';
import { type DraftRequest, PermissionRequest, type RequestInput } from './permission-request';
import { RulingOutdated } from './ruling';
import { storeRequest } from './store';
import { type Rules, weighRequest } from './weigh';

/** The rows that are loaded for a request in the round trip of its authentication. */
interface Loaded extends Rules {
  /** The permission that the agent requested under the same external id before. */
  existing: PermissionWithContents | undefined;
}

interface RequestPermissionContext extends AgentContext {
  /**
   * Authenticates the agent again, who may have lost access meanwhile, and loads the rows again.
   */
  reload: () => Promise<Loaded>;
}

/**
 * Creates a permission. If an active policy applies, it decides at once, and an approved permission
 * is returned with its token. Otherwise a live series that covers it approves it, or it waits until
 * it expires: for reviewers if a review policy applies, else for any person who may decide.
 *
 * If the agent has already sent the same request under the same external id, returns that
 * permission as it is now, and writes nothing. If several such requests come at the same time, one
 * creates the permission and the others return it.
 *
 * If the policy with a budget, or the series, that approves it is changed or used up before the
 * approval is stored, weighs the request again. After three such races people decide.
 * @throws Problem `invalid_request`, `account_stopped`; `conflict` if the agent or the account has
 *   the maximum number of pending requests, or the log is full; `external_id_conflict` if another
 *   request of the agent has the external id
 */
export async function requestPermission(
  context: RequestPermissionContext,
  { policies, liveSeries, existing, ...input }: Loaded & RequestInput,
): Promise<{ permission: Permission; isNew: boolean }> {
  const { principal, runtime, reload } = context;
  const { account, agent } = principal;
  const { action, resource } = input;
  requireSeriesFits(input);
  const act = await describeAct(input);
  requireSingleUseForOutcome(input);
  const id = newId(runtime, 'perm');
  const subject = { account: account.number, agent: agent.number, id, action, resource };
  const draft = { subject, input, act, connectionId: null };
  requireNotStopped(account);
  if (existing) return await showExisting(context, draft, existing);
  let rules: Rules = { policies, liveSeries };
  for (let staleReads = 0; ; ) {
    const ruling = await weighRequest(context, draft, rules, staleReads);
    try {
      return { permission: await storeRequest(context, draft, ruling), isNew: true };
    } catch (error) {
      const isOutdated = error instanceof RulingOutdated;
      if (!isOutdated && !mayHaveLostRace(draft, error)) throw error;
      const loaded = await reload();
      requireNotStopped(account);
      if (loaded.existing) return await showExisting(context, draft, loaded.existing);
      // The request that took the external id was erased meanwhile.
      if (isExternalIdTaken(error)) throw unavailable();
      if (!isOutdated) throw error;
      staleReads += 1;
      rules = loaded;
    }
  }
}

/** @throws Problem `invalid_request` if a request of several uses promises an outcome */
function requireSingleUseForOutcome({ reports_outcome, max_uses }: RequestInput): void {
  if (!reports_outcome || max_uses === 1) return;
  const message = 'takes a request with a `max_uses` of 1';
  throw invalidRequest([{ path: 'body.reports_outcome', message }]);
}

/**
 * Whether a request that was not stored may have lost a race against one with the same external id:
 * that one may have taken the last place, or its account may have moved to another shard.
 */
function mayHaveLostRace({ act }: DraftRequest, error: unknown): boolean {
  if (act.externalId === null) return false;
  return (
    isExternalIdTaken(error) ||
    error instanceof PendingQuotaFull ||
    error instanceof CredentialEnded
  );
}

function isExternalIdTaken(error: unknown): boolean {
  return error instanceof ConstraintError && error.subject === 'permissions.external_id';
}

/**
 * Shows a permission that was requested before under the external id of this request, with its
 * active token.
 * @throws Problem `external_id_conflict` if this request differs
 */
async function showExisting(
  context: AgentContext,
  { input, act }: DraftRequest,
  existing: PermissionWithContents,
) {
  const isSame =
    existing.action === input.action &&
    existing.resource === input.resource &&
    existing.inputDigest === act.inputDigest &&
    equalJson(existing.scope, input.scope);
  if (!isSame) {
    throw new Problem(
      'external_id_conflict',
      'The agent has another request with this `external_id`: its action, resource, scope or input differs.',
    );
  }
  const now = context.runtime.now();
  const tokens = await signActiveTokens(context, [existing], now);
  const permission = {
    ...presentPermission(existing, now, context.principal, tokens.get(existing.id)),
    ...presentContents(existing),
  };
  return { permission, isNew: false };
}

/** Preloads what {@link selectForRequest} selects for the body of the request. */
async function preloadRequest(c: RequestContext, _: Reader, { account, id: agentId }: CallerSql) {
  const body = (await readObject(c, readJson)) ?? {};
  return selectForRequest({ account, agentId, body }, c.var.runtime.now());
}

/**
 * Makes the queries that a request needs: the active policies, the agent's live series, and its
 * permission that already has the external id of the request.
 */
export function selectForRequest(
  { account, agentId, body }: { account: SQL<number>; agentId: SQL; body: JsonObject },
  now: number,
) {
  const { external_id: externalId, action, resource } = body;
  const isNamed = typeof externalId === 'string' && EXTERNAL_ID.test(externalId);
  return {
    policies: selectActivePolicies(account),
    liveSeries: selectLiveSeries({ account, agentId, action, resource }, now),
    existing: isNamed ? findByExternalId({ account, agentId, externalId }, now) : null,
  };
}

/** The rows of {@link selectForRequest}, as they were loaded. */
type LoadedRows = {
  [N in keyof Loaded]:
    | NonNullable<ReturnType<typeof selectForRequest>[N]>['_']['result']
    | undefined;
};

/** Picks from the loaded rows those that {@link requestPermission} needs. */
export function readLoaded({ policies, liveSeries = [], existing }: LoadedRows): Loaded {
  return { policies: assertLoaded(policies), liveSeries, existing: existing?.[0] };
}

export const requestPermissionRoute = new Hono().post(
  '/v1/permissions',
  operation({
    id: 'requestPermission',
    tag: 'Permissions',
    summary: 'Request a permission',
    description:
      'A policy may decide it at once; otherwise it waits for people. The same request with the same `external_id` is ' +
      'answered 200 with the existing permission.',
    success: { ...created(Permission), mayExist: true },
    problems: ['conflict', 'external_id_conflict'],
  }),
  agentAccess(preloadRequest, { heedsStop: true }),
  noQuery(),
  body(PermissionRequest),
  async (c) => {
    const { loaded, reload } = c.var;
    const context = { ...c.var.context, reload: async () => readLoaded(await reload()) };
    const input = { ...readLoaded(loaded), ...c.req.valid('json') };
    const { permission, isNew } = await requestPermission(context, input);
    if (!isNew) return answerExisting(c, permission);
    return answer(c, permission);
  },
);

import { type SQL, sql } from 'drizzle-orm';
import type { Reader } from '../../db/database';
import { agents } from '../../db/schema';
import type { Opened } from '../../http/access';
import type { AgentPrincipal, RequestContext } from '../../http/context';
import type { LoadedRows } from '../../http/preload';
import type { CallerSql } from '../../identity/credentials';
import { parseId } from '../../lib/typeid';
import { selectAllLiveSeries } from '../../permissions/series/series';
import { selectActivePolicies } from '../../policies/policy';
import { selectConnection } from '../connection';
import { callName } from './call-name';
import { type CallLookup, selectCall, selectTakeover } from './earlier-calls';

/** The idempotency key of a call; null without one. */
export function callKey(request: Request): string | null {
  return request.headers.get('Idempotency-Key');
}

/**
 * Preloads what decides a call, before its input is known: its earlier permission is found only by
 * its idempotency key, as the settings of the connection say what belongs to the input.
 */
export async function preloadCall(
  c: RequestContext,
  reader: Reader,
  { account, id: agentId }: CallerSql,
) {
  const key = callKey(c.req.raw);
  const byKey = key === null ? null : { name: await callName('key', key), takeover: null };
  return selectForCall(c, { reader, account, agentId }, byKey);
}

/** Returns a preload of what decides a call whose input is known: see {@link preloadCall}. */
export function preloadKnownCall(lookup: CallLookup) {
  return async (c: RequestContext, reader: Reader, { account, id: agentId }: CallerSql) =>
    selectForCall(c, { reader, account, agentId }, lookup);
}

/**
 * Makes the queries for the connection, the account's active policies, the agent's live series, the
 * permission to which the call leads, and the one that it takes over.
 */
function selectForCall(
  c: RequestContext,
  { reader, account, agentId }: { reader: Reader; account: SQL<number>; agentId: SQL },
  lookup: CallLookup | null,
) {
  const connection = parseId('conn', c.req.param('id') ?? '');
  const now = c.var.runtime.now();
  const agent = sql<number>`(
    select asking.number from ${agents} as asking
    where asking.account = ${account} and asking.id = ${agentId}
  )`;
  const caller = connection && { account, connection, agent };
  return {
    connection: connection && selectConnection(account, { id: connection }),
    policies: selectActivePolicies(account),
    liveSeries: selectAllLiveSeries({ account, agentId }, now),
    earlier: caller && lookup && selectCall(reader, caller, lookup),
    takeover:
      caller && lookup?.takeover ? selectTakeover(reader, caller, lookup.takeover, now) : null,
  };
}

type CallQueries = ReturnType<typeof selectForCall>;

/** The rows that were loaded for a call. */
export type LoadedCall = LoadedRows<CallQueries>;

/** The context of a call, with what was loaded for it. */
export type OpenedCall = Opened<AgentPrincipal, CallQueries>;

import { and, eq, type SQL, sql } from 'drizzle-orm';
import { idList } from '../db/columns';
import type { Reader } from '../db/database';
import { agents } from '../db/schema';
import { invalidRequest } from '../errors';
import { idText, listOf } from '../http/fields';
import { lazy } from '../lib/lazy';
import { parseId } from '../lib/typeid';

/** Maximum number of agents that a webhook, or a filter of a channel, names. */
export const MAX_NAMED_AGENTS = 100;

/** The field that names agents. */
export const agentIds = lazy(() =>
  listOf(idText('agent', 'must be the id of an agent'), MAX_NAMED_AGENTS),
);

/**
 * Selects those of the named agents that the account has; null if no name is the id of an agent.
 */
export function selectAgents(
  reader: Reader,
  account: SQL<number>,
  named: unknown[],
  maximum = MAX_NAMED_AGENTS,
) {
  const ids = named
    .slice(0, maximum)
    .flatMap((id) => (typeof id === 'string' ? (parseId('agent', id) ?? []) : []));
  if (ids.length === 0) return null;
  // As one parameter, because D1 allows at most 100 per statement.
  const wanted = idList(ids);
  const isWanted = and(eq(agents.account, account), sql`${agents.id} in ${wanted}`);
  return reader.select({ id: agents.id }).from(agents).where(isWanted);
}

/**
 * Refuses agents that the account does not have.
 * @param ids the agents that the request names
 * @param found those of them that the account has
 * @param path where the request names them
 * @throws Problem `invalid_request`
 */
export function requireAgents(
  ids: string[] | null | undefined,
  found: { id: string }[],
  path = 'body.agent_ids',
): void {
  const own = new Set(found.map(({ id }) => id));
  const errors = (ids ?? []).flatMap((id, i) =>
    own.has(id) ? [] : [{ path: `${path}.${i}`, message: 'is not an agent of this account' }],
  );
  if (errors.length > 0) throw invalidRequest(errors);
}

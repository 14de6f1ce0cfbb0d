import { and, eq, type SQL, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { mergeSorted } from '../db/merge-sorted';
import { agents, PERMISSION_STATUSES, permissions } from '../db/schema';
import { sharedAccess } from '../http/access';
import type { Context } from '../http/context';
import { queryText } from '../http/fields';
import { query } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { makePageById, type Page, pageParameters, readCursor } from '../http/page';
import { pageOf } from '../http/response-fields';
import { lazy } from '../lib/lazy';
import { type Id, idBytes, parseId } from '../lib/typeid';
import { Permission, type PermissionRow, PermissionStatus, permissionColumns, presentPermission } from './permission';
import { tokenValues } from './tokens/token-value';

const PermissionList = lazy(() =>
  z.strictObject({
    ...pageParameters(20, 100),
    status: PermissionStatus().optional().meta({ description: 'Permissions with this status.' }),
    agent_id: queryText.optional().meta({ description: 'Permissions of this agent.' }),
    action: queryText.optional().meta({ description: 'Permissions for this action, as it is written.' }),
  }),
);

type Filters = Omit<z.output<ReturnType<typeof PermissionList>>, 'limit' | 'cursor'>;

/** Lists the account's permissions, newest first; an agent sees its own. */
export async function listPermissions(
  context: Context,
  { limit, cursor, ...filters }: z.output<ReturnType<typeof PermissionList>>,
): Promise<Page<Permission>> {
  const { principal, reader, config, runtime } = context;
  const owner = principal.kind === 'agent' ? principal.agent.id : principal.account.id;
  const binding = { list: 'permissions', owner, filters };
  const before = cursor === undefined ? null : await readCursor(config.keyring, binding, cursor);
  const now = runtime.now();
  const page = selectPage(context, filters, before as Id<'perm'> | null, now);
  const [rows] = await reader.load([
    reader
      .select(permissionColumns)
      .from(sql`(select id from (${page}) limit ${limit + 1}) as page`)
      // A cross join is taken in the order written: left to choose, SQLite starts with every permission of the account.
      .crossJoin(permissions)
      .leftJoin(agents, eq(agents.number, permissions.agent))
      .where(and(eq(permissions.account, principal.account.number), sql`${permissions.id} = page.id`)),
  ]);
  // Sorted here: SQLite would read each row once more to sort what is sorted already.
  rows.sort((a, b) => (a.id < b.id ? 1 : -1));
  // Permissions of a deleted agent wait for their erasure, and are not shown.
  const values = await tokenValues(context, rows.filter(hasAgent), now);
  return makePageById(config.keyring, binding, rows, limit, (row) =>
    hasAgent(row) ? presentPermission(row, now, values.get(row.id)) : null,
  );
}

function hasAgent(row: { [C in keyof PermissionRow]: PermissionRow[C] | null }): row is PermissionRow {
  return row.agentId !== null;
}

/**
 * The ids of the permissions that match, newest first. Every index has the status before the id, so that a page is one
 * range of it for each status, merged, however many match.
 */
function selectPage({ principal }: Context, filters: Filters, before: Id<'perm'> | null, now: number): SQL {
  const account = principal.account.number;
  const range = chooseRange(account, agentFilter(principal, filters.agent_id, account), filters.action);
  const older = before ? sql`and id < ${idBytes(before)}` : sql``;
  const arms = statusRanges(filters.status, now).map((status) => sql`select id from ${range} and ${status} ${older}`);
  return mergeSorted(arms, 'id', 'desc');
}

function chooseRange(account: number, agent: SQL | null, action: string | undefined): SQL {
  if (agent && action !== undefined) {
    return sql`permissions indexed by permissions_by_agent_action where agent = ${agent} and action = ${action}`;
  }
  if (agent) return sql`permissions indexed by permissions_by_agent where agent = ${agent}`;
  return action === undefined
    ? sql`permissions indexed by permissions_by_status where account = ${account}`
    : sql`permissions indexed by permissions_by_action where account = ${account} and action = ${action}`;
}

/** The number of the agent whose permissions are wanted, as SQL; null for those of all agents. */
function agentFilter(principal: Context['principal'], wanted: string | undefined, account: number): SQL | null {
  const id = wanted === undefined ? null : parseId('agent', wanted);
  if (principal.kind === 'agent') {
    const own = wanted === undefined || id === principal.agent.id;
    return own ? sql`${principal.agent.number}` : sql`null`;
  }
  if (wanted === undefined) return null;
  return id ? sql`(select number from agents where account = ${account} and id = ${idBytes(id)})` : sql`null`;
}

/** The stored states that make up a status at this moment: an overdue request is expired, swept or not. */
function statusRanges(status: Filters['status'], now: number): SQL[] {
  if (status === undefined) return PERMISSION_STATUSES.map((_, code) => sql`status = ${sql.raw(String(code))}`);
  const code = PERMISSION_STATUSES.indexOf(status);
  if (status === 'pending') return [sql`status = ${sql.raw(String(code))} and expires_at > ${now}`];
  const stored = sql`status = ${sql.raw(String(code))}`;
  return status === 'expired' ? [stored, sql`status = 0 and expires_at <= ${now}`] : [stored];
}

export const listPermissionsRoute = new Hono().get(
  '/v1/permissions',
  operation({
    id: 'listPermissions',
    tag: 'Permissions',
    summary: 'List permissions',
    description: 'Newest first. An agent sees its own.',
    success: ok(pageOf(Permission)),
  }),
  sharedAccess('permissions:read'),
  query(PermissionList),
  async (c) => answer(c, await listPermissions(c.var.context, c.req.valid('query'))),
);

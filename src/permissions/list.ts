import { and, eq, type SQL, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { codeOf } from '../db/columns';
import { mergeSorted } from '../db/merge-sorted';
import { isAgentOfPermission } from '../db/permission-joins';
import { agents, PERMISSION_STATUSES, permissions } from '../db/schema';
import { sharedAccess } from '../http/access';
import type { Context, Principal } from '../http/context';
import { queryText } from '../http/fields';
import { query } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { openPage, type Page, pageParameters } from '../http/page';
import { pageOf } from '../http/response-fields';
import { type LazyOutput, lazy } from '../lib/lazy';
import { byId, type Id, idBytes, parseId } from '../lib/typeid';
import {
  Permission,
  PermissionStatus,
  presentPermission,
  type ReviewedPermission,
  reviewedColumns,
} from './permission';
import { signActiveTokens } from './tokens/sign-active-tokens';

/** The query parameters of a list of permissions. */
export const PermissionList = lazy(() =>
  z.strictObject({
    ...pageParameters(20, 100),
    status: PermissionStatus()
      .optional()
      .meta({ description: 'Only permissions with this status.' }),
    agent_id: queryText.optional().meta({ description: 'Only permissions of this agent.' }),
    external_id: queryText
      .optional()
      .meta({ description: 'Only the permissions requested under this external id.' }),
    action: queryText.optional().meta({ description: 'Only permissions for exactly this action.' }),
  }),
);

type ListInput = LazyOutput<typeof PermissionList>;

/**
 * Lists the account's permissions, newest first. An agent gets only its own, with their active
 * tokens.
 */
export async function listPermissions(
  context: Context,
  input: ListInput,
): Promise<Page<Permission>> {
  const { principal, reader, runtime } = context;
  const caller = principal.kind === 'agent' ? principal.agent.id : principal.account.id;
  const page = await openPage<Id<'perm'>>(context, { list: 'permissions', caller }, input);
  const now = runtime.now();
  const ids = selectIds(principal, input, page.after, now);
  const [rows] = await reader.load([
    reader
      .select(reviewedColumns(now))
      .from(sql`(select id from (${ids}) limit ${page.rowLimit}) as page`)
      // A cross join keeps this order. With a plain join SQLite starts with every permission of the
      // account.
      .crossJoin(permissions)
      .leftJoin(agents, isAgentOfPermission)
      .where(
        and(eq(permissions.account, principal.account.number), sql`${permissions.id} = page.id`),
      ),
  ]);
  // Sorted here, because SQLite would read each row again to sort the join.
  rows.sort((a, b) => byId(b, a));
  // Permissions of a deleted agent are hidden until they are erased.
  const tokens = await signActiveTokens(context, rows.filter(hasAgent), now);
  return page.make(rows, (row) => {
    if (!hasAgent(row)) return null;
    return presentPermission(row, now, principal, tokens.get(row.id));
  });
}

function hasAgent(
  row: { [C in keyof ReviewedPermission]: ReviewedPermission[C] | null },
): row is ReviewedPermission {
  return row.agentId !== null;
}

/**
 * Makes the select of the ids of the matching permissions, newest first.
 *
 * Within an account, agent or action, the indexes order by status, then by id. The select merges
 * one index range for each status, so the cost of a page does not depend on how many permissions
 * match. (An overdue request is expired, although its stored status may still be `pending`: another
 * index finds these.) With an external id it depends on how many agents use that id.
 */
function selectIds(
  principal: Principal,
  { agent_id, action, external_id, status: wanted }: ListInput,
  after: Id<'perm'> | undefined,
  now: number,
): SQL {
  const account = principal.account.number;
  const agent = selectWantedAgent(principal, agent_id, account);
  let older = sql``;
  if (after) older = sql`and id < ${idBytes(after)}`;
  if (external_id !== undefined) {
    // Few permissions have an external id: one select reads them all, and sorts.
    const hasStatus = statusCondition(wanted, now);
    return sql`select id from ${rangeOfExternalId(account, agent, action, external_id)} and ${hasStatus} ${older}
      order by id desc`;
  }
  const range = chooseRange(account, agent, action);
  let isLive = sql``;
  if (wanted === 'pending') isLive = sql`and expires_at > ${now}`;
  const stored = PERMISSION_STATUSES.filter((status) => status === (wanted ?? status));
  const arms = stored.map(
    (status) => sql`select id from ${range} and ${isStored(status)} ${isLive} ${older}`,
  );
  if (wanted === 'expired')
    arms.push(sql`select id from ${overdueRange(account, agent, action, now)} ${older}`);
  return mergeSorted(arms, 'id', 'desc');
}

function rangeOfExternalId(
  account: number,
  agent: SQL | null,
  action: string | undefined,
  externalId: string,
): SQL {
  // At most one permission per agent.
  return sql`permissions indexed by permissions_by_external_id
    where account = ${account} and external_id = ${externalId} ${andMatches(agent, action)}`;
}

/** The requests that are overdue, but still stored as pending: those since the last sweep. */
function overdueRange(
  account: number,
  agent: SQL | null,
  action: string | undefined,
  now: number,
): SQL {
  return sql`permissions indexed by permissions_waiting
    where account = ${account} and ${isStored('pending')} and expires_at <= ${now} ${andMatches(agent, action)}`;
}

function andMatches(agent: SQL | null, action: string | undefined): SQL {
  const matches: SQL[] = [];
  if (agent) matches.push(sql`and agent = ${agent}`);
  if (action !== undefined) matches.push(sql`and action = ${action}`);
  return sql.join(matches, sql` `);
}

function chooseRange(account: number, agent: SQL | null, action: string | undefined): SQL {
  if (agent && action !== undefined) {
    return sql`permissions indexed by permissions_by_agent_action where agent = ${agent} and action = ${action}`;
  }
  if (agent) return sql`permissions indexed by permissions_by_agent where agent = ${agent}`;
  if (action !== undefined)
    return sql`permissions indexed by permissions_by_action where account = ${account} and action = ${action}`;
  return sql`permissions indexed by permissions_by_status where account = ${account}`;
}

/**
 * The number of the agent to which the list is limited, as SQL; null for a user who names no agent,
 * and so gets all.
 *
 * This is what restricts an agent to its own permissions: without a filter it gets its own number.
 * The SQL is NULL, which matches nothing, if the caller names an agent that does not exist or, as
 * an agent, names another one.
 */
function selectWantedAgent(
  principal: Principal,
  wanted: string | undefined,
  account: number,
): SQL | null {
  const id = parseId('agent', wanted ?? '');
  if (principal.kind === 'agent') {
    const { agent } = principal;
    if (wanted === undefined || id === agent.id) return sql`${agent.number}`;
    return sql`null`;
  }
  if (wanted === undefined) return null;
  if (!id) return sql`null`;
  return sql`(select number from agents where account = ${account} and id = ${idBytes(id)})`;
}

function isStored(status: PermissionStatus): SQL {
  return sql`status = ${codeOf(PERMISSION_STATUSES, status)}`;
}

/**
 * Whether a permission has a status at the time `now`; for undefined, any. An overdue request is
 * expired, although its stored status may still be `pending`.
 */
function statusCondition(wanted: PermissionStatus | undefined, now: number): SQL {
  if (wanted === undefined) return sql`true`;
  if (wanted === 'pending') return sql`${isStored('pending')} and expires_at > ${now}`;
  if (wanted === 'expired')
    return sql`(${isStored('expired')} or ${isStored('pending')} and expires_at <= ${now})`;
  return isStored(wanted);
}

export const listPermissionsRoute = new Hono().get(
  '/v1/permissions',
  operation({
    id: 'listPermissions',
    tag: 'Permissions',
    summary: 'List permissions',
    description: 'Newest first. An agent sees only its own permissions, with their active tokens.',
    success: ok(pageOf(Permission)),
  }),
  sharedAccess('permissions:read'),
  query(PermissionList),
  async (c) => answer(c, await listPermissions(c.var.context, c.req.valid('query'))),
);

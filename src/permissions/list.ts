import { and, eq, type SQL, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { isAgentOfPermission } from '../db/permission-joins';
import { agents, permissions } from '../db/schema';
import { invalidRequest } from '../errors';
import { sharedAccess } from '../http/access';
import type { Context } from '../http/context';
import { choice, queryText } from '../http/fields';
import { query } from '../http/input';
import { defineList, loadPage, preloadPage, type RowsOf } from '../http/list';
import { answer, ok, operation } from '../http/operation';
import { openPage, type Page, pageParameters } from '../http/page';
import { pageOf } from '../http/response-fields';
import { type LazyOutput, lazy } from '../lib/lazy';
import { byId, type Id, idBytes, parseId } from '../lib/typeid';
import { reviewedColumns } from './find-permission';
import type { OutcomeOrder } from './outcomes/select-outcomes';
import {
  Permission,
  PermissionStatus,
  presentPermission,
  type ReviewedPermission,
} from './permission';
import { type PermissionFilter, type Place, selectListed } from './select-listed';
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
    outcome: choice(['failed', 'unknown'])
      .optional()
      .meta({ description: 'Only permissions whose act had this outcome, as its program says.' }),
    connection_id: queryText
      .optional()
      .meta({ description: 'Only permissions that this connection made, in their order.' }),
    decided_by: queryText.optional().meta({
      description:
        'Only permissions that this member decided or voted on, in the order of their last vote or decision. Not for agents.',
    }),
  }),
);

/** The filters of the API, and for the console alone the order of a list by outcome. */
type ListInput = LazyOutput<typeof PermissionList> & { outcome_order?: OutcomeOrder };

const permissionList = defineList({
  parameters: PermissionList,
  readPosition: parsePosition,
  select: (reader, caller, input: ListInput, { after, rowLimit }) => {
    const { account, now } = caller;
    const listed = selectListed(account, readFilter(caller.agent, input), {
      after: after && readPosition(after),
      limit: rowLimit,
      now,
    });
    return reader
      .select({
        ...reviewedColumns(now),
        id: sql<Id<'perm'>>`page.id`.mapWith(permissions.id).as('listed_id'),
        place: sql<number>`page.place`.as('place'),
        isEnd: sql<boolean>`page.is_end`.mapWith(Boolean).as('is_end'),
      })
      .from(sql`(${listed}) as page`)
      .leftJoin(
        permissions,
        and(eq(permissions.account, account), sql`${permissions.id} = page.id`),
      )
      .leftJoin(agents, isAgentOfPermission);
  },
});

/**
 * Lists the account's permissions, newest first. An agent gets only its own, with their active
 * tokens. A page may have fewer permissions than its limit, or none, and still have a next page.
 * @param preloaded the rows of the page, if they were preloaded
 * @throws Problem `invalid_request` for an agent that asks who decided; `invalid_cursor`
 */
export async function listPermissions(
  context: Context,
  input: ListInput,
  preloaded?: RowsOf<typeof permissionList>,
): Promise<Page<Permission>> {
  const { principal, runtime } = context;
  if (principal.kind === 'agent' && input.decided_by !== undefined)
    throw invalidRequest([{ path: 'query.decided_by', message: 'is for users only' }]);
  const caller = principal.kind === 'agent' ? principal.agent.id : principal.account.id;
  const page = await openPage<Position>(context, { list: 'permissions', caller }, input);
  const now = runtime.now();
  const rows = preloaded ?? (await loadPage(permissionList, context, input, page));
  // Sorted here, because SQLite would read each row again to sort the join.
  rows.sort((a, b) => Number(a.isEnd) - Number(b.isEnd) || b.place - a.place || byId(b, a));
  // Permissions of a deleted agent are hidden until they are erased.
  const tokens = await signActiveTokens(context, rows.filter(hasAgent), now);
  const present = (row: (typeof rows)[number]) => {
    if (!hasAgent(row) || row.isEnd) return null;
    return presentPermission(row, now, principal, tokens.get(row.id));
  };
  return page.make(rows, present, {
    position: writePosition,
    isCut: rows.some(({ isEnd }) => isEnd),
  });
}

type Nullable<R> = { [C in keyof R]: R[C] | null };

function hasAgent<R extends Nullable<ReviewedPermission>>(row: R): row is R & ReviewedPermission {
  return row.agentId !== null;
}

type Position = `${number}.${Id<'perm'>}`;

/** Returns the text if it is a position in the list, else null. */
function parsePosition(text: string): Position | null {
  const [place = '', id = ''] = text.split('.');
  const known = parseId('perm', id);
  if (!known || !/^\d{1,15}$/.test(place)) return null;
  return writePosition({ place: Number(place), id: known });
}

function writePosition({ place, id }: Place): Position {
  return `${place}.${id}`;
}

function readPosition(position: Position): Place {
  const [place, id] = position.split('.') as [string, Id<'perm'>];
  return { place: Number(place), id };
}

function readFilter(caller: SQL | null, input: ListInput): PermissionFilter {
  const { agent_id, status, action, external_id, outcome } = input;
  const { connection_id, decided_by, outcome_order } = input;
  const filter: PermissionFilter = { status, action, externalId: external_id, outcome };
  const agent = wantedAgent(caller, agent_id);
  if (agent !== undefined) filter.agent = agent;
  if (connection_id !== undefined) filter.connection = parseId('conn', connection_id);
  if (decided_by !== undefined) filter.decidedBy = parseId('member', decided_by);
  if (outcome_order !== undefined) filter.outcomeOrder = outcome_order;
  return filter;
}

/**
 * The id of the agent to which the list is limited; undefined for a user who names none, and so
 * gets all.
 *
 * This is what restricts an agent to its own permissions: without a filter it gets its own id.
 * Null, which matches nothing, if the caller names no agent's id or, as an agent, another one's.
 */
function wantedAgent(caller: SQL | null, wanted: string | undefined) {
  if (wanted === undefined) return caller ?? undefined;
  const id = parseId('agent', wanted);
  if (caller === null || id === null) return id;
  return sql`iif(${caller} = ${idBytes(id)}, ${caller}, null)`;
}

export const listPermissionsRoute = new Hono().get(
  '/v1/permissions',
  operation({
    id: 'listPermissions',
    tag: 'Permissions',
    summary: 'List permissions',
    description:
      'Newest first, in the order of the log: of requests or, with a status, of the entries that gave it. Goes back to ' +
      'the retention of the plan; pending requests and an `external_id` are always found. An agent sees only its own ' +
      'permissions, with their active tokens. A page may be short, with `has_more`.',
    success: ok(pageOf(Permission)),
  }),
  sharedAccess('permissions:read', preloadPage(permissionList)),
  query(PermissionList),
  async (c) =>
    answer(c, await listPermissions(c.var.context, c.req.valid('query'), c.var.loaded.page)),
);

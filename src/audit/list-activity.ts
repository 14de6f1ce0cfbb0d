import { and, type Column, eq, getTableColumns, gte, lt, type SQL, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { ACTIVITY_ACTIONS } from '../db/activity-actions';
import { activity } from '../db/schema';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { EXAMPLE, exampleId } from '../http/examples';
import { choice, queryText } from '../http/fields';
import { query } from '../http/input';
import { defineList, loadPage, preloadPage, type RowsOf } from '../http/list';
import { answer, ok, operation } from '../http/operation';
import { openPage, type Page, pageParameters } from '../http/page';
import { idField, pageOf, timeField } from '../http/response-fields';
import { type LazyOutput, lazy } from '../lib/lazy';
import { formatTime } from '../lib/time';
import { byId, type Id, parseId, smallestIdAt } from '../lib/typeid';
import { dateRange, requireDateOrder } from './date-range';
import { oldestKept } from './entry';

const ActivityAction = lazy(() => choice(ACTIVITY_ACTIONS).meta({ id: 'ActivityAction' }));

/** The query parameters of a list of activity records. */
export const ActivityList = lazy(() =>
  z.strictObject({
    ...pageParameters(50, 1_000),
    action: ActivityAction().optional().meta({ description: 'Only actions of this kind.' }),
    target: queryText.optional().meta({ description: 'Only actions on the object with this id.' }),
    actor: queryText.optional().meta({ description: 'Only actions by this actor.' }),
    ...dateRange(),
  }),
);

/** A record of the account activity as the API shows it. */
export const Activity = lazy(() =>
  z
    .object({
      id: idField('act'),
      actor: z
        .string()
        .nullable()
        .meta({
          description:
            'Id of the member; of the user token, where it belongs to the account itself; `operator`; null for a download ' +
            'by its signed URL.',
        }),
      action: ActivityAction(),
      target: z
        .string()
        .meta({ description: 'Id of the object, which remains when the object is deleted.' }),
      changes: z
        .array(z.string())
        .meta({ description: 'Names of the changed fields, never their values.' }),
      ip_address: z.string(),
      user_agent: z.string(),
      created_at: timeField,
    })
    .meta({
      id: 'Activity',
      description: 'An action on the account itself.',
      examples: [
        {
          id: exampleId('act'),
          actor: exampleId('utok'),
          action: 'agent.updated',
          target: exampleId('agent'),
          changes: ['metadata'],
          ip_address: EXAMPLE.ipAddress,
          user_agent: EXAMPLE.userAgent,
          created_at: EXAMPLE.time,
        },
      ],
    }),
);

export type Activity = LazyOutput<typeof Activity>;

const activityList = defineList({
  parameters: ActivityList,
  readPosition: (text: string) => parseId('act', text),
  select: (reader, { account }, input, { after, rowLimit }) => {
    const { action, target, actor, start_date, end_date } = input;
    const matches = and(
      eq(activity.account, account),
      action && eq(activity.action, action),
      eqIfGiven(activity.target, target),
      eqIfGiven(activity.actor, actor),
      start_date && gte(activity.id, smallestIdAt('act', start_date.bound)),
      end_date && lt(activity.id, smallestIdAt('act', end_date.bound)),
      after && lt(activity.id, after),
    );
    const ids = sql`select ${activity.id} from ${chooseIndex(input)} where ${matches}
      order by ${activity.id} desc limit ${rowLimit}`;
    return reader
      .select(getTableColumns(activity))
      .from(sql`(${ids}) as page`)
      .crossJoin(activity)
      .where(and(eq(activity.account, account), sql`${activity.id} = page.id`));
  },
});

/**
 * Lists the matching records of the account activity, newest first, as far back as the account's
 * retention period.
 * @param preloaded the rows of the page, if they were preloaded
 * @throws Problem `invalid_request` for a range that ends before it starts; `invalid_cursor`
 */
export async function listActivity(
  context: UserContext,
  input: LazyOutput<typeof ActivityList>,
  preloaded?: RowsOf<typeof activityList>,
): Promise<Page<Activity>> {
  requireDateOrder('query', input);
  const { principal, runtime } = context;
  const { account } = principal;
  const page = await openPage<Id<'act'>>(context, { list: 'activity', caller: account.id }, input);
  const found = preloaded ?? (await loadPage(activityList, context, input, page));
  // Retention erases old records later than they stop being shown.
  const oldest = smallestIdAt('act', oldestKept(account, runtime.now()));
  const rows = found.filter(({ id }) => id >= oldest);
  // Sorted here, because SQLite would read each row again to sort the join.
  rows.sort((a, b) => byId(b, a));
  return page.make(rows, (row) => ({
    id: row.id,
    actor: row.actor,
    action: row.action,
    target: row.target,
    changes: row.changes,
    ip_address: row.ipAddress,
    user_agent: row.userAgent,
    created_at: formatTime(row.createdAt),
  }));
}

/** The condition that a column has the given value; none without one. */
function eqIfGiven(column: Column, value: string | undefined): SQL | undefined {
  if (value === undefined) return undefined;
  return eq(column, value);
}

/**
 * The table with the index of the most selective filter. By itself SQLite takes the primary key,
 * and reads all records of the account to find the few that match.
 */
function chooseIndex({ action, target, actor }: ActivityFilters): SQL {
  if (target !== undefined) return sql`${activity} indexed by activity_by_target`;
  if (actor !== undefined) return sql`${activity} indexed by activity_by_actor`;
  if (action !== undefined) return sql`${activity} indexed by activity_by_action`;
  return sql`${activity}`;
}

type ActivityFilters = Pick<LazyOutput<typeof ActivityList>, 'action' | 'target' | 'actor'>;

export const listActivityRoute = new Hono().get(
  '/v1/activity',
  operation({
    id: 'listActivity',
    tag: 'Audit',
    summary: 'Search the account activity',
    description:
      'Actions on the account itself, such as creating, changing and deleting agents, policies and tokens. Newest first, ' +
      'back to the retention of the plan.',
    success: ok(pageOf(Activity)),
  }),
  userAccess('audit:read', preloadPage(activityList)),
  query(ActivityList),
  async (c) =>
    answer(c, await listActivity(c.var.context, c.req.valid('query'), c.var.loaded.page)),
);

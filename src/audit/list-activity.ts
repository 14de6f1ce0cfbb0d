import { and, desc, eq, gte, lt } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { ACTIVITY_ACTIONS, activity } from '../db/schema';
import { invalidRequest } from '../errors';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { EXAMPLE, exampleId } from '../http/examples';
import { choice, queryText } from '../http/fields';
import { query } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { makePageById, type Page, pageParameters, readCursor } from '../http/page';
import { idField, pageOf, timeField } from '../http/response-fields';
import { lazy } from '../lib/lazy';
import { formatTime } from '../lib/time';
import { type Id, smallestIdAt } from '../lib/typeid';
import { oldestKept } from './entry';
import { timeRange } from './time-range';

const ActivityAction = lazy(() => choice(ACTIVITY_ACTIONS).meta({ id: 'ActivityAction' }));

const ActivityList = lazy(() =>
  z.strictObject({
    ...pageParameters(50, 1_000),
    action: ActivityAction().optional().meta({ description: 'Acts of this kind.' }),
    target: queryText.optional().meta({ description: 'What was done to the thing with this id.' }),
    actor: queryText.optional().meta({ description: 'What was done with the credential that has this id.' }),
    ...timeRange(),
  }),
);

/** What somebody did to the account, as the API shows it. */
export const Activity = lazy(() =>
  z
    .object({
      id: idField('act'),
      actor: z.string().nullable().meta({
        description: 'Id of the user token or agent, or `operator`; null where a signed address was used.',
      }),
      action: ActivityAction(),
      target: z.string().meta({ description: 'Id of the thing; it stays when the thing is deleted.' }),
      changes: z.array(z.string()).meta({ description: 'Names of the fields that were set, never their values.' }),
      ip_address: z.string(),
      user_agent: z.string(),
      created_at: timeField,
    })
    .meta({
      id: 'Activity',
      description: 'Something that was done to the account itself.',
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

export type Activity = z.output<ReturnType<typeof Activity>>;

/** Searches what people did to the account itself, newest first, as far back as the plan keeps it. */
export async function listActivity(
  { reader, principal, config, runtime }: UserContext,
  { limit, cursor, ...filters }: z.output<ReturnType<typeof ActivityList>>,
): Promise<Page<Activity>> {
  const { action, target, actor, start_date, end_date } = filters;
  if (start_date && end_date && start_date.written > end_date.written) {
    throw invalidRequest([{ path: 'query.start_date', message: 'must not be after end_date' }]);
  }
  const { account } = principal;
  const binding = { list: 'activity', owner: account.id, filters };
  const before = cursor === undefined ? undefined : await readCursor(config.keyring, binding, cursor);
  const from = Math.max(oldestKept(account, runtime.now()), start_date?.bound ?? 0);
  const page = reader
    .select()
    .from(activity)
    .where(
      and(
        eq(activity.account, account.number),
        action && eq(activity.action, action),
        target === undefined ? undefined : eq(activity.target, target),
        actor === undefined ? undefined : eq(activity.actor, actor),
        gte(activity.id, smallestIdAt('act', from)),
        end_date && lt(activity.id, smallestIdAt('act', end_date.bound)),
        before === undefined ? undefined : lt(activity.id, before as Id<'act'>),
      ),
    )
    .orderBy(desc(activity.id))
    .limit(limit + 1);
  const [rows] = await reader.load([page]);
  return makePageById(config.keyring, binding, rows, limit, (row) => ({
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

export const activityList = new Hono().get(
  '/v1/activity',
  operation({
    id: 'listActivity',
    tag: 'Audit',
    summary: 'Search the account activity',
    description:
      'What people did to the account itself: agents, policies and tokens made, changed and deleted. Newest first, as far ' +
      'back as the plan keeps audit entries.',
    success: ok(pageOf(Activity)),
  }),
  userAccess('audit:read'),
  query(ActivityList),
  async (c) => answer(c, await listActivity(c.var.context, c.req.valid('query'))),
);

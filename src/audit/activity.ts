import { and, desc, eq, gte, lt } from 'drizzle-orm';
import { Hono } from 'hono';
import { z } from 'zod';
import { ACTIVITY_ACTIONS, activity } from '../db/schema';
import { invalidRequest } from '../errors';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { queryText, rangeEnd } from '../http/fields';
import { query } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { makePageById, type Page, pageParameters, readCursor } from '../http/page';
import { pageOf, shownId, shownTime } from '../http/shown';
import { DAY, formatTime } from '../lib/time';
import { firstIdAt, type Id } from '../lib/typeid';
import { oldestKept } from './entry';

const ActivityList = z.strictObject({
  ...pageParameters(50, 1_000),
  action: z.enum(ACTIVITY_ACTIONS, `must be one of ${ACTIVITY_ACTIONS.join(', ')}`).optional(),
  target: queryText.optional(),
  actor: queryText.optional(),
  start_date: rangeEnd(0).optional(),
  end_date: rangeEnd(DAY).optional(),
});

/** What somebody did to the account, as the API shows it. */
export const Activity = z.object({
  id: shownId('act'),
  actor: z.string().nullable(),
  action: z.enum(ACTIVITY_ACTIONS),
  target: z.string(),
  changes: z.array(z.string()),
  ip_address: z.string(),
  user_agent: z.string(),
  created_at: shownTime,
});

export type Activity = z.output<typeof Activity>;

/** Searches what people did to the account itself, newest first, as far back as the plan keeps it. */
export async function listActivity(
  { reader, principal, config, runtime }: UserContext,
  { limit, cursor, ...filters }: z.output<typeof ActivityList>,
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
        gte(activity.id, firstIdAt('act', from)),
        end_date && lt(activity.id, firstIdAt('act', end_date.bound)),
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
    success: ok(pageOf(Activity)),
  }),
  userAccess('audit:read'),
  query(ActivityList),
  async (c) => answer(c, await listActivity(c.var.context, c.req.valid('query'))),
);

import { and, desc, eq, gte, lt, sql } from 'drizzle-orm';
import type { Reader } from '../../db/database';
import { ACTIVITY_ACTIONS, type ActivityAction, activity } from '../../db/schema';
import { formatTime } from '../../lib/time';
import { smallestIdAt } from '../../lib/typeid';
import type { ActivityRecord, ComplianceReport } from './report';

/** How many records of one kind a report shows, the newest. */
export const SHOWN_RECORDS = 100;

const CONFIGURATION = ACTIVITY_ACTIONS.filter(
  (action) => action !== 'agent.key_rotated' && !/^(export|report)\./.test(action),
);

/** Counts what was done to an account from one time on and before another, and reads the newest of it. */
export async function readChanges(
  reader: Reader,
  account: number,
  { from, to }: { from: number; to: number },
): Promise<ComplianceReport['activity']> {
  const ofAction = (action: ActivityAction) =>
    and(
      eq(activity.account, account),
      eq(activity.action, action),
      gte(activity.id, smallestIdAt('act', from)),
      lt(activity.id, smallestIdAt('act', to)),
    );
  const counts = ACTIVITY_ACTIONS.map((action) =>
    reader.select({ records: sql<number>`count(*)` }).from(activity).where(ofAction(action)),
  );
  const newest = (action: ActivityAction) =>
    reader.select().from(activity).where(ofAction(action)).orderBy(desc(activity.id)).limit(SHOWN_RECORDS);
  const [rotations, ...others] = await reader.load([newest('agent.key_rotated'), ...CONFIGURATION.map(newest)]);
  const totals = await reader.load(counts as [(typeof counts)[number], ...typeof counts]);
  const byAction = ACTIVITY_ACTIONS.map((action, i) => [action, totals[i]?.[0]?.records ?? 0] as const);
  return {
    by_action: Object.fromEntries(byAction.filter(([, records]) => records > 0)),
    key_rotations: rotations.map(presentRecord),
    configuration_changes: others
      .flat()
      .toSorted((a, b) => (a.id < b.id ? 1 : -1))
      .slice(0, SHOWN_RECORDS)
      .map(presentRecord),
  };
}

function presentRecord({
  id,
  createdAt,
  action,
  actor,
  target,
  changes,
}: typeof activity.$inferSelect): ActivityRecord {
  return { id, at: formatTime(createdAt), action, actor, target, changes };
}

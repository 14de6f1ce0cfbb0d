import { and, desc, eq, gte, isNull, lt, lte, sql } from 'drizzle-orm';
import { aliased } from '../../db/columns';
import type { Reader } from '../../db/database';
import { ACTIVITY_ACTIONS, type ActivityAction, activity, agentKeys, agents, policies } from '../../db/schema';
import type { FileRow } from '../../files/file-records';
import { formatTime } from '../../lib/time';
import { type Id, smallestIdAt } from '../../lib/typeid';
import type { ActivityRecord, ReportContent } from './content';
import { coverageEnd } from './report';

/** How many key rotations, and how many configuration changes, a report lists: the newest. */
export const LISTED_RECORDS = 100;

/** An agent as it is registered now, except for its key. */
export interface RegisteredAgent {
  number: number;
  id: Id<'agent'>;
  name: string;
  isActive: boolean;
  createdAt: number;
  /**
   * When the key was made that was current at the end of the period; if that is not known, the earliest possible time.
   */
  keyCreatedAt: number | null;
}

/** A policy with its rules as they are now. */
export interface CurrentPolicy {
  id: Id<'policy'>;
  name: string;
  effect: 'approve' | 'deny';
  isActive: boolean;
  /** Whether it applies to every request of every agent. */
  isUnrestricted: boolean;
  /** When it was last changed; 0 if it never was. */
  changedAt: number;
}

/** The agents and policies of an account. */
export interface Configuration {
  agents: RegisteredAgent[];
  policies: CurrentPolicy[];
}

/**
 * Reads the agents of a report's account, and the policies that existed when the report was requested, oldest first.
 */
export async function readConfiguration(reader: Reader, file: FileRow): Promise<Configuration> {
  const [agentRows, policyRows] = await reader.load([
    reader
      .select({
        number: agents.number,
        id: agents.id,
        name: agents.name,
        isActive: agents.isActive,
        createdAt: agents.createdAt,
        keyCreatedAt: aliased(agentKeys.createdAt, 'key_created_at'),
      })
      .from(agents)
      .leftJoin(agentKeys, and(eq(agentKeys.agent, agents.number), isNull(agentKeys.expiresAt)))
      .where(eq(agents.account, file.account)),
    reader
      .select()
      .from(policies)
      .where(and(eq(policies.account, file.account), lte(policies.createdAt, file.createdAt))),
  ]);
  return {
    agents: (await withKeysAtPeriodEnd(reader, file, agentRows)).toSorted(byId),
    policies: policyRows.toSorted(byId).map(({ id, name, effect, isActive, ...rules }) => ({
      ...{ id, name, effect, isActive },
      changedAt: rules.updatedAt > rules.createdAt ? rules.updatedAt : 0,
      isUnrestricted:
        rules.agentIds === null &&
        Object.keys(rules.conditions).length === 0 &&
        rules.actions.some((pattern) => ANY_ACTION.test(pattern)) &&
        rules.resources.some((pattern) => ANY_RESOURCE.test(pattern)),
    })),
  };
}

/**
 * Replaces the creation times of keys that were made after the period by those of the keys that were current at its
 * end. The database no longer has these keys; the account activity has the times of the rotations.
 */
async function withKeysAtPeriodEnd(reader: Reader, file: FileRow, rows: RegisteredAgent[]): Promise<RegisteredAgent[]> {
  const until = coverageEnd(file);
  const replaced = rows.filter(({ keyCreatedAt }) => keyCreatedAt !== null && keyCreatedAt >= until);
  if (replaced.length === 0) return rows;
  const [rotations] = await reader.load([
    reader
      .select({ target: activity.target, at: sql<number>`max(activity.created_at)` })
      .from(sql`json_each(${JSON.stringify(replaced.map(({ id }) => id))}) as wanted`)
      .crossJoin(activity)
      .where(
        and(
          eq(activity.account, file.account),
          eq(activity.target, sql`wanted.value`),
          eq(activity.action, 'agent.key_rotated'),
          gte(activity.id, smallestIdAt('act', file.keptFrom)),
          lt(activity.id, smallestIdAt('act', until)),
        ),
      )
      .groupBy(activity.target),
  ]);
  const rotatedAt = new Map<string, number>(rotations.map(({ target, at }) => [target, at]));
  const keysCreatedAt = new Map(
    replaced.map(({ id, createdAt }) => {
      // Rotations before `keptFrom` are no longer in the activity.
      return [id, rotatedAt.get(id) ?? Math.max(createdAt, file.keptFrom)];
    }),
  );
  return rows.map((row) => ({ ...row, keyCreatedAt: keysCreatedAt.get(row.id) ?? row.keyCreatedAt }));
}

/** Matches the patterns that apply to every action (`*`, `*.*`) and to every resource (`*`, `*:*`). */
const ANY_ACTION = /^\*+(\.\*+)?$/;
const ANY_RESOURCE = /^\*+(:\*+)?$/;

function byId(a: { id: string }, b: { id: string }): number {
  return a.id < b.id ? -1 : 1;
}

const CONFIGURATION_ACTIONS = ACTIVITY_ACTIONS.filter(
  (action) => action !== 'agent.key_rotated' && !/^(export|report)\./.test(action),
);

/**
 * Counts the activity records of an account by action, and reads the newest key rotations and configuration changes.
 * @param from inclusive
 * @param to exclusive
 */
export async function readActivity(
  reader: Reader,
  account: number,
  { from, to }: { from: number; to: number },
): Promise<ReportContent['activity']> {
  const isOfAction = (action: ActivityAction) =>
    and(
      eq(activity.account, account),
      eq(activity.action, action),
      gte(activity.id, smallestIdAt('act', from)),
      lt(activity.id, smallestIdAt('act', to)),
    );
  const counts = ACTIVITY_ACTIONS.map((action) =>
    reader.select({ records: sql<number>`count(*)` }).from(activity).where(isOfAction(action)),
  );
  const newest = (action: ActivityAction) =>
    reader.select().from(activity).where(isOfAction(action)).orderBy(desc(activity.id)).limit(LISTED_RECORDS);
  const [rotations, ...others] = await reader.load([newest('agent.key_rotated'), ...CONFIGURATION_ACTIONS.map(newest)]);
  const totals = await reader.load(counts as [(typeof counts)[number], ...typeof counts]);
  const byAction = ACTIVITY_ACTIONS.map((action, i) => [action, totals[i]?.[0]?.records ?? 0] as const);
  return {
    by_action: Object.fromEntries(byAction.filter(([, records]) => records > 0)),
    key_rotations: rotations.map(presentRecord),
    configuration_changes: others
      .flat()
      .toSorted((a, b) => (a.id < b.id ? 1 : -1))
      .slice(0, LISTED_RECORDS)
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

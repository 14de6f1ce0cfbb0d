import { and, desc, eq, gte, isNull, lt, lte, sql } from 'drizzle-orm';
import { ACTIVITY_ACTIONS, type ActivityAction } from '../db/activity-actions';
import { aliased } from '../db/columns';
import type { Reader } from '../db/database';
import { activity, agentKeys, agents, members, policies } from '../db/schema';
import type { FileRow } from '../files/file-records';
import { toHex } from '../lib/bytes';
import { formatTime } from '../lib/time';
import { byId, idBytes, parseId, smallestIdAt } from '../lib/typeid';
import type { ReportContent } from './content';
import { coverageEnd, reportRequest } from './report';

/**
 * Maximum number of key rotations, and of configuration changes, that a report lists: the newest.
 */
export const MAX_LISTED_ACTIVITY = 100;

/** An agent as it is now, except for the age of its key. */
export type RegisteredAgent = Pick<
  typeof agents.$inferSelect,
  'number' | 'id' | 'name' | 'isActive' | 'createdAt' | 'owner'
> & {
  /**
   * When the key was made that was current at {@link coverageEnd}; if that is not known, the
   * earliest possible time. Null if the agent has no current key.
   */
  keyCreatedAt: number | null;
};

/** A policy as it is now. One that has expired is inactive. */
type CurrentPolicy = Pick<
  typeof policies.$inferSelect,
  'id' | 'name' | 'effect' | 'isActive' | 'review' | 'budget'
> & {
  /** Whether it is for all agents, actions and resources, without conditions. */
  isUnrestricted: boolean;
  /** When it was last changed, in milliseconds; 0 if it never was. */
  changedAt: number;
};

/** The agents and policies of an account. */
export interface AccountConfiguration {
  agents: RegisteredAgent[];
  policies: CurrentPolicy[];
}

/**
 * Reads the agents of a report's account, and those of its policies that were created before the
 * report was requested. Deleted ones are missing. Both lists are oldest first.
 */
export async function readConfiguration(
  reader: Reader,
  file: FileRow,
): Promise<AccountConfiguration> {
  const [agentRows, policyRows] = await reader.load([
    reader
      .select({
        number: agents.number,
        id: agents.id,
        name: agents.name,
        isActive: agents.isActive,
        createdAt: agents.createdAt,
        owner: agents.owner,
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
    agents: (await withKeysAtCoverageEnd(reader, file, agentRows)).toSorted(byId),
    policies: policyRows.toSorted(byId).map((policy) => ({
      id: policy.id,
      name: policy.name,
      effect: policy.effect,
      isActive: policy.isActive && (policy.expiresAt ?? Infinity) > file.createdAt,
      review: policy.review,
      budget: policy.budget,
      changedAt: policy.updatedAt > policy.createdAt ? policy.updatedAt : 0,
      isUnrestricted: isUnrestricted(policy),
    })),
  };
}

function isUnrestricted(policy: typeof policies.$inferSelect): boolean {
  return (
    policy.agentIds === null &&
    Object.keys(policy.conditions).length === 0 &&
    policy.actions.some((pattern) => ANY_ACTION.test(pattern)) &&
    policy.resources.some((pattern) => ANY_RESOURCE.test(pattern))
  );
}

/** A member as it is now. */
export type CurrentMember = Pick<typeof members.$inferSelect, 'id' | 'name' | 'role'>;

/**
 * Reads some members of an account, also removed ones. Members that were erased after their removal
 * are missing.
 */
export async function readMembers(
  reader: Reader,
  account: number,
  ids: string[],
): Promise<CurrentMember[]> {
  const wanted = ids.flatMap((id) => parseId('member', id) ?? []).map((id) => toHex(idBytes(id)));
  const [rows] = await reader.load([
    reader
      .select({ id: members.id, name: members.name, role: members.role })
      .from(sql`json_each(${JSON.stringify(wanted)}) as wanted`)
      .crossJoin(members)
      .where(and(eq(members.account, account), eq(members.id, sql`unhex(wanted.value)`))),
  ]);
  return rows;
}

/**
 * Replaces the creation times of keys that were made since {@link coverageEnd} by those of the keys
 * that were current then. The database may have deleted these keys; the account activity has the
 * times of the rotations.
 */
async function withKeysAtCoverageEnd(reader: Reader, file: FileRow, rows: RegisteredAgent[]) {
  const until = coverageEnd(file);
  const isLater = ({ keyCreatedAt }: RegisteredAgent) =>
    keyCreatedAt !== null && keyCreatedAt >= until;
  const ids = rows.filter(isLater).map(({ id }) => id);
  if (ids.length === 0) return rows;
  const isRotation = and(
    eq(activity.action, 'agent.key_rotated'),
    isBetween(file, file.keptFrom, until),
  );
  const [rotations] = await reader.load([
    reader
      .select({
        agent: sql<string>`wanted.value as agent`,
        // Without the index, SQLite would search all records of the account for each agent.
        at: sql<number | null>`(
          select max(${activity.createdAt}) from ${activity} indexed by activity_by_target
          where ${activity.target} = wanted.value and ${isRotation}
        ) as at`,
      })
      .from(sql`json_each(${JSON.stringify(ids)}) as wanted`),
  ]);
  const rotatedAt = new Map(rotations.map(({ agent, at }) => [agent, at]));
  return rows.map((row) => {
    if (!isLater(row)) return row;
    // Rotations before `keptFrom` are no longer in the activity.
    return {
      ...row,
      keyCreatedAt: rotatedAt.get(row.id) ?? Math.max(row.createdAt, file.keptFrom),
    };
  });
}

/**
 * Matches the patterns that apply to every action (`*`, `*.*`) and to every resource (`*`, `*:*`).
 */
const ANY_ACTION = /^\*+(\.\*+)?$/;
const ANY_RESOURCE = /^\*+(:\*+)?$/;

const CONFIGURATION_ACTIONS = ACTIVITY_ACTIONS.filter(
  (action) =>
    action !== 'agent.key_rotated' && !/^(export|report|session|permission)\./.test(action),
);

/**
 * Counts the account's activity records by action for the part of the period that a report covers,
 * and reads the newest key rotations and configuration changes.
 */
export async function readActivity(
  reader: Reader,
  file: FileRow,
): Promise<ReportContent['activity']> {
  const isCovered = isBetween(
    file,
    Math.max(reportRequest(file).from, file.keptFrom),
    coverageEnd(file),
  );
  const newest = (action: ActivityAction) =>
    reader
      .select()
      .from(activity)
      .where(and(isCovered, eq(activity.action, action)))
      .orderBy(desc(activity.id))
      .limit(MAX_LISTED_ACTIVITY);
  const [counts, rotations, ...others] = await reader.load([
    reader
      .select({ action: activity.action, records: sql<number>`count(*)` })
      .from(activity)
      .where(isCovered)
      .groupBy(activity.action)
      .orderBy(activity.action),
    newest('agent.key_rotated'),
    ...CONFIGURATION_ACTIONS.map(newest),
  ]);
  const changes = others.flat().toSorted((a, b) => byId(b, a));
  return {
    by_action: Object.fromEntries(counts.map(({ action, records }) => [action, records])),
    key_rotations: rotations.map(presentRecord),
    configuration_changes: changes.slice(0, MAX_LISTED_ACTIVITY).map(presentRecord),
  };
}

function presentRecord({
  id,
  createdAt,
  action,
  actor,
  target,
  changes,
}: typeof activity.$inferSelect) {
  return { id, at: formatTime(createdAt), action, actor, target, changes };
}

/** The condition on the account's activity records that were made between two times. */
function isBetween({ account }: FileRow, from: number, to: number) {
  return and(
    eq(activity.account, account),
    gte(activity.id, smallestIdAt('act', from)),
    lt(activity.id, smallestIdAt('act', to)),
  );
}

import { and, eq, gte, isNull, lt, lte, sql } from 'drizzle-orm';
import { aliased } from '../../db/columns';
import type { Reader } from '../../db/database';
import { activity, agentKeys, agents, policies } from '../../db/schema';
import type { FileRow } from '../../files/file-records';
import { type Id, smallestIdAt } from '../../lib/typeid';
import { endOf } from './order';

/** An agent as it is registered now. */
export interface RegisteredAgent {
  number: number;
  id: Id<'agent'>;
  name: string;
  isActive: boolean;
  createdAt: number;
  /** When the key was made, at the earliest, that was the current one at the end of the period. */
  keyCreatedAt: number | null;
}

/** A policy as it stands now. */
export interface StandingPolicy {
  id: Id<'policy'>;
  name: string;
  effect: 'approve' | 'deny';
  isActive: boolean;
  /** Whether it applies to every request of every agent. */
  isBoundless: boolean;
  /** When it was changed last; before everything where it never was. */
  changedAt: number;
}

export interface Configuration {
  agents: RegisteredAgent[];
  policies: StandingPolicy[];
}

/** Reads an account's agents, and the policies that it had when a report was asked for, in the order of their making. */
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
    agents: (await turnBackKeys(reader, file, agentRows)).toSorted(byId),
    policies: policyRows.toSorted(byId).map(({ id, name, effect, isActive, ...rules }) => ({
      ...{ id, name, effect, isActive },
      changedAt: rules.updatedAt > rules.createdAt ? rules.updatedAt : 0,
      isBoundless:
        rules.agentIds === null &&
        Object.keys(rules.conditions).length === 0 &&
        rules.actions.some((pattern) => ANY_ACTION.test(pattern)) &&
        rules.resources.some((pattern) => ANY_RESOURCE.test(pattern)),
    })),
  };
}

/**
 * Agents with the keys that they had at the end of the period: one that was replaced since then was there, however old,
 * and is gone by now. The account activity tells when it was made.
 */
async function turnBackKeys(reader: Reader, file: FileRow, rows: RegisteredAgent[]): Promise<RegisteredAgent[]> {
  const until = endOf(file);
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
  const rotated = new Map<string, number>(rotations.map(({ target, at }) => [target, at]));
  const madeAt = new Map(
    replaced.map(({ id, createdAt }) => {
      // A rotation that the activity keeps no more was before what it keeps.
      return [id, rotated.get(id) ?? Math.max(createdAt, file.keptFrom)];
    }),
  );
  return rows.map((row) => ({ ...row, keyCreatedAt: madeAt.get(row.id) ?? row.keyCreatedAt }));
}

/** Patterns that every action matches, which has a dot, and every resource, which has a colon. */
const ANY_ACTION = /^\*+(\.\*+)?$/;
const ANY_RESOURCE = /^\*+(:\*+)?$/;

function byId(a: { id: string }, b: { id: string }): number {
  return a.id < b.id ? -1 : 1;
}

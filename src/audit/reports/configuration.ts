import { and, eq, isNull, lte } from 'drizzle-orm';
import { named } from '../../db/columns';
import type { Reader } from '../../db/database';
import { agentKeys, agents, policies } from '../../db/schema';
import type { FileRow } from '../../ledger/file-ledger';
import type { Id } from '../../lib/typeid';

/** An agent as it is registered now. */
export interface RegisteredAgent {
  number: number;
  id: Id<'agent'>;
  name: string;
  isActive: boolean;
  createdAt: number;
  /** When its current key was made. */
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
        keyCreatedAt: named(agentKeys.createdAt, 'key_created_at'),
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
    agents: agentRows.toSorted(byId),
    policies: policyRows.toSorted(byId).map(({ id, name, effect, isActive, ...rules }) => ({
      ...{ id, name, effect, isActive },
      isBoundless:
        rules.agentIds === null &&
        Object.keys(rules.conditions).length === 0 &&
        rules.actions.some((pattern) => ANY_ACTION.test(pattern)) &&
        rules.resources.some((pattern) => ANY_RESOURCE.test(pattern)),
    })),
  };
}

/** Patterns that every action matches, which has a dot, and every resource, which has a colon. */
const ANY_ACTION = /^\*+(\.\*+)?$/;
const ANY_RESOURCE = /^\*+(:\*+)?$/;

function byId(a: { id: string }, b: { id: string }): number {
  return a.id < b.id ? -1 : 1;
}

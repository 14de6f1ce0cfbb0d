import { eq, sql } from 'drizzle-orm';
import { agents, auditEntries } from '../db/schema';
import type { UserContext } from '../http/context';
import type { Id } from '../lib/typeid';
import { isAgentOfEntry, logStart, oldestKept } from './entry';
import { selectPositions } from './select-positions';

/** An entry by its id and its place in the log. */
export interface Neighbour {
  id: Id<'audit'>;
  sequence: number;
}

export interface Neighbours {
  previous: Neighbour | null;
  next: Neighbour | null;
}

/**
 * How many entries of agents that were just deleted are passed over. They are shown no more, and
 * are erased soon.
 */
const MAX_PASSED = 100;

/**
 * Returns the entries directly before and after a place in the account's log; null where the log
 * has none to show.
 */
export async function getNeighbours(
  { reader, principal: { account }, runtime }: UserContext,
  { sequence }: { sequence: number },
): Promise<Neighbours> {
  const from = oldestKept(account, runtime.now());
  const start = logStart(account);
  const select = (bound: { after: number } | { before: number }, order: 'asc' | 'desc') =>
    reader
      .select({ id: auditEntries.id, pos: auditEntries.pos })
      .from(sql`(${selectPositions(account, { from, ...bound }, order, MAX_PASSED)}) as page`)
      .crossJoin(auditEntries)
      .innerJoin(agents, isAgentOfEntry)
      .where(eq(auditEntries.pos, sql`page.pos`));
  const [before, after] = await reader.load([
    select({ before: start + sequence }, 'desc'),
    select({ after: start + sequence }, 'asc'),
  ]);
  const present = (row?: { id: Id<'audit'>; pos: number }) =>
    row && { id: row.id, sequence: row.pos - start };
  return {
    previous: present(before.toSorted((a, b) => b.pos - a.pos)[0]) ?? null,
    next: present(after.toSorted((a, b) => a.pos - b.pos)[0]) ?? null,
  };
}

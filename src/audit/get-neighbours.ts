import { eq, sql } from 'drizzle-orm';
import { agents, auditEntries } from '../db/schema';
import type { UserContext } from '../http/context';
import { entryId } from '../ledger/entry-id';
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
      .select({
        pos: auditEntries.pos,
        createdAt: auditEntries.createdAt,
        random: auditEntries.random,
      })
      .from(sql`(${selectPositions(account, { from, ...bound }, order, MAX_PASSED)}) as page`)
      .crossJoin(auditEntries)
      .innerJoin(agents, isAgentOfEntry)
      .where(eq(auditEntries.pos, sql`page.pos`));
  const [before, after] = await reader.load([
    select({ before: sequence }, 'desc'),
    select({ after: sequence }, 'asc'),
  ]);
  const present = (row?: (typeof before)[number]) => {
    if (!row) return null;
    const sequence = row.pos - start;
    return { id: entryId({ ...row, sequence }), sequence };
  };
  return {
    previous: present(before.toSorted((a, b) => b.pos - a.pos)[0]),
    next: present(after.toSorted((a, b) => a.pos - b.pos)[0]),
  };
}

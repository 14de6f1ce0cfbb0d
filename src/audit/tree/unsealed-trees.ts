import { and, asc, type Column, eq, getTableColumns, inArray, type SQL, sql } from 'drizzle-orm';
import { numberList } from '../../db/columns';
import type { Reader } from '../../db/database';
import { accounts, agents, auditEntries, erasures, trees } from '../../db/schema';
import { LOG_SPAN_SQL } from '../../ledger/append';
import { formatId, type Id } from '../../lib/typeid';
import { lastPosition } from '../../outbox/feed';
import { entryColumns, isAgentOfEntry } from '../entry';

/** Maximum trees that are read at a time, entries of all of them together, and entries of one. */
export const TREE_LIMIT = 64;
const ENTRY_LIMIT = 16_384;
const TREE_ENTRY_LIMIT = 2_048;

/**
 * A tree's row, the sequence of its log's newest entry (`end`), the sequence up to which its
 * unsealed entries were read (`reach`), and these entries by position, together with those of all
 * trees that were read at the same time.
 */
export type UnsealedTree = Awaited<ReturnType<typeof findUnsealedTrees>>[number];

/**
 * Reads the matching trees that have been due the longest, and for each an equal share of unsealed
 * entries at most.
 */
export async function findUnsealedTrees(reader: Reader, which: SQL | undefined) {
  // Both queries have to select the same trees: an entry that is not found counts as removed from
  // the log.
  const isChosen = inArray(
    trees.account,
    reader
      .select({ account: trees.account })
      .from(trees)
      .innerJoin(accounts, eq(accounts.number, trees.account))
      .where(which)
      .orderBy(asc(trees.dueAt), asc(trees.account))
      .limit(TREE_LIMIT),
  );
  const chosen = reader
    .select({
      account: trees.account,
      size: trees.size,
      count: sql<number>`count(*) over ()`.as('count'),
    })
    .from(trees)
    .where(isChosen)
    .as('chosen');
  const start = sql`${chosen.account} * ${LOG_SPAN_SQL} + ${chosen.size}`;
  const share = sql`min(${TREE_ENTRY_LIMIT}, ${ENTRY_LIMIT} / ${chosen.count})`;
  const [rows, entries] = await reader.load([
    reader
      .select({
        ...getTableColumns(trees),
        accountId: accounts.id,
        end: lastSequence(trees.account),
      })
      .from(trees)
      .innerJoin(accounts, eq(accounts.number, trees.account))
      .where(isChosen),
    reader
      .select({ ...entryColumns, agent: auditEntries.agent })
      .from(chosen)
      .crossJoin(auditEntries)
      .leftJoin(agents, isAgentOfEntry)
      .where(sql`${auditEntries.pos} > ${start} and ${auditEntries.pos} <= ${start} + ${share}`),
  ]);
  const orphans = entries.filter((row) => row.agentId === null).map(({ agent }) => agent);
  const deleted = await findDeletedAgents(reader, new Set(orphans));
  const byPosition = new Map(
    entries.map((row) => [row.pos, { ...row, agentId: row.agentId ?? deleted.get(row.agent) }]),
  );
  const limit = Math.min(TREE_ENTRY_LIMIT, Math.floor(ENTRY_LIMIT / rows.length));
  return rows.map((row) => ({
    ...row,
    reach: Math.min(row.end, row.size + limit),
    entries: byPosition,
  }));
}

/**
 * The sequence of the last entry of an account's log, even if it is erased, as SQL; 0 for an empty
 * log.
 */
export function lastSequence(account: Column): SQL<number> {
  return sql<number>`${lastPosition(account)} - ${account} * ${LOG_SPAN_SQL}`;
}

/** The identifiers of deleted agents whose entries are not erased yet. */
async function findDeletedAgents(
  reader: Reader,
  numbers: Set<number>,
): Promise<Map<number, Id<'agent'>>> {
  if (numbers.size === 0) return new Map();
  const [found] = await reader.load([
    reader
      .select({ number: erasures.number, subject: erasures.subject })
      .from(erasures)
      .where(and(eq(erasures.kind, 'agent'), inArray(erasures.number, numberList(numbers)))),
  ]);
  return new Map(found.map(({ number, subject }) => [number, formatId('agent', subject)]));
}

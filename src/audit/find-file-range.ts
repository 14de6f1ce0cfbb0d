import { eq, sql } from 'drizzle-orm';
import type { Reader } from '../db/database';
import { accounts } from '../db/schema';
import type { FileRow } from '../files/file-records';
import type { Plan } from '../lib/plans';
import type { Id } from '../lib/typeid';
import { logStart } from './entry';
import { selectPositionRange } from './select-positions';

/** A range of positions in the log of an account: `low` inclusive, `high` exclusive. */
export interface PositionRange {
  low: number;
  high: number;
}

/** The account whose log a file contains. */
export interface FileAccount {
  id: Id<'user'>;
  name: string | null;
  plan: Plan;
}

/**
 * Finds the positions of the entries that a file may contain, and the account that owns them: entries between the two
 * times, without those written after the file was requested, and without those past the retention at that time.
 */
export async function findFileRange(
  reader: Reader,
  file: FileRow,
  { from, to }: { from: number; to: number },
): Promise<{ span: PositionRange; owner: FileAccount }> {
  const account = { number: file.account };
  const filter = { from: Math.max(from, file.keptFrom), to, before: logStart(account) + file.snapshot + 1 };
  const [bounds, [owner]] = await reader.load([
    reader
      .select({ low: sql<number>`low`, high: sql<number>`high` })
      .from(sql`(${selectPositionRange(account, filter)})`),
    reader
      .select({ id: accounts.id, name: accounts.name, plan: accounts.plan })
      .from(accounts)
      .where(eq(accounts.number, file.account)),
  ]);
  if (!owner) throw new Error('the account of the file is gone');
  return { span: bounds[0] ?? { low: 0, high: 0 }, owner };
}

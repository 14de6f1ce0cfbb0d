import { eq, sql } from 'drizzle-orm';
import type { Reader } from '../db/database';
import { accounts } from '../db/schema';
import type { FileRow } from '../files/file-records';
import { selectPositionRange } from './log-range';

/**
 * A range of positions (account number × 2³² + sequence) in an account's log: `low` inclusive,
 * `high` exclusive.
 */
export interface PositionRange {
  low: number;
  high: number;
}

/** The account that requested a file. */
export type FileAccount = Pick<typeof accounts.$inferSelect, 'id' | 'name' | 'plan'>;

/**
 * Finds the positions of the entries that an export or report may contain, and their account. The
 * entries are those from one time until before the other, except those that were written after the
 * file was requested and those that were past the retention period by then. The range is empty if
 * the log is.
 * @throws Error if the account is deleted
 */
export async function findFileRange(
  reader: Reader,
  file: FileRow,
  { from, to }: { from: number; to: number },
): Promise<{ span: PositionRange; account: FileAccount }> {
  const log = { number: file.account };
  const filter = {
    from: Math.max(from, file.keptFrom),
    to,
    before: file.snapshot + 1,
  };
  const [bounds, [account]] = await reader.load([
    reader
      .select({ low: sql<number>`low`, high: sql<number>`high` })
      .from(sql`(${selectPositionRange(log, filter)})`),
    reader
      .select({ id: accounts.id, name: accounts.name, plan: accounts.plan })
      .from(accounts)
      .where(eq(accounts.number, file.account)),
  ]);
  if (!account) throw new Error('the account of the file is gone');
  return { span: bounds[0] ?? { low: 0, high: 0 }, account };
}

import type { SQL } from 'drizzle-orm';
import type { Database } from '../db/database';
import { activity } from '../db/schema';
import type { Statement } from '../db/statements';

/** A record of what a user or the operator changed in an account, or of a download. */
export type ActivityRecord = Omit<typeof activity.$inferSelect, 'account'> & {
  /** The account's number; SQL for an account that the same change creates. */
  account: number | SQL<number>;
};

/**
 * Maximum number of records that one statement inserts: D1 binds at most 100 parameters, and each
 * record has one for each of nine columns.
 */
const RECORDS_PER_STATEMENT = 10;

/** Builds the statements that insert any number of activity records. */
export function insertRecords(
  build: Database['build'],
  records: readonly ActivityRecord[],
): Statement[] {
  const statements: Statement[] = [];
  for (let start = 0; start < records.length; start += RECORDS_PER_STATEMENT) {
    const slice = records.slice(start, start + RECORDS_PER_STATEMENT);
    statements.push(build.insert(activity).values(slice));
  }
  return statements;
}

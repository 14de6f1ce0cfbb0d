import { sql } from 'drizzle-orm';
import { codeOf } from '../db/columns';
import { ConstraintError } from '../db/database';
import { accounts, auditEntries, FILE_STATUSES, files } from '../db/schema';
import { Problem } from '../errors';
import { userActivity } from '../http/activity';
import type { UserContext } from '../http/context';
import { LOG_SPAN } from '../ledger/append';
import { logFailure } from '../lib/log';
import { fileId, MAX_PROCESSING } from './file';
import type { FileRow } from './file-records';

const RETRY_AFTER = 30;

/** What a file is to hold. */
export type FileOrder = Pick<FileRow, 'kind' | 'id' | 'format' | 'request' | 'keptFrom' | 'createdAt'> & {
  agent: (typeof files.$inferInsert)['agent'] | ReturnType<typeof sql<number>>;
};

/**
 * Has a file made in the background, of the entries that the log holds at this moment.
 * @param answer what the client is told
 * @throws Problem `too_many_exports` when the account has as many in the making as it can
 */
export async function requestFile(context: UserContext, order: FileOrder, answer: object): Promise<void> {
  const { principal, ledger, config } = context;
  const { account, shard } = principal;
  const start = account.number * LOG_SPAN;
  // NOT NULL: finds no account when it is gone or has its fill in the making, and nothing is written.
  const owner = sql<number>`(
    select number from ${accounts} where number = ${account.number} and (
      select count(*) from ${files}
      where account = ${account.number} and status = ${codeOf(FILE_STATUSES, 'processing')}
    ) < ${MAX_PROCESSING}
  )`;
  const snapshot = sql<number>`coalesce((
    select pos from ${auditEntries} where pos > ${start} and pos < ${start + LOG_SPAN} order by pos desc limit 1
  ), ${start}) - ${start}`;
  const row = { ...order, account: owner, snapshot, status: 'processing' as const, dueAt: order.createdAt };
  try {
    await ledger.change({
      record: userActivity(context, `${order.kind}.requested`, fileId(order)),
      changes: (write) => [write.insert(files).values(row)],
      answer: { value: answer, subject: account.id },
    });
  } catch (error) {
    if (!(error instanceof ConstraintError)) throw error;
    throw new Problem(
      'too_many_exports',
      `${MAX_PROCESSING} exports and reports are in the making, the most that an account can have. Wait for one to end.`,
      { headers: { 'Retry-After': `${RETRY_AFTER}` } },
    );
  }
  // What is lost here is found by the sweep.
  await config.jobs.send({ shard, account: account.number, id: fileId(order) }).catch((error: unknown) => {
    logFailure('job_not_sent', error);
  });
}

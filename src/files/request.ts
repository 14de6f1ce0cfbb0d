import { sql } from 'drizzle-orm';
import { codeOf } from '../db/columns';
import { ConstraintError } from '../db/database';
import { accounts, auditEntries, FILE_STATUSES, files } from '../db/schema';
import { Problem } from '../errors';
import { userActivity } from '../http/activity';
import type { UserContext } from '../http/context';
import { LOG_SPAN } from '../ledger/append';
import { logFailure } from '../lib/log';
import { MAX_PROCESSING, publicFileId } from './file';
import type { FileRow } from './file-records';

const RETRY_AFTER_SECONDS = 30;

/** The columns of a file that its request decides. */
export type NewFile = Pick<
  FileRow,
  'kind' | 'id' | 'format' | 'request' | 'keptFrom' | 'createdAt'
> & {
  agent: (typeof files.$inferInsert)['agent'] | ReturnType<typeof sql<number>>;
};

/**
 * Inserts a file and enqueues a job that makes it in the background. `files/job.ts` describes the
 * steps from here to the finished file. The file covers no entries that are appended later.
 * @param answer the response body, which is stored for a retry with the same idempotency key
 * @throws Problem `too_many_exports` if the account has {@link MAX_PROCESSING} processing files
 */
export async function requestFile(
  context: UserContext,
  file: NewFile,
  answer: object,
): Promise<void> {
  const { principal, ledger, config } = context;
  const { account, shard } = principal;
  const start = account.number * LOG_SPAN;
  // NULL if the account is gone or has the maximum number of processing files: the NOT NULL column
  // aborts the transaction.
  const accountIfRoom = sql<number>`(
    select number from ${accounts} where number = ${account.number} and (
      select count(*) from ${files}
      where account = ${account.number} and status = ${codeOf(FILE_STATUSES, 'processing')}
    ) < ${MAX_PROCESSING}
  )`;
  const snapshot = sql<number>`coalesce((
    select ${auditEntries.pos} from ${auditEntries}
    where ${auditEntries.pos} > ${start} and ${auditEntries.pos} < ${start + LOG_SPAN}
    order by ${auditEntries.pos} desc limit 1
  ), ${start}) - ${start}`;
  const row = {
    ...file,
    account: accountIfRoom,
    snapshot,
    status: 'processing' as const,
    dueAt: file.createdAt,
  };
  try {
    await ledger.change({
      record: userActivity(context, `${file.kind}.requested`, publicFileId(file)),
      changes: (write) => [write.insert(files).values(row)],
      answer: { value: answer, subject: account.id },
    });
  } catch (error) {
    if (!(error instanceof ConstraintError)) throw error;
    throw new Problem(
      'too_many_exports',
      `The account has ${MAX_PROCESSING} processing exports and reports, which is the maximum. Wait until one is finished.`,
      { headers: { 'Retry-After': `${RETRY_AFTER_SECONDS}` } },
    );
  }
  // If this fails or the message is lost, a cron task sends another.
  await config.jobs
    .send({ shard, account: account.number, id: publicFileId(file) })
    .catch((error: unknown) => {
      logFailure('job_not_sent', error);
    });
}

import { type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../db/columns';
import { auditEntries, FILE_STATUSES, files } from '../db/schema';
import { Problem } from '../errors';
import { userActivity } from '../http/activity';
import type { UserContext } from '../http/context';
import { LOG_SPAN } from '../ledger/append';
import type { Guard } from '../ledger/guard';
import { logFailure } from '../lib/log';
import { MAX_PROCESSING, publicFileId } from './file';
import type { FileRow } from './file-records';

const RETRY_AFTER_SECONDS = 30;

/** The columns of a file that its request decides. */
export type NewFile = Pick<
  FileRow,
  'kind' | 'id' | 'format' | 'request' | 'keptFrom' | 'createdAt'
> & {
  agent: (typeof files.$inferInsert)['agent'] | SQL<number>;
};

/**
 * Inserts a file and enqueues a message: a job makes the file in the background. `files/job.ts`
 * describes the steps from here to the finished file. The file covers no entries that are appended
 * later.
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
  const snapshot = sql<number>`coalesce((
    select ${auditEntries.pos} from ${auditEntries}
    where ${auditEntries.pos} > ${start} and ${auditEntries.pos} < ${start + LOG_SPAN}
    order by ${auditEntries.pos} desc limit 1
  ), ${start}) - ${start}`;
  const row = {
    ...file,
    account: account.number,
    snapshot,
    status: 'processing' as const,
    dueAt: file.createdAt,
  };
  await ledger.change({
    record: userActivity(context, `${file.kind}.requested`, publicFileId(file)),
    guards: [processingLimitGuard(account.number)],
    changes: (write) => [write.insert(files).values(row)],
    answer: { value: answer, subject: account.id },
  });
  // If this fails or the message is lost, a cron task sends another.
  await config.fileQueue
    .send({ shard, account: account.number, id: publicFileId(file) })
    .catch((error: unknown) => {
      logFailure('file_message_not_sent', error);
    });
}

function processingLimitGuard(account: number): Guard {
  return {
    name: 'processing_files_below_limit',
    holds: sql`(
      select count(*) from ${files}
      where ${files.account} = ${account} and ${files.status} = ${codeOf(FILE_STATUSES, 'processing')}
    ) < ${MAX_PROCESSING}`,
    otherwise: () =>
      new Problem(
        'too_many_exports',
        `The account has ${MAX_PROCESSING} processing exports and reports, which is the maximum. Wait until one is finished.`,
        { headers: { 'Retry-After': `${RETRY_AFTER_SECONDS}` } },
      ),
  };
}

import { and, eq, inArray, isNull, or, type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../db/columns';
import { FILE_STATUSES, files } from '../db/schema';
import { tellOutcomes } from '../ledger/feed';
import type { RecordWriter } from '../ledger/ledger';

const isProcessing = sql`${files.status} = ${codeOf(FILE_STATUSES, 'processing')}`;

/** The files of an account that may hold entries of an agent. */
function mayHold(account: number, agent: SQL<number>) {
  return and(eq(files.account, account), or(isNull(files.agent), eq(files.agent, agent)));
}

/**
 * Takes back the files that may hold entries of an agent: those in the making fail, which webhooks are told; finished
 * ones expire. The sweep removes what there is of them, of those in the making once nobody can still be writing.
 * @param agent the agent's number
 */
export function revokeFilesOfAgent(write: RecordWriter, account: number, agent: SQL<number>, now: number) {
  return [
    ...tellOutcomes(write, account, and(isProcessing, mayHold(account, agent)), true, now),
    write
      .update(files)
      .set({
        status: sql`iif(${isProcessing}, ${codeOf(FILE_STATUSES, 'failed')}, ${codeOf(FILE_STATUSES, 'expired')})`,
        error: sql`iif(${isProcessing}, 'agent_deleted', null)`,
        dueAt: sql`iif(${isProcessing}, ${files.dueAt}, ${now})`,
      })
      .where(and(inArray(files.status, ['processing', 'completed']), mayHold(account, agent))),
  ] as const;
}

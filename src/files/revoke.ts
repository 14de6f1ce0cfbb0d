import { and, eq, isNull, or, type SQL } from 'drizzle-orm';
import { files } from '../db/schema';
import type { InternalWriter } from '../ledger/ledger';
import { finishFiles } from './file-records';

/**
 * Takes back the files that may hold entries of an agent: those in the making fail, which webhooks are told; finished
 * ones expire. The sweep removes what there is of them, of those in the making once nobody can still be writing.
 * @param agent the agent's number
 */
export function revokeAgentFiles(write: InternalWriter, account: number, agent: SQL<number>, now: number) {
  const mayHoldIt = and(eq(files.account, account), or(isNull(files.agent), eq(files.agent, agent)));
  return [
    ...finishFiles(write, account, mayHoldIt, { status: 'failed', error: 'agent_deleted' }, now),
    write
      .update(files)
      .set({ status: 'expired', dueAt: now })
      .where(and(mayHoldIt, eq(files.status, 'completed'))),
  ] as const;
}

import { and, eq, isNull, or, type SQL } from 'drizzle-orm';
import { files } from '../db/schema';
import type { InternalWriter } from '../ledger/ledger';
import { finishFiles } from './file-records';

/**
 * Builds the statements that revoke every file that may contain entries of an agent. Processing
 * files fail, which webhooks report; completed files expire. A cron task deletes the objects of
 * completed files within a minute or so, and those of processing ones once no job can write them
 * any more.
 * @param agent the agent's number
 */
export function revokeAgentFiles(
  write: InternalWriter,
  account: number,
  agent: SQL<number>,
  now: number,
) {
  const mayHoldAgent = and(
    eq(files.account, account),
    or(isNull(files.agent), eq(files.agent, agent)),
  );
  return [
    ...finishFiles(write, account, mayHoldAgent, { status: 'failed', error: 'agent_deleted' }, now),
    write
      .update(files)
      .set({ status: 'expired', dueAt: now })
      .where(and(mayHoldAgent, eq(files.status, 'completed'))),
  ] as const;
}

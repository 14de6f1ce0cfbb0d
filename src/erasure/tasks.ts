import type { Database } from '../db/database';
import type { Env } from '../env';
import { everyHour, everyMinute, type Task, type TaskContext } from '../task';
import {
  deleteExpiredCredentials,
  deleteOldAnswers,
  deleteOldDeliveries,
  deleteOldSendCounts,
  deleteOldStatistics,
} from './delete-expired';
import { eraseAccounts } from './erase-accounts';
import { AgentErasure } from './erase-agents';
import { eraseConnectionReads } from './erase-connections';
import { eraseMembers } from './erase-members';
import { erasePermissions } from './erase-permissions';
import { eraseReceiverDeliveries } from './erase-receivers';
import { BACKLOG_AGE, RetentionErasure } from './erase-retention';
import type { SignErasure } from './erasure-record';

/**
 * Background work that erases deleted accounts, agents, receivers and connections, and everything
 * that is kept for a limited time.
 * @param createSigner makes the function that signs the records of erasures
 */
export function erasureTasks(createSigner: (env: Env) => SignErasure): readonly Task[] {
  const eraseAgents = (first: 'oldest' | 'newest') => {
    return ({ database, env, runtime }: TaskContext) => {
      const erasure = new AgentErasure(database, createSigner(env), runtime.now, first);
      return () => erasure.eraseSlice();
    };
  };
  const eraseRetention = (minOverdueMs: number) => {
    return ({ database, env, runtime }: TaskContext) => {
      const erasure = new RetentionErasure(database, createSigner(env), runtime.now, minOverdueMs);
      return () => erasure.eraseSlice();
    };
  };
  return [
    everyMinute('erase_accounts', sliceTask(eraseAccounts)),
    everyMinute('erase_webhooks', sliceTask(eraseReceiverDeliveries)),
    everyMinute('erase_connections', sliceTask(eraseConnectionReads)),
    // From both ends, so that an agent with a large history does not keep agents with small ones
    // waiting.
    { name: 'erase_oldest_agents', schedule: 'every_minute', start: eraseAgents('oldest') },
    { name: 'erase_newest_agents', schedule: 'every_minute', start: eraseAgents('newest') },
    {
      name: 'erase_retention_backlog',
      schedule: 'every_minute',
      start: eraseRetention(BACKLOG_AGE),
    },
    everyMinute('erase_permissions', sliceTask(erasePermissions)),
    everyMinute('delete_expired_credentials', sliceTask(deleteExpiredCredentials)),
    everyMinute('delete_old_answers', sliceTask(deleteOldAnswers)),
    { name: 'erase_retention', schedule: 'every_hour', start: eraseRetention(0) },
    everyHour('erase_members', ({ database, directory, runtime }) =>
      eraseMembers(database, directory, runtime.now()),
    ),
    everyHour('delete_old_statistics', sliceTask(deleteOldStatistics)),
    everyHour('delete_old_deliveries', sliceTask(deleteOldDeliveries)),
    everyHour('delete_old_send_counts', sliceTask(deleteOldSendCounts)),
  ];
}

/** Makes the slice of a task that deletes what is over by now. */
function sliceTask(deleteSlice: (database: Database, now: number) => Promise<boolean>) {
  return ({ database, runtime }: TaskContext) => deleteSlice(database, runtime.now());
}

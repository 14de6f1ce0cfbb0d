import type { Env } from '../env';
import type { Task, TaskContext } from '../task';
import {
  deleteExpiredCredentials,
  deleteOldAnswers,
  deleteOldDeliveries,
  deleteOldSendCounts,
  deleteOldStatistics,
} from './delete-expired';
import { eraseAccounts } from './erase-accounts';
import { AgentErasure } from './erase-agents';
import { eraseMembers } from './erase-members';
import { erasePermissions } from './erase-permissions';
import { BACKLOG_AGE, RetentionErasure } from './erase-retention';
import { eraseWebhookDeliveries } from './erase-webhooks';
import type { SignErasure } from './erasure-record';

/**
 * Background work that erases deleted accounts, agents and webhooks, and everything that is kept
 * for a limited time.
 * @param createSigner makes the function that signs the records of erasures
 */
export function erasureTasks(createSigner: (env: Env) => SignErasure): readonly Task[] {
  const eraseAgents = (first: 'oldest' | 'newest') => {
    return ({ database, env, runtime }: TaskContext) => {
      const erasure = new AgentErasure(database, createSigner(env), runtime.now, first);
      return () => erasure.eraseSlice();
    };
  };
  const eraseRetention = (overdue: number) => {
    return ({ database, env, runtime }: TaskContext) => {
      const erasure = new RetentionErasure(database, createSigner(env), runtime.now, overdue);
      return () => erasure.eraseSlice();
    };
  };
  const deleteOld = (deleteSlice: typeof deleteOldAnswers) => {
    return ({ database, runtime }: TaskContext) => {
      return () => deleteSlice(database, runtime.now());
    };
  };
  const eraseRemovedMembers = ({ database, directory, runtime }: TaskContext) => {
    return () => eraseMembers(database, directory, runtime.now());
  };
  return [
    { name: 'erase_accounts', schedule: 'every_minute', start: deleteOld(eraseAccounts) },
    { name: 'erase_webhooks', schedule: 'every_minute', start: deleteOld(eraseWebhookDeliveries) },
    // From both ends, so that an agent with a large history does not keep agents with small ones
    // waiting.
    { name: 'erase_oldest_agents', schedule: 'every_minute', start: eraseAgents('oldest') },
    { name: 'erase_newest_agents', schedule: 'every_minute', start: eraseAgents('newest') },
    {
      name: 'erase_retention_backlog',
      schedule: 'every_minute',
      start: eraseRetention(BACKLOG_AGE),
    },
    { name: 'erase_permissions', schedule: 'every_minute', start: deleteOld(erasePermissions) },
    {
      name: 'delete_expired_credentials',
      schedule: 'every_minute',
      start: deleteOld(deleteExpiredCredentials),
    },
    { name: 'delete_old_answers', schedule: 'every_minute', start: deleteOld(deleteOldAnswers) },
    { name: 'erase_retention', schedule: 'every_hour', start: eraseRetention(0) },
    { name: 'erase_members', schedule: 'every_hour', start: eraseRemovedMembers },
    {
      name: 'delete_old_statistics',
      schedule: 'every_hour',
      start: deleteOld(deleteOldStatistics),
    },
    {
      name: 'delete_old_deliveries',
      schedule: 'every_hour',
      start: deleteOld(deleteOldDeliveries),
    },
    {
      name: 'delete_old_send_counts',
      schedule: 'every_hour',
      start: deleteOld(deleteOldSendCounts),
    },
  ];
}

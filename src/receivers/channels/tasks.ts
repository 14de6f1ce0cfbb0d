import { requireBinding, type Task } from '../../task';
import { releaseHeld } from './release-held';
import { remindReviewers } from './remind';

/** Background work on channels. */
export const channelTasks: readonly Task[] = [
  {
    name: 'remind_reviewers',
    schedule: 'every_minute',
    start:
      ({ database, ledger, runtime }) =>
      () =>
        remindReviewers({ reader: database, ledger, runtime }),
  },
  {
    name: 'release_held_messages',
    schedule: 'every_minute',
    start:
      ({ shard, database, ledger, env, runtime }) =>
      () =>
        releaseHeld({
          ...{ shard, reader: database, ledger, runtime },
          queues: {
            queue: requireBinding(env, 'WEBHOOK_QUEUE'),
            slowQueue: requireBinding(env, 'SLOW_WEBHOOK_QUEUE'),
          },
        }),
  },
];

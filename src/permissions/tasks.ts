import type { Task } from '../task';
import { expireOverdue } from './expire';
import { escalateReviews } from './reviews/escalate';

/** Background work on permissions. */
export const permissionTasks: readonly Task[] = [
  {
    name: 'expire_permissions',
    schedule: 'every_minute',
    start:
      ({ database, ledger, runtime }) =>
      () =>
        expireOverdue({ reader: database, ledger, runtime }),
  },
  {
    name: 'escalate_reviews',
    schedule: 'every_minute',
    start:
      ({ database, ledger, runtime }) =>
      () =>
        escalateReviews({ reader: database, ledger, runtime }),
  },
];

import type { Task } from '../task';
import { expireOverdue } from './expire';

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
];

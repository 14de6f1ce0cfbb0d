import type { Task } from '../task';
import { expireSlice } from './expire';

/** Background work on permissions. */
export const permissionTasks: readonly Task[] = [
  {
    name: 'expire_permissions',
    schedule: 'every_minute',
    start:
      ({ database, ledger, runtime }) =>
      () =>
        expireSlice({ reader: database, ledger, runtime }),
  },
];

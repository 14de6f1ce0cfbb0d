import { requireBinding, type Task } from '../task';
import { cleanFiles, resumeFiles } from './sweep';

/** Background work on exports and reports. */
export const fileTasks: readonly Task[] = [
  {
    name: 'resume_files',
    schedule: 'every_minute',
    start:
      ({ shard, database, env, runtime }) =>
      () =>
        resumeFiles(database, requireBinding(env, 'JOB_QUEUE'), shard, runtime.now()),
  },
  {
    name: 'clean_files',
    schedule: 'every_minute',
    start:
      ({ database, ledger, env, runtime }) =>
      () =>
        cleanFiles(
          { reader: database, ledger, bucket: requireBinding(env, 'FILES') },
          runtime.now(),
        ),
  },
];

import { requireBinding, type Task } from '../task';
import { FileRecords } from './file-records';
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
      ({ database, env, runtime }) =>
      () => {
        const bucket = requireBinding(env, 'FILES');
        return cleanFiles({ reader: database, ledger: new FileRecords(database), bucket }, runtime.now());
      },
  },
];

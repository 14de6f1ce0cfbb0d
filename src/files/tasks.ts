import { everyMinute, requireBinding, type Task } from '../task';
import { cleanFiles, resumeFiles } from './sweep';

/** Background work on exports and reports. */
export const fileTasks: readonly Task[] = [
  everyMinute('resume_files', ({ shard, reader, env, runtime }) =>
    resumeFiles(reader, requireBinding(env, 'JOB_QUEUE'), shard, runtime.now()),
  ),
  everyMinute('clean_files', ({ reader, ledger, env, runtime }) =>
    cleanFiles({ reader, ledger, bucket: requireBinding(env, 'FILES') }, runtime.now()),
  ),
];

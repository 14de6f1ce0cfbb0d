import { everyHour, type Task } from '../../task';
import { countLogs } from './count';
import { foldHours } from './fold';

/** Background work on the statistics of agents. */
export const statisticsTasks: readonly Task[] = [
  {
    name: 'count_logs',
    schedule: 'every_minute',
    start: ({ database, runtime }) => {
      // What is written during the run is left to the next one, which counts it together.
      const due = runtime.now();
      return () => countLogs(database, due);
    },
  },
  everyHour('fold_statistics', ({ database, runtime }) => foldHours(database, runtime.now())),
];

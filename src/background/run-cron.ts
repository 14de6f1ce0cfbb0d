import { moveTasks } from '../accounts/move/tasks';
import { Cost } from '../db/database';
import { listShards, openShard } from '../db/shards';
import type { Env, Runtime } from '../env';
import { serviceAuthority } from '../ledger/authority';
import { Ledger } from '../ledger/ledger';
import { withLogFields } from '../lib/log';
import { SECOND } from '../lib/time';
import type { LaterWork, Task } from '../task';
import { TaskRun } from './task-run';
import { TASKS } from './tasks';

/** The cron expressions of the jobs, as in wrangler.toml. */
export const SCHEDULES = { every_minute: '* * * * *', every_hour: '17 * * * *' } as const;

/** Statements after which a run stops. D1 takes 1,000 an invocation, and a slice takes few. */
const MAX_STATEMENTS = 900;

/** Milliseconds after which a run stops, because the next run of the minute is about to begin. */
const MAX_TIME = 50 * SECOND;

/**
 * A slice is followed by a pause of this many times the time it took, but of MAX_PAUSE milliseconds
 * at most.
 */
const PAUSE_FACTOR = 3;
const MAX_PAUSE = 250;

/** How much of the work that tasks leave for later is done at the same time. */
const LATER_LANES = 2;

/**
 * Runs the tasks of a cron job on every shard, one slice (a limited part) of each in turn, so that
 * a task with much to do does not keep the others waiting. What fails or takes too long is left to
 * the next run.
 */
export async function runCron(cron: string, env: Env, runtime: Runtime): Promise<void> {
  const cost = new Cost();
  const start = runtime.now();
  const isOver = () => cost.statements > MAX_STATEMENTS || runtime.now() - start > MAX_TIME;
  const later: LaterWork[] = [];
  let runs = await startRuns(cron, env, runtime, cost, later);
  while (runs.length > 0 && !isOver()) {
    for (const run of runs) {
      if (isOver()) break;
      const begun = runtime.now();
      await run.runSlice(cost, runtime);
      const pause = Math.min(PAUSE_FACTOR * (runtime.now() - begun), MAX_PAUSE);
      // Lets requests that arrived during the slice reach the database.
      if (run.hasMore && pause > 0) await runtime.sleep(pause);
    }
    runs = runs.filter(({ hasMore }) => hasMore);
  }
  for (const run of runs) run.stop();
  await doWork(later);
}

/** Does work of any number, {@link LATER_LANES} at a time, in order. */
async function doWork(waiting: LaterWork[]): Promise<void> {
  const works = waiting.values();
  const doNext = async () => {
    for (const work of works) await work();
  };
  await Promise.all(Array.from({ length: LATER_LANES }, doNext));
}

/** Prepares the tasks of a cron job for each shard. */
async function startRuns(
  cron: string,
  env: Env,
  runtime: Runtime,
  cost: Cost,
  later: LaterWork[],
): Promise<TaskRun[]> {
  const shards = listShards(env).flatMap((name) => {
    const database = openShard(env, name, cost);
    return database ? [{ name, database }] : [];
  });
  const due = TASKS.filter(({ schedule }) => SCHEDULES[schedule] === cron);
  const { tasksOf, isBlocked } = await moveTasks(shards);
  const [first] = shards;
  if (!first) return [];
  return shards.flatMap(({ name, database }) => {
    const context = {
      shard: name,
      database,
      reader: database,
      directory: first.database,
      ledger: new Ledger(database, serviceAuthority('all')),
      env,
      runtime,
      later: (work: LaterWork) => later.push(() => withLogFields({ cron, shard: name }, work)),
    };
    // While an account is on hold at the end of its move, other tasks would find half of it.
    const tasks: Task[] = [...tasksOf(name), ...(isBlocked(name) ? [] : due)];
    return tasks.map(
      (task) => new TaskRun({ cron, shard: name, task: task.name }, task.start(context)),
    );
  });
}

import type { Database, Reader } from './db/database';
import type { Env, Runtime } from './env';
import type { Ledger } from './ledger/ledger';

/** A kind of background work. A cron job runs it on each shard (`background/run-cron.ts`). */
export interface Task {
  /** Its name in the logs: a verb and what it works on. */
  name: string;
  schedule: 'every_minute' | 'every_hour';
  /**
   * Prepares one run on one shard. The run calls the returned function, which may keep state
   * between the calls, until it returns false or time is up.
   */
  start: (context: TaskContext) => Slice;
}

/**
 * Does a limited part of a task, so that one task cannot keep the others or the shard's database
 * waiting.
 *
 * It may be cut off at any point and run concurrently with itself. What fails is left to the next
 * run.
 * @returns whether there may be more to do
 */
export type Slice = () => Promise<boolean>;

/** Work that is done after the tasks of a run. It never rejects. */
export type LaterWork = () => Promise<void>;

/** The database, bindings and clock that a task works with on one shard. */
export interface TaskContext {
  /** The name of the shard: two characters. */
  shard: string;
  database: Database;
  /** The same database, only to read. */
  reader: Reader;
  /** The database of the first shard, which has the directory of people: the table `identities`. */
  directory: Database;
  /** Writes to the shard with the service's own authority. */
  ledger: Ledger;
  env: Env;
  runtime: Runtime;
  /**
   * Takes work that waits for others on the internet. It begins after the tasks of the run, two at
   * a time, so that it neither delays them nor takes all six connections of the Worker.
   */
  later: (work: LaterWork) => void;
}

/** A task of every minute. Its slices keep no state between them. */
export function everyMinute(
  name: string,
  doSlice: (context: TaskContext) => Promise<boolean>,
): Task {
  return { name, schedule: 'every_minute', start: (context) => () => doSlice(context) };
}

/** A task of every hour. Its slices keep no state between them. */
export function everyHour(name: string, doSlice: (context: TaskContext) => Promise<boolean>): Task {
  return { name, schedule: 'every_hour', start: (context) => () => doSlice(context) };
}

/** Gives the two delivery queues. */
export function deliveryQueues({ env }: TaskContext) {
  return {
    queue: requireBinding(env, 'WEBHOOK_QUEUE'),
    slowQueue: requireBinding(env, 'SLOW_WEBHOOK_QUEUE'),
  };
}

/**
 * Gives a bucket or queue of the deployment.
 * @throws Error if it is not bound
 */
export function requireBinding<
  N extends 'FILES' | 'JOB_QUEUE' | 'WEBHOOK_QUEUE' | 'SLOW_WEBHOOK_QUEUE',
>(env: Env, name: N): NonNullable<Env[N]> {
  const binding = env[name];
  if (!binding) throw new Error(`${name} is not bound`);
  return binding as NonNullable<Env[N]>;
}

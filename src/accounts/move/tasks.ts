import { moves } from '../../db/schema';
import { logFailure } from '../../lib/log';
import type { Task } from '../../task';
import { heldShards, Mover, type MoverShard } from './mover';

interface MoveTasks {
  /** The tasks for accounts that move from or to a shard. */
  tasksOf(shard: string): readonly Task[];
  /** Whether an account is held on a shard, or the shard does not answer: nothing else may run there. */
  isHeld(shard: string): boolean;
}

/** Finds out which shards have accounts that move, and what is to be done there. A single shard is not asked. */
export async function moveTasks(shards: readonly MoverShard[]): Promise<MoveTasks> {
  const moving = new Set<string>();
  const held = new Set<string>();
  const look = async ({ name, database }: MoverShard) => {
    try {
      const [found] = await database.load([database.select().from(moves)]);
      if (found.length > 0) moving.add(name);
      for (const move of found) for (const shard of heldShards(name, move)) held.add(shard);
    } catch (error) {
      logFailure('moves_not_found', error);
      held.add(name);
    }
  };
  if (shards.length > 1) await Promise.all(shards.map(look));
  return {
    tasksOf: (shard) =>
      shards
        .filter(({ name }) => name === shard && moving.has(name))
        .flatMap((source) => [...movesFrom(source, shards)]),
    isHeld: (shard) => held.has(shard),
  };
}

function movesFrom(source: MoverShard, shards: readonly MoverShard[]): readonly Task[] {
  const mover = new Mover(source, shards);
  return [
    { name: 'erase_abandoned_copies', schedule: 'every_minute', start: () => () => mover.eraseAbandonedCopies() },
    {
      name: 'move_accounts',
      schedule: 'every_minute',
      start:
        ({ runtime }) =>
        () =>
          mover.moveSlice(runtime.now()),
    },
  ];
}

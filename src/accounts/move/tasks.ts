import { moves } from '../../db/schema';
import { logFailure } from '../../lib/log';
import { everyMinute, type Task } from '../../task';
import { Mover, shardsBlockedByMove } from './mover';
import type { MoverShard } from './shard';

/**
 * Reads from each shard, unless there is only one, which accounts move.
 * @returns `tasksOf`, the tasks for accounts that move from or to a shard, and `isBlocked`, whether
 *   no other task may run on a shard, because a move holds an account there or the shard does not
 *   answer
 */
export async function moveTasks(shards: readonly MoverShard[]) {
  const moving = new Set<string>();
  const blocked = new Set<string>();
  const look = async ({ name, database }: MoverShard) => {
    try {
      const [found] = await database.load([database.select().from(moves)]);
      if (found.length > 0) moving.add(name);
      for (const move of found)
        for (const shard of shardsBlockedByMove(name, move)) blocked.add(shard);
    } catch (error) {
      logFailure('moves_not_found', error);
      blocked.add(name);
    }
  };
  if (shards.length > 1) await Promise.all(shards.map(look));
  return {
    tasksOf: (shard: string) =>
      shards
        .filter(({ name }) => name === shard && moving.has(name))
        .flatMap((source) => movesFrom(source, shards)),
    isBlocked: (shard: string) => blocked.has(shard),
  };
}

function movesFrom(source: MoverShard, shards: readonly MoverShard[]): readonly Task[] {
  const mover = new Mover(source, shards);
  return [
    everyMinute('erase_abandoned_copies', () => mover.eraseAbandonedCopies()),
    everyMinute('move_accounts', ({ runtime }) => mover.moveSlice(runtime.now())),
  ];
}

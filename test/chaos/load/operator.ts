import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../bench/random.ts';
import type { Memory } from '../memory.ts';
import type { Actor } from './actor.ts';

/** How long the load on a guest account lasts, in milliseconds. */
const [SHORTEST_STAY, LONGEST_STAY] = [3_000, 30_000];

/** Deletes an account in 70 % of cases, whatever else happens in it. */
export async function deleteAccount({ memory, random, operator }: Actor): Promise<void> {
  if (random.chance(0.3)) return;
  memory.alive = 'maybe';
  const outcome = await operator.repeat('DELETE', `/v1/admin/users/${memory.id}`);
  // A 404 means that an earlier attempt with a lost answer deleted it.
  if (outcome && (outcome.status < 300 || outcome.status === 404)) memory.alive = 'no';
}

/** A random duration of the load on a guest account, in milliseconds. */
export function stay(random: Random): number {
  return SHORTEST_STAY + random.below(LONGEST_STAY - SHORTEST_STAY);
}

/**
 * Moves accounts between shards one after the other, as an operator does with
 * `npm run move-account`.
 * @returns how many moves were ordered
 */
export async function moveAccounts(
  project: string,
  memories: Memory[],
  random: Random,
  signal: AbortSignal,
): Promise<number> {
  for (let ordered = 0; ; ) {
    if (signal.aborted) return ordered;
    const { id } = random.pick(memories.filter(({ alive }) => alive === 'yes'));
    for (const shard of random.pick([
      ['00', '01'],
      ['01', '00'],
    ])) {
      const said = await moveAccount(project, id, shard, signal);
      // It prints something else if the account is already on that shard.
      if (!said.includes('next sweeps move')) continue;
      ordered += 1;
      break;
    }
    await sleep(1_000);
  }
}

/**
 * Runs the program until the move or the signal ends it, and returns its output; the sweep finishes
 * the move anyway.
 */
async function moveAccount(
  project: string,
  id: string,
  shard: string,
  signal: AbortSignal,
): Promise<string> {
  if (signal.aborted) return '';
  const child = spawn(process.execPath, ['src/tools/move-account.ts', id, shard], {
    cwd: project,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const stop = () => child.kill();
  signal.addEventListener('abort', stop, { once: true });
  const said = await text(child.stdout);
  signal.removeEventListener('abort', stop);
  return said;
}

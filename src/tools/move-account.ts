import { setTimeout as sleep } from 'node:timers/promises';
import { TypeID } from 'typeid-js';
import { queryDatabase } from './database.ts';
import { readPlace } from './local-shards.ts';
import { findShard, listShards, type Shard } from './project.ts';
import { runStoppable, UserError } from './user-error.ts';

const USAGE = 'Usage: npm run move-account -- <user id> <shard> [--remote]';

const CONTINUES = 'The service continues the move. Run this again to wait for its end.';

/** Pause between two checks of the progress, in milliseconds. */
const PAUSE = 10_000;

/**
 * Orders a move of an account to another shard, and waits for its end. The deployment's cron jobs
 * move the account, so this program may be stopped and run again. Ordering a move to the current
 * shard cancels a move that is not complete.
 */
async function moveAccount(words: string[], signal: AbortSignal): Promise<void> {
  const { place, rest, deployment } = readPlace(words);
  const [id = '', name, ...surplus] = rest;
  const shards = listShards(deployment);
  const bytes = parseUserId(id);
  if (!bytes || surplus.length > 0 || name === undefined) throw new UserError(USAGE);
  const target = findShard(shards, name, deployment);
  const ask = ({ binding }: Shard, sql: string) =>
    queryDatabase(deployment, binding, place, sql, signal);
  // A move has a row on both shards: with the direction 0 on the one that the account leaves, 1 on
  // the other.
  const findMove = async () => {
    for (const shard of shards) {
      const [move] = await ask(
        shard,
        `select shard from moves where id = ${bytes} and direction = 0`,
      );
      if (move) return { from: shard, to: String(move.shard) };
    }
    return null;
  };
  const findHome = async () => {
    for (const shard of shards) {
      const isHere = `id = ${bytes} and number not in (select account from moves where direction = 1)`;
      if ((await ask(shard, `select 1 from accounts where ${isHere}`)).length > 0) return shard;
    }
    throw new UserError(`There is no account ${id}.`);
  };

  const move = await findMove();
  if (move && move.from === target) {
    await ask(target, `delete from moves where id = ${bytes} and direction = 0 and not has_left`);
  } else if (move && move.to !== target.name) {
    const end = `npm run move-account -- ${id} ${move.from.name}`;
    throw new UserError(
      `${id} is being moved from shard ${move.from.name} to ${move.to}. To cancel the move: ${end}`,
    );
  } else if (!move) {
    const home = await findHome();
    if (home === target) return console.log(`${id} is on shard ${target.name}.`);
    await ask(
      home,
      `insert into moves (account, id, direction, shard, created_at)
       select number, id, 0, '${target.name}', ${Date.now()} from accounts where id = ${bytes} on conflict do nothing`,
    );
  }
  if (move?.from !== target) console.log(`The next sweeps move ${id} …`);
  while (await findMove().catch(failWaiting)) await sleep(PAUSE, undefined, { signal });
  const home = await findHome();
  if (home !== target) {
    throw new UserError(
      `The move was canceled: ${id} is on shard ${home.name}. The log of the service says why.`,
    );
  }
  console.log(`${id} is on shard ${home.name}.`);
}

function failWaiting(error: unknown): never {
  throw error instanceof UserError ? new UserError(`${error.message}\n${CONTINUES}`) : error;
}

/** A user id as an SQL literal; null if it is invalid. */
function parseUserId(id: string): string | null {
  try {
    return `x'${Buffer.from(TypeID.fromString(id, 'user').toUUIDBytes()).toString('hex')}'`;
  } catch {
    return null;
  }
}

await runStoppable((signal) => moveAccount(process.argv.slice(2), signal), CONTINUES);

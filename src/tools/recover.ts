import { TypeID } from 'typeid-js';
import { ACTIVITY_ACTIONS } from '../db/activity-actions.ts';
import { queryDatabase } from './database.ts';
import { readPlace } from './local-shards.ts';
import { type Deployment, findShard, listShards } from './project.ts';
import { runStoppable, UserError } from './user-error.ts';

const USAGE = `Usage: npm run recover -- <step> [--remote]

  list-undone <shard> <moment>   Before a database is restored: prints what people did to the accounts of a shard (00 for
                                 the first) after a moment (2026-01-31T12:00:00Z), one JSON object per line.
  restart-trees                  After the bucket was lost: starts the Merkle trees again, on every shard, from the
                                 entries that are in the databases.

Works on the local databases, or with --remote on those of the deployed service.`;

/** Runs one statement in the database with a binding, and returns its rows. */
type Ask = (binding: string, sql: string) => Promise<Record<string, unknown>[]>;

async function recover(words: string[], signal: AbortSignal): Promise<void> {
  const { place, rest, deployment } = readPlace(words);
  const ask: Ask = (binding, sql) => queryDatabase(deployment, binding, place, sql, signal);
  const [step, shard = '', moment = ''] = rest;
  if (step === 'list-undone' && rest.length === 3)
    await listUndone(ask, deployment, shard, Date.parse(moment));
  else if (step === 'restart-trees' && rest.length === 1) await restartTrees(ask, deployment);
  else throw new UserError(USAGE);
}

/**
 * Prints the account activity of a shard since a moment, to which its database will be restored;
 * the oldest first.
 */
async function listUndone(
  ask: Ask,
  deployment: Deployment,
  name: string,
  moment: number,
): Promise<void> {
  if (Number.isNaN(moment)) throw new UserError(USAGE);
  const { binding } = findShard(listShards(deployment), name, deployment);
  const rows = await ask(
    binding,
    `select lower(hex(accounts.id)) as account, action, target, activity.created_at as at
     from activity join accounts on number = account where activity.created_at > ${moment} order by at`,
  );
  for (const { account, action, target, at } of rows) {
    const undone = {
      at: new Date(Number(at)).toISOString(),
      account: TypeID.fromUUIDBytes('user', Buffer.from(String(account), 'hex')).toString(),
      action: ACTIVITY_ACTIONS[Number(action)],
      target,
    };
    console.log(JSON.stringify(undone));
  }
}

/**
 * Empties every Merkle tree, so that the next cron jobs build it again from the entries in the
 * database.
 */
async function restartTrees(ask: Ask, deployment: Deployment): Promise<void> {
  for (const { name, binding } of listShards(deployment)) {
    const [found] = await ask(binding, 'select count(*) as trees from trees');
    await ask(
      binding,
      `update trees set size = 0, root = null, sealed_at = null, frontier = x'', note = null, published_size = 0,
       published_at = 0, witnessed_size = 0, cosigned_size = 0, due_at = 0`,
    );
    console.log(`Shard ${name}: ${found?.trees} tree(s) start again with the next sweeps.`);
  }
}

await runStoppable(
  (signal) => recover(process.argv.slice(2), signal),
  'Stopped. Run the same command again.',
);

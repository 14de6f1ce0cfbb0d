import { env } from 'cloudflare:test';
import { Cost, Database } from '../../src/db/database';
import { eraseAccounts } from '../../src/erasure/erase-accounts';
import { eraseReceiverDeliveries } from '../../src/erasure/erase-receivers';
import { idBytes, parseId } from '../../src/lib/typeid';
import { openErasure } from './agent-erasure';
import { DATABASES } from './shards';
import { countRows, readTables } from './tables';
import type { World } from './world';

const LOG_SPAN = 2 ** 32;
/** Tables about moves, and tables that belong to no account. */
const APART = ['moves', 'move_numbers', 'moved_accounts', 'moved_credentials'];
/** Tables with rows that stay on the old shard: redirects, identities, and what expires. */
const STAYING = [
  ...['moved_accounts', 'moved_credentials', 'identities', 'provider_keys', 'stored_answers'],
  'sign_in_challenges',
];

/** Orders a move, as the operator's script does. */
export async function orderMove(
  world: World,
  id: string,
  shard: string,
  from = env.DB,
): Promise<void> {
  await from
    .prepare(`insert into moves (account, id, direction, shard, created_at)
      select number, id, 0, ?, ? from accounts where id = ?`)
    .bind(shard, world.now, bytesOf(id))
    .run();
}

/** Orders a move, and holds the account immediately. */
export async function orderHeldMove(
  world: World,
  id: string,
  shard: string,
  from = env.DB,
): Promise<void> {
  await orderMove(world, id, shard, from);
  await from.prepare('update moves set held_at = ?').bind(world.now).run();
}

/** Whether any account is moving. */
export async function isMoving(): Promise<boolean> {
  const counts = await Promise.all(
    Object.values(DATABASES).map((database) =>
      database.prepare('select count(*) as n from moves').first<number>('n'),
    ),
  );
  return counts.some((n) => n !== 0);
}

/** Runs sweeps until no account is moving, and one more to erase the rest. */
export async function settleMoves(world: World): Promise<void> {
  for (let minutes = 0; await isMoving(); minutes++) {
    if (minutes > 10) throw new Error('it takes too long');
    world.advance(60_000);
    await world.sweep();
  }
  await world.sweep();
}

/** Erases on a shard everything that the sweep would erase of deleted and moved accounts. */
export async function eraseRest(client: D1Database, now: number): Promise<void> {
  const database = new Database(client, new Cost());
  while (await eraseAccounts(database, now));
  const erasure = openErasure(client, 'oldest', now);
  while (await erasure.eraseSlice());
  while (await eraseReceiverDeliveries(database));
}

/** The rows on a shard without accounts that should not be there, in words. */
export async function findRemains(database: D1Database): Promise<string[]> {
  const counts = await countRows(database);
  return Object.entries(counts).flatMap(([name, rows]) =>
    rows > 0 && !STAYING.includes(name) ? [`${rows} ${name}`] : [],
  );
}

type Row = Record<string, unknown>;

/**
 * Everything that a shard stores of an account, by table, with identifiers and sequences instead of
 * numbers, which differ between shards; null if the account is not on the shard. Leaves out the
 * progress of unfinished files, and rows of deleted agents and receivers that are waiting to be
 * erased.
 */
export async function dumpAccount(
  database: D1Database,
  id: string,
): Promise<Record<string, string[]> | null> {
  const tables = await readTables(database);
  const names = [...tables.keys()].filter((name) => !APART.includes(name));
  const of = (name: string) => tables.get(name) ?? [];
  const account = of('accounts').find((row) => hex(row.id) === hex(bytesOf(id)));
  if (!account) return null;
  const owner = Number(account.number);
  const numbered = (name: string) =>
    new Map(
      of(name).flatMap((row): [number, string][] =>
        row.account === owner ? [[Number(row.number), hex(row.id)]] : [],
      ),
    );
  const agents = numbered('agents');
  const receivers = numbered('receivers');
  const gone = new Map(
    of('erasures').flatMap((row): [number, string][] =>
      row.kind === 0 ? [[Number(row.number), `gone ${hex(row.subject)}`]] : [],
    ),
  );
  const answers = new Set([hex(account.id), ...agents.values()]);
  const isOwn = (name: string, row: Row): boolean => {
    if (name === 'accounts') return row === account;
    if (name === 'audit_entries') return Math.floor(Number(row.pos) / LOG_SPAN) === owner;
    if (name === 'stored_answers') return answers.has(hex(row.subject));
    // A counter of zero counts as a missing counter.
    if (name === 'pending_permissions' && row.count === 0) return false;
    if (name === 'deliveries') return receivers.has(Number(row.receiver));
    if (name === 'erasures') return row.kind === 0;
    if ('account' in row) return row.account === owner;
    return 'agent' in row && agents.has(Number(row.agent));
  };
  const agentOf = (number: unknown) =>
    agents.get(Number(number)) ?? gone.get(Number(number)) ?? 'nobody';
  const sequence = (value: unknown) => (value === null ? null : Number(value) - owner * LOG_SPAN);
  const neutral = (name: string, row: Row): Row => {
    const { number, account: _, ...rest } = row;
    const isUnfinished = name === 'files' && row.status === 0;
    return {
      ...rest,
      ...(name === 'erasures' && { id: null, number: agentOf(number) }),
      ...(name === 'erased_entries' && { id: sequence(row.id) }),
      ...('agent' in row && { agent: Number(row.agent) > 0 ? agentOf(row.agent) : row.agent }),
      ...('receiver' in row && { receiver: receivers.get(Number(row.receiver)) }),
      ...('pos' in row && { pos: sequence(row.pos) }),
      ...('position' in row && { position: sequence(row.position) }),
      ...('starts_after' in row && { starts_after: sequence(row.starts_after) }),
      ...(isUnfinished && { state: null, upload_id: null }),
    };
  };
  return Object.fromEntries(
    names.map((name) => [
      name,
      of(name)
        .filter((row) => isOwn(name, row))
        .map((row) =>
          JSON.stringify(neutral(name, row), (_, value) =>
            Array.isArray(value) ? hex(value) : value,
          ),
        )
        .sort(),
    ]),
  );
}

function hex(bytes: unknown): string {
  return Uint8Array.from(bytes as number[]).toHex();
}

function bytesOf(id: string): Uint8Array {
  const user = parseId('user', id);
  if (!user) throw new Error(`${id} is no account`);
  return idBytes(user);
}

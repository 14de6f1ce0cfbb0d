import { env } from 'cloudflare:test';
import { entryId } from '../../src/ledger/entry-id';
import { readDetails } from '../../src/ledger/stored-details';
import { formatHexId, type Id } from '../../src/lib/typeid';
import type { TestBucket } from './bucket';
import { checkDeliveries } from './check-deliveries';
import { checkLeftovers } from './check-leftovers';
import { OUTCOME_CHECK } from './check-outcomes';
import { PENDING_CHECK } from './check-pending';
import { checkRecords, isSignedText } from './check-records';
import { statisticsChecks } from './check-statistics';
import { checkErasure } from './erasure';
import { sha256 } from './exports';
import { hashLeaf, rootOf } from './merkle';
import { leafOf } from './tree';
import type { World } from './world';

const SPAN = 2 ** 32;
// By their stored codes. The expiry of a token has a code of its own.
const EVENTS = ['request', 'approve', 'deny', 'use', 'expire', 'revoke', 'expire'];
const COMPLETED = 1;

/**
 * Compares the trees, logs, states, statistics, files and deliveries of all accounts with one
 * another. They must agree at any moment, even if work was interrupted. Reads the tables and the
 * bucket, and only the public keys from the service.
 * @returns the faults, in words
 */
export async function checkEverything(world: World, bucket: TestBucket): Promise<string[]> {
  const { now } = world;
  return [
    ...(await checkStates(env.DB, now)),
    ...(await checkErasure(env.DB)),
    ...(await checkRecords(env.DB, world)),
    ...(await checkTrees(env.DB, bucket, world)),
    ...(await checkFiles(env.DB, bucket, now)),
    ...(await checkDeliveries(env.DB, now)),
    ...(await checkLeftovers(env.DB)),
  ];
}

/**
 * Compares states, entries and statistics. Skips deleted agents, and permissions whose entries
 * retention may have erased.
 */
async function checkStates(database: D1Database, now: number): Promise<string[]> {
  const whole = `(select number from agents where account not in (select account from erased_entries where reason = 1))`;
  const checks: [string, string][] = [
    PENDING_CHECK,
    [
      'a permission whose events do not lead to its state',
      `select hex(id) as subject from (
         select p.*, coalesce(sum(e.event = 0), 0) as requests, coalesce(sum(e.event = 1), 0) as approvals,
           coalesce(sum(e.event = 2), 0) as denials, coalesce(sum(e.event = 3), 0) as uses,
           coalesce(sum(e.event = 4), 0) as expiries, coalesce(sum(e.event = 5), 0) as revocations,
           coalesce(sum(e.event = 6), 0) as token_expiries,
           coalesce(max(e.pos % ${SPAN}) = p.last_entry, 0) as has_last
         from permissions p left join audit_entries e on e.permission = p.id and e.pos / ${SPAN} = p.account
         where p.agent in ${whole} group by p.account, p.id
       ) where not (
         requests = 1 and has_last and approvals = (status = 1) and denials = (status = 2)
         and expiries = (status = 3) and token_expiries = (token_status is not null and token_status = 2)
         and revocations = (token_status is not null and token_status = 3)
         and uses = coalesce(token_uses, 0) and (token_status is null) = (status <> 1)
         and (token_status is null or token_status <> 1 or token_uses = token_max_uses)
       )`,
    ],
    OUTCOME_CHECK,
    ...statisticsChecks(now),
    [
      'time that runs backwards in a log',
      `select pos as subject from (
         select pos, created_at, lag(created_at) over (partition by pos / ${SPAN} order by pos) as earlier
         from audit_entries
       ) where created_at < earlier`,
    ],
  ];
  const faults: string[] = [];
  for (const [fault, sql] of checks) {
    const { results } = await database.prepare(sql).all<{ subject: string }>();
    if (results.length > 0)
      faults.push(`${fault}: ${results.map(({ subject }) => subject).join()}`);
  }
  return faults;
}

interface StoredTree {
  account: number;
  id: string;
  size: number;
  root: string | null;
  frontier: string;
  note: string | null;
  published: number;
}

/**
 * Checks that the leaves of every tree are those of the log's entries, and that all stored heads
 * and tiles match them.
 */
async function checkTrees(
  database: D1Database,
  bucket: TestBucket,
  world: World,
): Promise<string[]> {
  const faults: string[] = [];
  const { results } = await database
    .prepare(
      `select number as account, hex(id) as id, coalesce(size, 0) as size, hex(root) as root, hex(coalesce(frontier, x'')) as frontier,
         note, coalesce(published_size, 0) as published
       from accounts left join trees on trees.account = accounts.number`,
    )
    .all<StoredTree>();
  const owned = new Set<string>();
  for (const tree of results) {
    const folder = `trees/${formatHexId('user', tree.id)}/`;
    for (const key of bucket.keys.filter((key) => key.startsWith(folder))) owned.add(key);
    const find = (fault: string) => faults.push(`the tree of account ${tree.account}: ${fault}`);
    await checkTree(database, bucket, tree, folder, find);
    if (tree.note !== null && !(await isSignedHead(world, tree.note)))
      find('its note is not signed');
  }
  const { results: leaving } = await database
    .prepare('select hex(subject) as id from erasures where kind = 3')
    .all<{ id: string }>();
  const orphans = bucket.keys.filter(
    (key) =>
      key.startsWith('trees/') &&
      !owned.has(key) &&
      !leaving.some(({ id }) => key.startsWith(`trees/${formatHexId('user', id)}/`)),
  );
  return [...faults, ...orphans.map((key) => `${key} is of nobody`)];
}

async function checkTree(
  database: D1Database,
  bucket: TestBucket,
  { account, id, size, root, frontier, note, published }: StoredTree,
  folder: string,
  find: (fault: string) => void,
): Promise<void> {
  const rows = splitHashes(Uint8Array.fromHex(frontier));
  const tiles = await readAll(bucket, `${folder}tiles/`);
  const leaves: Uint8Array[] = [];
  let level: Uint8Array[] = [];
  for (let height = 0, width = size; width > 0; height++, width = Math.floor(width / 256)) {
    const full = Array.from({ length: Math.floor(width / 256) }, (_, i) =>
      tiles.get(`${height}/${i}`),
    );
    if (full.includes(undefined)) return find(`a tile of level ${height} is gone`);
    const hashes = [
      ...full.flatMap((tile) => splitHashes(tile as Uint8Array)),
      ...rows.splice(0, width % 256),
    ];
    if (height === 0) leaves.push(...hashes);
    else if (!same(hashes, level)) find(`level ${height} is not of the one below`);
    level = Array.from({ length: Math.floor(width / 256) }, (_, i) =>
      rootOf(hashes.slice(256 * i, 256 * i + 256)),
    );
  }
  if (rows.length > 0) find('its frontier is longer than it is');
  if (size > 0 && rootOf(leaves).toHex().toUpperCase() !== root)
    find('its root is not that of its leaves');
  if (size > 0 && !tells(note, leaves)) find('its note is of another head');

  const kept = await readAll(bucket, `${folder}checkpoints/`);
  const sizes = [...kept.keys()].map(Number);
  if (published > Math.max(0, ...sizes)) find('the head that is kept is not there');
  for (const [name, bytes] of kept) {
    // The worker that stored it may have died before it updated the row.
    const told = leaves.slice(0, Number(name));
    const isLater = Number(name) > size;
    if (!isLater && !tells(new TextDecoder().decode(bytes), told))
      find(`the head of ${name} is of another tree`);
  }

  const entries = await readEntries(database, account, formatHexId('user', id));
  for (const { entry, salt } of entries) {
    const leaf = leaves[Number(entry.sequence) - 1];
    const isOther = leaf && entry.agent_id !== null && leaf.toHex() !== leafOf(entry, salt).toHex();
    if (isOther) find(`entry ${entry.sequence} is not the one that was sealed`);
  }
  const nothing = hashLeaf(new Uint8Array()).toHex();
  if (leaves.some((leaf) => leaf.toHex() === nothing))
    find('an entry was gone before it was sealed');
}

function isSignedHead(world: World, note: string): Promise<boolean> {
  const text = note.slice(0, note.indexOf('\n\n') + 1);
  return isSignedText(world, text, text.slice(0, text.indexOf('\n')), note);
}

function tells(note: string | null, leaves: Uint8Array[]): boolean {
  const [, size, root] = note?.split('\n') ?? [];
  return size === `${leaves.length}` && root === rootOf(leaves).toBase64();
}

function splitHashes(bytes: Uint8Array): Uint8Array[] {
  return Array.from({ length: bytes.length / 32 }, (_, i) => bytes.slice(32 * i, 32 * i + 32));
}

function same(a: Uint8Array[], b: Uint8Array[]): boolean {
  return a.length === b.length && a.every((hash, i) => hash.toHex() === b[i]?.toHex());
}

async function readAll(bucket: TestBucket, prefix: string): Promise<Map<string, Uint8Array>> {
  const keys = bucket.keys.filter((key) => key.startsWith(prefix));
  const entries = keys.map(async (key): Promise<[string, Uint8Array]> => {
    const object = await bucket.binding.get(key);
    return [
      key.slice(prefix.length),
      new Uint8Array((await object?.arrayBuffer()) ?? new ArrayBuffer()),
    ];
  });
  return new Map(await Promise.all(entries));
}

/**
 * Reads the entries of a log from its rows, in the form of the API; entries of deleted agents have
 * no agent.
 */
async function readEntries(database: D1Database, account: number, user: Id<'user'>) {
  const { results } = await database
    .prepare(
      `select pos % ${SPAN} as sequence, hex(random) as random, hex(a.id) as agent, hex(permission) as permission, event,
         e.created_at as at, ip_address, user_agent, action, details
       from audit_entries e left join agents a on a.number = e.agent where pos / ${SPAN} = ? order by pos`,
    )
    .bind(account)
    .all<Record<string, string>>();
  return results.map((row) => ({
    salt: (row.random ?? '').slice(0, 32).toLowerCase(),
    entry: {
      id: entryId({
        createdAt: Number(row.at),
        sequence: Number(row.sequence),
        random: Uint8Array.fromHex(row.random ?? ''),
      }),
      sequence: Number(row.sequence),
      user_id: user,
      agent_id: row.agent ? formatHexId('agent', row.agent) : null,
      permission_request_id: formatHexId('perm', row.permission ?? ''),
      event_type: EVENTS[Number(row.event)],
      details: readDetails(
        { action: row.action ?? '', permission: formatHexId('perm', row.permission ?? '') },
        row.details ?? '',
      ),
      ip_address: row.ip_address,
      user_agent: row.user_agent,
      created_at: new Date(Number(row.at)).toISOString(),
    },
  }));
}

/**
 * Checks that every finished file is in the bucket with its size, and that other objects belong to
 * unfinished work.
 */
async function checkFiles(
  database: D1Database,
  bucket: TestBucket,
  now: number,
): Promise<string[]> {
  const { results } = await database
    .prepare(
      `select kind, hex(id) as id, status, size, hex(sha256) as sha256, proof_size as proof, due_at as due,
         expires_at as expires from files`,
    )
    .all<Record<string, string | number | null>>();
  const faults: string[] = [];
  const owned = new Set<string>();
  for (const { kind, id, status, size, sha256: digest, proof, due, expires } of results) {
    const folder = `files/${formatHexId(kind === 0 ? 'export' : 'report', String(id))}/`;
    const isTidy = status === COMPLETED && Number(due) > now;
    for (const key of [...bucket.keys, ...bucket.openUploads].filter((key) =>
      key.startsWith(folder),
    )) {
      if (due !== null && (!isTidy || ['file', 'proof'].includes(key.slice(folder.length))))
        owned.add(key);
    }
    // The objects of an expired file may be deleted before its row changes.
    if (status !== COMPLETED || Number(expires) <= now) continue;
    const objects = await readAll(bucket, folder);
    const file = objects.get('file');
    if (
      file?.length !== size ||
      (await sha256(file as Uint8Array)) !== String(digest).toLowerCase()
    ) {
      faults.push(`${folder}file is not what was finished`);
    }
    if ((objects.get('proof')?.length ?? null) !== proof)
      faults.push(`${folder}proof is not what was finished`);
  }
  const strays = [...bucket.fileKeys, ...bucket.openUploads].filter((key) => !owned.has(key));
  return [...faults, ...strays.map((key) => `${key} is of nothing`)];
}

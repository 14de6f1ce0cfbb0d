import { equalBytes } from '../../lib/bytes';
import type { ReadTile, Tile, TileKey, TreeFrontier } from '../../lib/tiles';
import type { Id } from '../../lib/typeid';
import { isSameTree, parseHead, type SignedHead } from './checkpoint';

/**
 * The log in the database and the signed heads or stored tiles contradict each other. The service
 * neither signs nor proves anything of such a log.
 */
export class LogInconsistent extends Error {}

/** Sizes in keys have this many digits, so that listings sort heads by size. */
const SIZE_DIGITS = 16;

/** The prefix of every object of an account's tree. */
export function treeFolder(account: Id<'user'>): string {
  return `trees/${account}/`;
}

function tileKey(account: Id<'user'>, { level, index }: TileKey): string {
  return `${tileFolder(account)}${level}/${index}`;
}

export const tileFolder = (account: Id<'user'>) => `${treeFolder(account)}tiles/`;

export const headFolder = (account: Id<'user'>) => `${treeFolder(account)}checkpoints/`;

/** The key of the published head of one size. */
export function headKey(account: Id<'user'>, size: number): string {
  return headFolder(account) + String(size).padStart(SIZE_DIGITS, '0');
}

/**
 * Returns a function that reads a tree's tiles: partial ones from the frontier in memory, full ones
 * from R2.
 * @param filled full tiles that may not be in R2 yet
 */
export function tileReader(
  bucket: R2Bucket,
  account: Id<'user'>,
  frontier: TreeFrontier,
  filled: readonly Tile[] = [],
): ReadTile {
  return async (key) => {
    const isThis = ({ level, index }: TileKey) => level === key.level && index === key.index;
    const known = frontier.tile(key) ?? filled.find(isThis)?.bytes;
    if (known) return known;
    const object = await bucket.get(tileKey(account, key));
    if (!object) throw new Error(`the tile ${tileKey(account, key)} is gone`);
    return new Uint8Array(await object.arrayBuffer());
  };
}

/**
 * Stores a full tile, which never changes.
 * @throws LogInconsistent if R2 has another tile in its place
 */
export async function putTile(bucket: R2Bucket, account: Id<'user'>, tile: Tile): Promise<void> {
  const key = tileKey(account, tile);
  const existing = await putOnce(bucket, key, tile.bytes);
  if (existing && !equalBytes(existing, tile.bytes))
    throw new LogInconsistent(`the tile ${key} holds other hashes`);
}

/**
 * Publishes a signed head in R2, where it never changes.
 * @returns the head that is in R2 now: another one of this size if it was there first, with another
 *   time or key
 * @throws LogInconsistent if R2 has the head of another tree in its place
 */
export async function putHead(bucket: R2Bucket, head: SignedHead): Promise<SignedHead> {
  const key = headKey(head.account, head.size);
  const existing = await putOnce(bucket, key, new TextEncoder().encode(head.note));
  if (!existing) return head;
  const published = parseHead(head.account, new TextDecoder().decode(existing));
  if (published && isSameTree(published, head)) return published;
  throw new LogInconsistent(`${key} is of another tree`);
}

/**
 * Finds the published head of the largest size that is at least `atLeast`; null if there is none.
 */
export async function findNewestHead(
  bucket: R2Bucket,
  account: Id<'user'>,
  atLeast: number,
): Promise<SignedHead | null> {
  let last: string | undefined;
  const before = headKey(account, Math.max(0, atLeast - 1));
  for await (const { key } of listObjects(bucket, headFolder(account), before)) last = key;
  if (last === undefined) return null;
  const head = await readHead(bucket, account, last);
  if (!head) throw new Error(`${last} is listed but not there`);
  return head;
}

/**
 * Reads the published head with a {@link headKey}; null if it is not there.
 * @throws LogInconsistent if the object is not a head of the log
 */
export async function readHead(
  bucket: R2Bucket,
  account: Id<'user'>,
  key: string,
): Promise<SignedHead | null> {
  const object = await bucket.get(key);
  if (!object) return null;
  const head = parseHead(account, await object.text());
  if (!head) throw new LogInconsistent(`${key} is not a head of the log`);
  return head;
}

/**
 * Lists the objects whose keys begin with a prefix and come after a key, in the order of their
 * keys.
 */
export async function* listObjects(
  bucket: R2Bucket,
  prefix: string,
  after: string,
): AsyncGenerator<R2Object> {
  for (let startAfter = after; ; ) {
    const { objects, truncated } = await bucket.list({ prefix, startAfter });
    yield* objects;
    startAfter = objects.at(-1)?.key ?? startAfter;
    if (!truncated) return;
  }
}

/**
 * Writes an object unless its key exists already. Returns the bytes of the existing object; null if
 * it was written.
 */
export async function putOnce(
  bucket: R2Bucket,
  key: string,
  bytes: Uint8Array,
): Promise<Uint8Array | null> {
  const written = await bucket.put(key, bytes, { onlyIf: { etagDoesNotMatch: '*' } });
  if (written) return null;
  const object = await bucket.get(key);
  if (!object) throw new Error(`${key} was not written and is not there`);
  return new Uint8Array(await object.arrayBuffer());
}

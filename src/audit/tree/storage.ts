import { equalBytes } from '../../lib/bytes';
import type { ReadTile, Tile, TileKey, TreeFrontier } from '../../lib/tiles';
import type { Id } from '../../lib/typeid';
import { isSameTree, parseHead, type SignedHead } from './checkpoint';

/** The log is refused: the database is inconsistent with its signed heads. */
export class LogRefused extends Error {}

/** As many digits as the largest size has. */
const DIGITS = 16;

type Owner = Id<'user'>;

/** Everything of an account's tree lies under this. */
export function treeFolder(account: Owner): string {
  return `trees/${account}/`;
}

function tileKey(account: Owner, { level, index }: TileKey): string {
  return `${tileFolder(account)}${level}/${index}`;
}

export const tileFolder = (account: Owner) => `${treeFolder(account)}tiles/`;

export const checkpointFolder = (account: Owner) => `${treeFolder(account)}checkpoints/`;

export function checkpointKey(account: Owner, size: number): string {
  return checkpointFolder(account) + String(size).padStart(DIGITS, '0');
}

/**
 * Reads tiles of a tree: those that are full from R2.
 * @param filled those that are not there yet
 */
export function tileReader(
  bucket: R2Bucket,
  account: Owner,
  edge: TreeFrontier,
  filled: readonly Tile[] = [],
): ReadTile {
  return async (key) => {
    const isThis = ({ level, index }: TileKey) => level === key.level && index === key.index;
    const known = edge.tile(key) ?? filled.find(isThis)?.bytes;
    if (known) return known;
    const object = await bucket.get(tileKey(account, key));
    if (!object) throw new Error(`the tile ${tileKey(account, key)} is gone`);
    return new Uint8Array(await object.arrayBuffer());
  };
}

/**
 * Keeps a full tile for good.
 * @throws LogRefused when another one is there
 */
export async function putTile(bucket: R2Bucket, account: Owner, tile: Tile): Promise<void> {
  const key = tileKey(account, tile);
  const existing = await putOnce(bucket, key, tile.bytes);
  if (existing && !equalBytes(existing, tile.bytes)) throw new LogRefused(`the tile ${key} holds other hashes`);
}

/**
 * Keeps a signed head for good.
 * @returns the head that is kept: where another signed the same tree before, that one
 * @throws LogRefused when one of another tree is there
 */
export async function putCheckpoint(bucket: R2Bucket, head: SignedHead): Promise<SignedHead> {
  const key = checkpointKey(head.account, head.size);
  const existing = await putOnce(bucket, key, new TextEncoder().encode(head.note));
  if (!existing) return head;
  const kept = parseHead(head.account, new TextDecoder().decode(existing));
  if (kept && isSameTree(kept, head)) return kept;
  throw new LogRefused(`${key} is of another tree`);
}

/** The largest tree whose head is kept, of those of at least a size; null where there is none. */
export async function findCheckpoint(bucket: R2Bucket, account: Owner, atLeast: number): Promise<SignedHead | null> {
  let last: string | undefined;
  for (;;) {
    const startAfter = last ?? checkpointKey(account, Math.max(0, atLeast - 1));
    const { objects, truncated } = await bucket.list({ prefix: checkpointFolder(account), startAfter });
    last = objects.at(-1)?.key ?? last;
    if (!truncated) break;
  }
  if (last === undefined) return null;
  const head = await readCheckpoint(bucket, account, last);
  if (!head) throw new Error(`${last} is listed and not there`);
  return head;
}

/**
 * Reads a head that is kept; null where it is not there.
 * @throws LogRefused for what is no head of the log
 */
export async function readCheckpoint(bucket: R2Bucket, account: Owner, key: string): Promise<SignedHead | null> {
  const object = await bucket.get(key);
  if (!object) return null;
  const head = parseHead(account, await object.text());
  if (!head) throw new LogRefused(`${key} is no head of the log`);
  return head;
}

/** Writes an object unless it is there; gives what is there. */
export async function putOnce(bucket: R2Bucket, key: string, bytes: Uint8Array): Promise<Uint8Array | null> {
  const written = await bucket.put(key, bytes, { onlyIf: { etagDoesNotMatch: '*' } });
  if (written) return null;
  const object = await bucket.get(key);
  if (!object) throw new Error(`${key} was not written and is not there`);
  return new Uint8Array(await object.arrayBuffer());
}

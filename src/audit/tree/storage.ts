import { equalBytes } from '../../lib/bytes';
import type { ReadTile, Tile, TileKey, TreeEdge } from '../../lib/tiles';
import type { Id } from '../../lib/typeid';
import { type Head, tellsOf } from './checkpoint';
import type { LogSigner } from './signer';

/** A tree that R2 remembers otherwise: somebody took entries out of the log, or changed them before they were sealed. */
export class TreeForked extends Error {}

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
export function tileReader(bucket: R2Bucket, account: Owner, edge: TreeEdge, filled: readonly Tile[] = []): ReadTile {
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
 * @throws TreeForked when another one is there
 */
export async function putTile(bucket: R2Bucket, account: Owner, tile: Tile): Promise<void> {
  const key = tileKey(account, tile);
  const existing = await putOnce(bucket, key, tile.bytes);
  if (existing && !equalBytes(existing, tile.bytes)) throw new TreeForked(`the tile ${key} holds other hashes`);
}

/**
 * Keeps a signed head for good.
 * @param isSame whether the note that is there already tells of the same head
 * @throws TreeForked when it does not
 */
export async function putCheckpoint(
  bucket: R2Bucket,
  account: Owner,
  size: number,
  note: string,
  isSame: (existing: string) => boolean,
): Promise<void> {
  const key = checkpointKey(account, size);
  const existing = await putOnce(bucket, key, new TextEncoder().encode(note));
  if (existing && !isSame(new TextDecoder().decode(existing))) throw new TreeForked(`${key} tells of another head`);
}

/** The largest tree whose head is kept, of those of at least a size; null where there is none. */
export async function findCheckpoint(
  bucket: R2Bucket,
  account: Owner,
  atLeast: number,
): Promise<{ size: number; note: string } | null> {
  let last: string | undefined;
  for (;;) {
    const startAfter = last ?? checkpointKey(account, Math.max(0, atLeast - 1));
    const { objects, truncated } = await bucket.list({ prefix: checkpointFolder(account), startAfter });
    last = objects.at(-1)?.key ?? last;
    if (!truncated) break;
  }
  if (last === undefined) return null;
  const object = await bucket.get(last);
  if (!object) throw new Error(`${last} is listed and not there`);
  return { size: Number(last.slice(-DIGITS)), note: await object.text() };
}

/**
 * Whether a head is one that the service made: its note is signed, or where the key is no longer known, the same head is
 * kept in R2.
 * @param note as the database has it
 */
export async function isVouchedFor(
  { bucket, signer }: { bucket: R2Bucket; signer: LogSigner },
  head: Pick<Head, 'account' | 'size' | 'root'>,
  note: string | null,
): Promise<boolean> {
  if (note !== null && tellsOf(note, head) && (await signer.isOwn(note))) return true;
  const kept = await bucket.get(checkpointKey(head.account, head.size));
  return kept !== null && tellsOf(await kept.text(), head);
}

/** Writes an object unless it is there; gives what is there. */
export async function putOnce(bucket: R2Bucket, key: string, bytes: Uint8Array): Promise<Uint8Array | null> {
  const written = await bucket.put(key, bytes, { onlyIf: { etagDoesNotMatch: '*' } });
  if (written) return null;
  const object = await bucket.get(key);
  if (!object) throw new Error(`${key} was not written and is not there`);
  return new Uint8Array(await object.arrayBuffer());
}

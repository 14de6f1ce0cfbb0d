import { extendsBeyond } from '../../../lib/tiles';
import { formatTime } from '../../../lib/time';
import type { Id } from '../../../lib/typeid';
import { parseHead } from '../checkpoint';
import { headFolder, headKey, putOnce, tileFolder, treeFolder } from '../storage';

/** Objects that are copied at the same time. */
const GROUP_SIZE = 50;

/** A tile or a head in R2 of a longer tree than the database has. */
export interface StaleTile {
  key: string;
  /** Milliseconds since the epoch. */
  writtenAt: number;
}

/** The objects in R2 of a longer tree. */
export interface StaleTiles {
  /** Full tiles with leaves after the last one. The tiles before are the same in every extension of the tree. */
  tiles: StaleTile[];
  /** Published heads, the smallest first. */
  heads: StaleTile[];
}

/**
 * Finds the objects in R2 that only a tree longer than `size` has. Lists R2 once for every thousand tiles of the tree.
 */
export async function findStaleTiles(bucket: R2Bucket, account: Id<'user'>, size: number): Promise<StaleTiles> {
  const folder = tileFolder(account);
  const isBeyond = (key: string) => {
    const [level, index] = key.slice(folder.length).split('/').map(Number);
    return extendsBeyond({ level: level as number, index: index as number }, size);
  };
  const [tiles, heads] = await Promise.all([
    list(bucket, folder, folder, isBeyond),
    list(bucket, headFolder(account), headKey(account, size), () => true),
  ]);
  return { tiles, heads };
}

async function list(
  bucket: R2Bucket,
  prefix: string,
  after: string,
  isWanted: (key: string) => boolean,
): Promise<StaleTile[]> {
  const found: StaleTile[] = [];
  for (let startAfter = after; ; ) {
    const { objects, truncated } = await bucket.list({ prefix, startAfter });
    for (const { key, uploaded } of objects) if (isWanted(key)) found.push({ key, writtenAt: uploaded.getTime() });
    startAfter = objects.at(-1)?.key ?? startAfter;
    if (!truncated) return found;
  }
}

/** When a published head was sealed by its note, in milliseconds since the epoch; null if it is gone or not a head. */
export async function sealingTime(bucket: R2Bucket, account: Id<'user'>, { key }: StaleTile): Promise<number | null> {
  const object = await bucket.get(key);
  return (object && parseHead(account, await object.text())?.sealedAt) ?? null;
}

/**
 * Moves objects to `trees/<account>/set-aside/<moment>/`, where nothing reads them, each under its former path and the
 * time at which it was written. Nothing is overwritten, so it may crash at any point and be repeated.
 * @param moment milliseconds since the epoch
 * @param mayDelete asked before each deletion
 * @returns how many were moved, in order: fewer than all if it may no longer delete
 */
export async function setAside(
  bucket: R2Bucket,
  account: Id<'user'>,
  objects: readonly StaleTile[],
  moment: number,
  mayDelete: () => boolean,
): Promise<number> {
  const folder = treeFolder(account);
  const copy = async ({ key, writtenAt }: StaleTile) => {
    const object = await bucket.get(key);
    if (!object) return;
    const path = `${formatTime(moment)}/${key.slice(folder.length)}/${formatTime(writtenAt)}`;
    await putOnce(bucket, `${folder}set-aside/${path}`, new Uint8Array(await object.arrayBuffer()));
  };
  for (let moved = 0; moved < objects.length; moved += GROUP_SIZE) {
    const group = objects.slice(moved, moved + GROUP_SIZE);
    await Promise.all(group.map(copy));
    if (!mayDelete()) return moved;
    await bucket.delete(group.map(({ key }) => key));
  }
  return objects.length;
}

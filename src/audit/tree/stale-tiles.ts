import { extendsBeyond } from '../../lib/tiles';
import { formatTime } from '../../lib/time';
import type { Id } from '../../lib/typeid';
import { parseHead } from './checkpoint';
import { checkpointFolder, checkpointKey, putOnce, tileFolder, treeFolder } from './storage';

/** Objects that are on their way at a time. */
const GROUP = 50;

/** A tile or a head that R2 keeps of a longer tree than the database has. */
export interface StaleTile {
  key: string;
  /** Milliseconds since the epoch. */
  writtenAt: number;
}

/** What R2 keeps of a longer tree. */
export interface StaleTiles {
  /** Tiles that hold leaves after the last one. What is full before it is the same in every tree that goes on from there. */
  tiles: StaleTile[];
  /** Signed heads, the smallest first. */
  heads: StaleTile[];
}

/** Finds what R2 keeps of a longer tree than that of a size. Takes one listing for every thousand tiles of the tree. */
export async function findStaleTiles(bucket: R2Bucket, account: Id<'user'>, size: number): Promise<StaleTiles> {
  const folder = tileFolder(account);
  const isBeyond = (key: string) => {
    const [level, index] = key.slice(folder.length).split('/').map(Number);
    return extendsBeyond({ level: level as number, index: index as number }, size);
  };
  const [tiles, heads] = await Promise.all([
    list(bucket, folder, folder, isBeyond),
    list(bucket, checkpointFolder(account), checkpointKey(account, size), () => true),
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

/** When a head says that it was sealed, in milliseconds since the epoch; null where it is gone, or does not say so. */
export async function sealingTime(bucket: R2Bucket, account: Id<'user'>, { key }: StaleTile): Promise<number | null> {
  const object = await bucket.get(key);
  return (object && parseHead(account, await object.text())?.sealedAt) ?? null;
}

/**
 * Moves objects to where nothing reads them: `trees/<account>/set-aside/<moment>/`, each under the path that it had and
 * the time at which it was written. What is there is never written over. May die at any point, and be repeated.
 * @param moment milliseconds since the epoch
 * @param mayGoOn is asked before anything is deleted
 * @returns how many were moved, in order: fewer than all where it might not go on
 */
export async function setAside(
  bucket: R2Bucket,
  account: Id<'user'>,
  leftovers: readonly StaleTile[],
  moment: number,
  mayGoOn: () => boolean,
): Promise<number> {
  const folder = treeFolder(account);
  const copy = async ({ key, writtenAt }: StaleTile) => {
    const object = await bucket.get(key);
    if (!object) return;
    const path = `${formatTime(moment)}/${key.slice(folder.length)}/${formatTime(writtenAt)}`;
    await putOnce(bucket, `${folder}set-aside/${path}`, new Uint8Array(await object.arrayBuffer()));
  };
  for (let moved = 0; moved < leftovers.length; moved += GROUP) {
    const group = leftovers.slice(moved, moved + GROUP);
    await Promise.all(group.map(copy));
    if (!mayGoOn()) return moved;
    await bucket.delete(group.map(({ key }) => key));
  }
  return leftovers.length;
}

import { extendsBeyond } from '../../../lib/tiles';
import { formatTime } from '../../../lib/time';
import type { Id } from '../../../lib/typeid';
import { cosignatureFolder, cosignaturesKey } from '../../witnesses/cosigned-head';
import { parseHead } from '../checkpoint';
import { headFolder, headKey, listObjects, putOnce, tileFolder, treeFolder } from '../storage';

/** Objects that are moved at the same time. */
const GROUP_SIZE = 50;

/** A tile or head in R2 that belongs to a longer tree than the database has. */
export interface StaleObject {
  key: string;
  /** When it was written to R2, in milliseconds since the epoch. */
  writtenAt: number;
}

/** The objects in R2 that belong to a longer tree than the database has. */
export interface StaleObjects {
  /**
   * Full tiles with leaves beyond the tree, and cosignatures of longer trees. All other tiles are
   * the same in every extension of the tree.
   */
  tiles: StaleObject[];
  /** Published heads, the smallest first. */
  heads: StaleObject[];
}

/**
 * Finds the objects in R2 that only a tree longer than `size` has. Lists R2 once for every thousand
 * tiles or heads.
 */
export async function findStaleObjects(
  bucket: R2Bucket,
  account: Id<'user'>,
  size: number,
): Promise<StaleObjects> {
  const folder = tileFolder(account);
  const isBeyond = (key: string) => {
    const [level = Number.NaN, index = Number.NaN] = key
      .slice(folder.length)
      .split('/')
      .map(Number);
    return extendsBeyond({ level, index }, size);
  };
  const list = async (prefix: string, after: string, isWanted: (key: string) => boolean) => {
    const found: StaleObject[] = [];
    for await (const { key, uploaded } of listObjects(bucket, prefix, after)) {
      if (isWanted(key)) found.push({ key, writtenAt: uploaded.getTime() });
    }
    return found;
  };
  const isAny = () => true;
  const [tiles, cosignatures, heads] = await Promise.all([
    list(folder, folder, isBeyond),
    list(cosignatureFolder(account), cosignaturesKey(account, size), isAny),
    list(headFolder(account), headKey(account, size), isAny),
  ]);
  return { tiles: [...tiles, ...cosignatures], heads };
}

/**
 * When a head was sealed, as its signed text says, in milliseconds since the epoch; null if the
 * object is gone or not a head.
 */
export async function sealingTime(
  bucket: R2Bucket,
  account: Id<'user'>,
  { key }: StaleObject,
): Promise<number | null> {
  const object = await bucket.get(key);
  return (object && parseHead(account, await object.text())?.sealedAt) ?? null;
}

/**
 * Moves objects to `trees/<account>/set-aside/<moment>/`, where nothing reads them, each under its
 * former path and the time at which it was written. Nothing is overwritten, so it may crash at any
 * point and be repeated.
 * @param moment names the folder, in milliseconds since the epoch
 * @param mayDelete asked before the copied objects of a group are deleted
 * @returns how many were moved, in order: fewer than all once `mayDelete` has returned false
 */
export async function setAsideObjects(
  bucket: R2Bucket,
  account: Id<'user'>,
  objects: readonly StaleObject[],
  moment: number,
  mayDelete: () => boolean,
): Promise<number> {
  const folder = treeFolder(account);
  const copy = async ({ key, writtenAt }: StaleObject) => {
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

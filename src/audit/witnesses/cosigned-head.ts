import type { Id } from '../../lib/typeid';
import type { SignedHead } from '../tree/checkpoint';
import type { TreeRow } from '../tree/open-tree';
import { headKey, readHead, treeFolder } from '../tree/storage';
import { resignIfKeyRetired, type TrustContext } from '../tree/trust';

/** The key of the cosignatures of the published head of one size. */
export function cosignaturesKey(account: Id<'user'>, size: number): string {
  const [name] = headKey(account, size).split('/').reverse();
  return `${cosignatureFolder(account)}${name}`;
}

export const cosignatureFolder = (account: Id<'user'>) => `${treeFolder(account)}cosignatures/`;

/**
 * Returns the newest published head that a witness has cosigned, its note with the cosignatures;
 * null if there is none. If its key is no longer known, the head is signed again; the cosignatures
 * are of its text, so they stay valid unless the service has another host now.
 */
export async function readCosignedHead(
  { bucket, signer }: TrustContext,
  account: Id<'user'>,
  { cosignedSize }: Pick<TreeRow, 'cosignedSize'>,
): Promise<SignedHead | null> {
  if (cosignedSize === 0) return null;
  const [head, cosignatures] = await Promise.all([
    readHead(bucket, account, headKey(account, cosignedSize)),
    bucket.get(cosignaturesKey(account, cosignedSize)),
  ]);
  if (!head || !cosignatures) return null;
  const { note } = await resignIfKeyRetired(signer, head);
  if (textOf(note) !== textOf(head.note)) return null;
  return { ...head, note: note + (await cosignatures.text()) };
}

/** The signed text of a note. */
export function textOf(note: string): string {
  return note.slice(0, note.lastIndexOf('\n\n') + 1);
}

/** The names of the keys whose cosignatures of a published head are kept. */
export async function readCosigners(
  bucket: R2Bucket,
  account: Id<'user'>,
  size: number,
): Promise<Set<string>> {
  const object = await bucket.get(cosignaturesKey(account, size));
  const lines = object ? (await object.text()).split('\n') : [];
  return new Set(lines.flatMap((line) => line.split(' ')[1] ?? []));
}

/**
 * Adds cosignatures of a published head to those that are kept beside it.
 * @param lines signature lines of witnesses that have none there
 * @throws Error if others were added at the same time
 */
export async function keepCosignatures(
  bucket: R2Bucket,
  account: Id<'user'>,
  size: number,
  lines: readonly string[],
): Promise<void> {
  const key = cosignaturesKey(account, size);
  const existing = await bucket.get(key);
  const kept = existing ? await existing.text() : '';
  const onlyIf = existing ? { etagMatches: existing.etag } : { etagDoesNotMatch: '*' };
  if (!(await bucket.put(key, new TextEncoder().encode(kept + lines.join('')), { onlyIf })))
    throw new Error('other cosignatures were kept at the same time');
}

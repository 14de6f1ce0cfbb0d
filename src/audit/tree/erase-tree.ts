import { and, asc, eq, lte } from 'drizzle-orm';
import { erasures } from '../../db/schema';
import { formatId } from '../../lib/typeid';
import type { SealingContext } from './seal';
import { treeFolder } from './storage';

/**
 * Deletes from R2 objects of the tree of a deleted account, as many as one listing returns.
 * @returns whether there may be more to delete, of this tree or another
 */
export async function eraseTrees(
  { reader, ledger, bucket }: Omit<SealingContext, 'signer'>,
  now: number,
): Promise<boolean> {
  const [[next]] = await reader.load([
    reader
      .select({ id: erasures.id, account: erasures.subject })
      .from(erasures)
      .where(and(eq(erasures.kind, 'tree'), lte(erasures.dueAt, now)))
      .orderBy(asc(erasures.id))
      .limit(1),
  ]);
  if (!next) return false;
  const { objects, truncated } = await bucket.list({
    prefix: treeFolder(formatId('user', next.account)),
  });
  if (objects.length > 0) await bucket.delete(objects.map(({ key }) => key));
  if (truncated) return true;
  await ledger.write({
    changes: (write) => [write.delete(erasures).where(eq(erasures.id, next.id))],
  });
  return true;
}

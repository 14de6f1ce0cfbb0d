import { and, asc, eq, lte } from 'drizzle-orm';
import type { Reader } from '../../db/database';
import { erasures } from '../../db/schema';
import type { Ledger } from '../../ledger/ledger';
import { formatId } from '../../lib/typeid';
import { treeFolder } from './storage';

export interface TreeErasureContext {
  reader: Reader;
  ledger: Ledger;
  bucket: R2Bucket;
}

/**
 * Deletes objects of a deleted account's tree from R2, as many as one listing returns.
 * @returns whether there may be more to delete
 */
export async function eraseTrees({ reader, ledger, bucket }: TreeErasureContext, now: number): Promise<boolean> {
  const [[next]] = await reader.load([
    reader
      .select({ id: erasures.id, account: erasures.subject })
      .from(erasures)
      .where(and(eq(erasures.kind, 'tree'), lte(erasures.dueAt, now)))
      .orderBy(asc(erasures.id))
      .limit(1),
  ]);
  if (!next) return false;
  const { objects, truncated } = await bucket.list({ prefix: treeFolder(formatId('user', next.account)) });
  if (objects.length > 0) await bucket.delete(objects.map(({ key }) => key));
  if (truncated) return true;
  await ledger.write({
    changes: (write) => [write.delete(erasures).where(eq(erasures.id, next.id))],
  });
  return true;
}

import { and, eq, sql } from 'drizzle-orm';
import { auditEntries, trees } from '../../db/schema';
import type { Batch } from '../../db/statements';
import { LOG_SPAN_SQL } from '../../ledger/append';
import type { InternalWriter, Ledger } from '../../ledger/ledger';
import { toHex } from '../../lib/bytes';
import type { SignedHead } from './checkpoint';

/**
 * The columns of a tree's row that a sealer's write compares: it takes effect only if all are as
 * they were read.
 */
type TreeVersion = Pick<typeof trees.$inferSelect, 'account' | 'size' | 'heldUntil'>;

/** The new head and frontier of a tree that a sealer has extended. */
export interface TreeGrowth {
  from: TreeVersion;
  head: SignedHead;
  /** The partial tiles, as `TreeFrontier.bytes` returns them. */
  frontier: Uint8Array;
  /**
   * When to publish the head in R2, in milliseconds since the epoch; null if it is there, or the
   * log is empty.
   */
  publishAt: number | null;
}

/** A tree that could not be sealed, and when to try again in milliseconds since the epoch. */
export interface TreePostponement {
  from: TreeVersion;
  until: number;
}

/** Maximum trees in one statement, which may bind some ten thousand bytes for each. */
const STATEMENT_TREES = 16;

/**
 * Records how trees have grown, each only if its row is still at the version that was read. A tree
 * is then due at once if its log has more entries, and otherwise when its head is to be published.
 */
export async function recordTreeGrowth(
  ledger: Ledger,
  growths: readonly TreeGrowth[],
  now: number,
): Promise<void> {
  const parts = Array.from({ length: Math.ceil(growths.length / STATEMENT_TREES) }, (_, i) =>
    growths.slice(i * STATEMENT_TREES, (i + 1) * STATEMENT_TREES),
  );
  await ledger.write({
    changes: (write) => parts.map((part) => updateTrees(write, part, now)) as unknown as Batch,
  });
}

/** Postpones trees, each only if its row is still at the version that was read. */
export async function postponeTrees(
  ledger: Ledger,
  postponements: readonly TreePostponement[],
): Promise<void> {
  const rows = postponements.map(({ from, until }) => [...versionValues(from), until]);
  await ledger.write({
    changes: (write) => [
      write
        .update(trees)
        .set({ dueAt: sql`sealed.until` })
        .from(
          sql`(select ${VERSION_COLUMNS}, value ->> 3 as until from json_each(${JSON.stringify(rows)})) as sealed`,
        )
        .where(isAtVersion),
    ],
  });
}

function updateTrees(write: InternalWriter, growths: readonly TreeGrowth[], now: number) {
  const rows = growths.map(({ from, head, frontier, publishAt }) => [
    ...versionValues(from),
    head.size,
    toHex(head.root),
    toHex(frontier),
    head.sealedAt,
    head.note,
    publishAt,
  ]);
  const hasMore = sql`exists (
    select 1 from ${auditEntries}
    where ${auditEntries.pos} > sealed.account * ${LOG_SPAN_SQL} + sealed.size
      and ${auditEntries.pos} < (sealed.account + 1) * ${LOG_SPAN_SQL}
  )`;
  return write
    .update(trees)
    .set({
      size: sql`sealed.size`,
      root: sql`sealed.root`,
      frontier: sql`sealed.frontier`,
      sealedAt: sql`sealed.sealed_at`,
      note: sql`sealed.note`,
      publishedSize: sql`iif(sealed.publish_at is null, sealed.size, ${trees.publishedSize})`,
      publishedAt: sql`iif(sealed.publish_at is null, ${now}, ${trees.publishedAt})`,
      // Witnesses that did not answer before must not delay the others.
      witnessDueAt: sql`iif(sealed.publish_at is null, 0, ${trees.witnessDueAt})`,
      dueAt: sql`iif(${hasMore}, ${now}, sealed.publish_at)`,
    })
    .from(sql`(
      select ${VERSION_COLUMNS}, value ->> 3 as size, unhex(value ->> 4) as root, unhex(value ->> 5) as frontier,
        value ->> 6 as sealed_at, value ->> 7 as note, value ->> 8 as publish_at
      from json_each(${JSON.stringify(rows)})
    ) as sealed`)
    .where(isAtVersion);
}

/** The first values of a JSON row, which {@link VERSION_COLUMNS} reads. */
function versionValues({ account, size, heldUntil }: TreeVersion): number[] {
  return [account, size, heldUntil];
}

const VERSION_COLUMNS = sql`value ->> 0 as account, value ->> 1 as from_size, value ->> 2 as held_until`;

const isAtVersion = and(
  eq(trees.account, sql`sealed.account`),
  eq(trees.size, sql`sealed.from_size`),
  eq(trees.heldUntil, sql`sealed.held_until`),
);

import { sql } from 'drizzle-orm';
import type { Batch, Database, Statement } from '../../db/database';
import { LOG_SPAN } from '../../ledger/append';
import { toHex } from '../../lib/bytes';

const span = sql.raw(String(LOG_SPAN));

/** How an account's tree has grown. */
export interface SealedTree {
  account: number;
  /** Leaves before and after; the same where there was nothing to seal. */
  from: number;
  size: number;
  /** Of the tree as it is after. */
  root: Uint8Array;
  edge: Uint8Array;
  /** Milliseconds since the epoch. */
  sealedAt: number;
  /** Its head, signed. */
  note: string;
  /** When the head is to be kept in R2, in milliseconds since the epoch; null where it is there, or the log is empty. */
  publishAt: number | null;
  /** Until when the tree was held, as it was read. */
  heldUntil: number;
}

/** A tree that is left alone until a time, in milliseconds since the epoch. */
export interface Postponement {
  account: number;
  /** Leaves under its head, as it was read. */
  size: number;
  until: number;
  /** Until when the tree was held, as it was read. */
  heldUntil: number;
}

/** Trees that one statement is told of, with some ten thousand bytes each. */
const PART = 16;

/** What the sealing of logs writes down. */
export class TreeRecords {
  constructor(private readonly database: Database) {}

  /**
   * Writes down how trees have grown, each only if it is still as it was before and was not held meanwhile; and when
   * each has to be looked at again: at once where the log goes on, else when its head is to be kept.
   */
  async grow(growths: readonly SealedTree[], now: number): Promise<void> {
    const parts = Array.from({ length: Math.ceil(growths.length / PART) }, (_, i) =>
      this.growPart(growths.slice(i * PART, (i + 1) * PART), now),
    );
    await this.database.run(parts as unknown as Batch);
  }

  /** Leaves trees alone until a time, as they cannot be sealed, unless they were sealed further or held meanwhile. */
  async reschedule(postponements: readonly Postponement[]): Promise<void> {
    const rows = postponements.map(({ account, size, until, heldUntil }) => [account, size, until, heldUntil]);
    await this.database.run([
      this.database.build.run(sql`
        update trees set due_at = later.until
        from (
          select value ->> 0 as account, value ->> 1 as size, value ->> 2 as until, value ->> 3 as held_until
          from json_each(${JSON.stringify(rows)})
        ) as later
        where trees.account = later.account and trees.size = later.size and trees.held_until = later.held_until`),
    ]);
  }

  private growPart(growths: readonly SealedTree[], now: number): Statement {
    const rows = growths.map(({ account, from, size, root, edge, sealedAt, publishAt, note, heldUntil }) => [
      account,
      from,
      size,
      toHex(root),
      toHex(edge),
      sealedAt,
      publishAt,
      note,
      heldUntil,
    ]);
    // The service never reads published_at: the newest head in R2 decides when the next one is put there.
    return this.database.build.run(sql`
        update trees set
          size = growth.size,
          root = growth.root,
          edge = growth.edge,
          sealed_at = growth.sealed_at,
          note = growth.note,
          published_size = iif(growth.publish_at is null, growth.size, published_size),
          published_at = iif(growth.publish_at is null, ${now}, published_at),
          due_at = case
            when exists (
              select 1 from audit_entries
              where pos > growth.account * ${span} + growth.size and pos < (growth.account + 1) * ${span}
            ) then ${now}
            else growth.publish_at
          end
        from (
          select value ->> 0 as account, value ->> 1 as was, value ->> 2 as size, unhex(value ->> 3) as root,
            unhex(value ->> 4) as edge, value ->> 5 as sealed_at, value ->> 6 as publish_at,
            value ->> 7 as note, value ->> 8 as held_until
          from json_each(${JSON.stringify(rows)})
        ) as growth
        where trees.account = growth.account and trees.size = growth.was and trees.held_until = growth.held_until`);
  }
}

import { and, asc, eq, getTableColumns, sql } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import { FILE_STATUSES, moves } from '../../db/schema';
import { SliceSize } from '../../db/slice-size';
import { logFailure } from '../../lib/log';
import { DAY, MINUTE } from '../../lib/time';
import { hasRowsToErase, reserveNumber } from './begin';
import { copyLog, copyTable } from './copy';
import { eraseCopy } from './erase-copy';
import { release, switchOver } from './leave';
import { COPIED_ON_HOLD, COPIED_WHILE_IN_USE } from './moved-tables';
import type { MoverShard } from './shard';
import { type Move, stopAtLostTurn, takeTurn, updateMove } from './turns';

/**
 * Returns the names of the shards where no other task may run because of a move: there they would
 * find half of an account. These are both shards while the account is on hold, and the new one from
 * then on until the account is released.
 * @param name the shard that stores this row of the move; the other shard has a row of its own
 */
export function shardsBlockedByMove(
  name: string,
  { direction, shard, heldAt, hasLeft }: Move,
): string[] {
  if (heldAt === null) return [];
  if (direction === 'in') return [name];
  return hasLeft ? [] : [name, shard];
}

/** A move away from this shard, and what it has to wait for or give up for. */
interface FoundMove {
  departure: Move;
  /** Whether the account was deleted after the move was ordered. */
  isDeleted: boolean;
  /** Whether a worker may be writing an export or report of the account now. */
  isFileInProgress: boolean;
}

/**
 * The step after a slice: the next one at once, because the account is on hold; the next one after
 * other work; or nothing, until a file in progress has ended, or earlier rows are erased.
 */
type Outcome = 'continue now' | 'continue later' | 'wait';

/** Maximum sizes of slices: D1 answers no other request while it reads or writes one. */
const MOVE_SIZES = {
  /** Rows, and characters in them, that one slice copies. */
  rows: 1_000,
  characters: 1_000_000,
  /** New entries of the log that one slice copies, each with its permission. */
  entries: 200,
};

/** Milliseconds on hold, and since the copy began, after which a move is abandoned. */
const MAX_HOLD = 5 * MINUTE;
const MAX_AGE = DAY;
/** Slices of one call while the account is on hold: D1 takes 1,000 statements an invocation. */
const SLICES_ON_HOLD = 10;

/**
 * Moves accounts from one shard to other shards. A row in `moves` on the old shard, the departure,
 * orders a move (`tools/move-account.ts` inserts it); the mover inserts a row on the new shard, the
 * arrival.
 *
 * 1. The account stays in use while {@link COPIED_WHILE_IN_USE} are copied, slice by slice, and
 *    then what was added to its log meanwhile, with the permissions that these entries are about.
 *    Nothing of the account is erased until the move ends.
 * 2. When a slice has reached the end of the log, the account is put on hold: a guard refuses every
 *    write (`ledger/hold.ts`), and it can only be read. The last entries and {@link COPIED_ON_HOLD}
 *    are copied.
 * 3. One transaction deletes the account from this shard and redirects its credentials to the other
 *    shard, where the account is then released. Its remaining rows here are erased like those of a
 *    deleted account.
 *
 * Safe to stop at any point and to run concurrently: each transaction that changes the account
 * takes the next numbered turn, and writes nothing if another worker took it (`turns.ts`). Deleting
 * the departure before step 3 abandons the move; the other shard then erases its copy.
 *
 * The column `step` of the arrival says how far the copy is: it counts {@link COPIED_WHILE_IN_USE},
 * then the log, then {@link COPIED_ON_HOLD}. Numbers of accounts, agents and receivers differ
 * between shards: `moved-tables.ts` describes which columns are renumbered, and `insert-copies.ts`
 * assigns the new numbers.
 */
export class Mover {
  private readonly size: SliceSize;

  /**
   * @param shards all shards of the deployment; the first one has the directory, that is, the table
   *   `identities`
   */
  constructor(
    private readonly source: MoverShard,
    private readonly shards: readonly MoverShard[],
    private readonly sizes = MOVE_SIZES,
  ) {
    this.size = new SliceSize(sizes.rows);
  }

  /**
   * Does one slice, a limited part, of the oldest move away from this shard; several once its
   * account is on hold.
   * @returns whether there may be more to do now; false also if another worker does it, or the move
   *   has to wait
   */
  moveSlice(now: number): Promise<boolean> {
    return stopAtLostTurn(async () => {
      for (let slices = 1; slices < SLICES_ON_HOLD; slices++) {
        const found = await this.findMove(now);
        if (!found) return false;
        const outcome = await this.advance(found, now);
        if (outcome !== 'continue now') return outcome === 'continue later';
      }
      return true;
    });
  }

  /**
   * Deletes the copies on this shard whose moves were abandoned; the erasure tasks erase their
   * remaining rows.
   * @returns false, as a task does that has nothing more to do: one call handles all copies
   */
  eraseAbandonedCopies(): Promise<boolean> {
    return stopAtLostTurn(async () => {
      const { database } = this.source;
      const [arrivals] = await database.load([
        database.select().from(moves).where(eq(moves.direction, 'in')),
      ]);
      for (const arrival of arrivals) {
        const { id, shard, createdAt } = arrival;
        const from = this.shards.find(({ name }) => name === shard)?.database;
        if (!from) throw new Error(`${id} comes from shard ${shard}, which is not there`);
        const isThisMove = and(
          eq(moves.id, id),
          eq(moves.direction, 'out'),
          eq(moves.createdAt, createdAt),
        );
        const [[departure]] = await from.load([from.select().from(moves).where(isThisMove)]);
        if (!departure) await eraseCopy(database, arrival);
      }
      return false;
    });
  }

  private async advance(
    { departure, isDeleted, isFileInProgress }: FoundMove,
    now: number,
  ): Promise<Outcome> {
    const { database: source } = this.source;
    const target = this.shards.find(
      ({ name }) => name === departure.shard && name !== this.source.name,
    );
    if (!target) return this.abandonMove(departure, `there is no other shard ${departure.shard}`);
    const route = { shards: this.shards, source: this.source, target };
    if (departure.hasLeft) {
      await release(route, departure, await this.findArrival(target, departure));
      return 'continue later';
    }
    if (isDeleted) return this.abandonMove(departure, 'the account was deleted');
    const { heldAt } = departure;
    if (heldAt !== null && now - heldAt > MAX_HOLD)
      return this.abandonMove(departure, 'it was held for too long');
    const arrival = await this.findArrival(target, departure);
    if (!arrival || arrival.createdAt !== departure.createdAt) {
      if (arrival) await eraseCopy(target.database, arrival);
      if (await hasRowsToErase(source, target.database, departure)) return 'wait';
      await reserveNumber(this.source, target.database, departure, now);
      return 'continue later';
    }
    if (now - arrival.reservedAt > MAX_AGE)
      return this.abandonMove(departure, 'it began too long ago');
    const { step } = arrival;
    const copying = { source, target: target.database, departure, arrival };
    const limits = { rows: this.size.rows, characters: this.sizes.characters };
    const [tableInUse] = COPIED_WHILE_IN_USE.slice(step);
    if (tableInUse) {
      await this.measure(target, () => copyTable(copying, tableInUse, limits));
      return 'continue later';
    }
    if (step === COPIED_WHILE_IN_USE.length) {
      const rows = Math.min(limits.rows, this.sizes.entries);
      const { isNew, isEnd } = await this.measure(target, () =>
        copyLog(copying, { ...limits, rows }),
      );
      if (heldAt === null) {
        if (!isEnd) return 'continue later';
        // From here on no row of the account can change.
        await takeTurn(source, departure, [updateMove(source, departure, { heldAt: now })]);
      } else if (!isNew) {
        if (isFileInProgress) return 'wait';
        await takeTurn(target.database, arrival, [
          updateMove(target.database, arrival, { step: step + 1, heldAt: now }),
        ]);
      }
      return 'continue now';
    }
    const [tableOnHold] = COPIED_ON_HOLD.slice(step - COPIED_WHILE_IN_USE.length - 1);
    if (tableOnHold) {
      await this.measure(target, () => copyTable(copying, tableOnHold, limits));
      return 'continue now';
    }
    await switchOver(route, departure);
    return 'continue now';
  }

  /**
   * Runs a slice, and sets the size of the next one by how long this one kept the databases busy.
   */
  private measure<R>({ database: target }: MoverShard, slice: () => Promise<R>): Promise<R> {
    const { database: source } = this.source;
    return this.size.measure(() => source.queryTimeMs + target.queryTimeMs, slice);
  }

  private async findMove(now: number): Promise<FoundMove | null> {
    const { database } = this.source;
    const isFileInProgress = sql`exists (
      select 1 from files where files.account = moves.account and status = ${codeOf(FILE_STATUSES, 'processing')}
        and lease is not null and due_at > ${now}
    )`
      .mapWith(Boolean)
      .as('is_file_in_progress');
    const isDeleted = sql`not exists (select 1 from accounts where number = moves.account)`
      .mapWith(Boolean)
      .as('is_deleted');
    const [[found]] = await database.load([
      database
        .select({ departure: getTableColumns(moves), isDeleted, isFileInProgress })
        .from(moves)
        .where(eq(moves.direction, 'out'))
        .orderBy(asc(moves.createdAt))
        .limit(1),
    ]);
    return found ?? null;
  }

  /** Abandons a move: the account stays where it is, and the other shard erases its copy. */
  private async abandonMove(departure: Move, reason: string): Promise<Outcome> {
    logFailure('move_given_up', reason, { account: departure.id });
    const { build } = this.source.database;
    await takeTurn(this.source.database, departure, [
      build.delete(moves).where(eq(moves.account, departure.account)),
    ]);
    return 'continue later';
  }

  private async findArrival({ database }: MoverShard, { id }: Move): Promise<Move | undefined> {
    const isArrival = and(
      eq(moves.id, id),
      eq(moves.direction, 'in'),
      eq(moves.shard, this.source.name),
    );
    const [[arrival]] = await database.load([database.select().from(moves).where(isArrival)]);
    return arrival;
  }
}

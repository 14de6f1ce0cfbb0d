import { and, asc, eq, getTableColumns, getTableName, type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import { type Database, loadNonNull, type Statement } from '../../db/database';
import {
  accounts,
  agentKeys,
  agents,
  ERASURE_KINDS,
  erasures,
  FILE_STATUSES,
  files,
  identities,
  MOVE_DIRECTIONS,
  MOVED_NUMBERS,
  members,
  moveChanges,
  movedAccounts,
  movedCredentials,
  moveNumbers,
  moves,
  sessions,
  trees,
  userTokens,
  webhooks,
} from '../../db/schema';
import { SliceSize } from '../../db/slice-size';
import { logFailure } from '../../lib/log';
import { MINUTE } from '../../lib/time';
import {
  type CopiedRow,
  deleteRows,
  type Renumbering,
  selectRows,
  selectRowsByKey,
} from './copied-rows';
import { insertCopies } from './insert-copies';
import {
  LAST_TABLES,
  type MovedAccount,
  type MovedTable,
  type NumberedKind,
  TRACKED_TABLES,
} from './moved-tables';
import { type Move, stopAtLostTurn, takeTurn, updateMove } from './turns';

/** One shard of the deployment. */
export interface MoverShard {
  name: string;
  database: Database;
}

/**
 * Returns the names of the shards where no other task may run because of a move: there they would
 * find half of an account. These are both shards while the account is on hold, and the new one from
 * then on until the account is released.
 * @param name the shard that stores this row of the move; the other shard has a row of its own
 */
export function shardsBlockedByMove(
  name: string,
  { direction, shard, heldAt, hasLeft, step }: Move,
): string[] {
  if (direction === 'in') return step > TRACKED_TABLES.length ? [name] : [];
  return heldAt !== null && !hasLeft ? [name, shard] : [];
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
 * other work; or nothing, until a file in progress has ended.
 */
type Outcome = 'continue now' | 'continue later' | 'wait';

/** Maximum sizes of slices: D1 answers no other request while it reads or writes one. */
const MOVE_SIZES = {
  /** Rows, and characters in them, that one slice copies. */
  rows: 1_000,
  characters: 1_000_000,
  /** Changes of rows that one slice copies. */
  changes: 200,
};

/** Milliseconds on hold after which a move is abandoned. */
const MAX_HOLD = 5 * MINUTE;

const into = codeOf(MOVE_DIRECTIONS, 'in');
const agentErasure = codeOf(ERASURE_KINDS, 'agent');
const webhookErasure = codeOf(ERASURE_KINDS, 'webhook');

/**
 * Moves accounts from one shard to other shards. A row in `moves` on the old shard, the departure,
 * orders a move (`dev/move-account.ts` inserts it); the mover inserts a row on the new shard, the
 * arrival.
 *
 * 1. The account stays in use while its rows are copied, slice by slice. Triggers record in
 *    `move_changes` which of them change meanwhile, and these are copied again.
 * 2. When few changes are left the account is put on hold: requests are answered 503, and triggers
 *    refuse every write. The last changes and the small tables are copied. (The arrival is on hold
 *    from the start.)
 * 3. One transaction deletes the account from this shard and redirects its credentials to the other
 *    shard, where the account is then released. Its remaining rows here are erased like those of a
 *    deleted account.
 *
 * Safe to stop at any point and to run concurrently: each transaction that changes the account
 * takes the next numbered turn, and writes nothing if another worker took it (`turns.ts`). Deleting
 * the departure before step 3 abandons the move; the other shard then erases its copy.
 *
 * The column `step` of the arrival says how far the copy is: the index of the table in
 * {@link TRACKED_TABLES} that is being copied; after the last one, `TRACKED_TABLES.length` while
 * changes are copied again; one more once {@link LAST_TABLES} are copied. Numbers of accounts,
 * agents and webhooks differ between shards: `moved-tables.ts` describes which columns are
 * renumbered, and `insert-copies.ts` assigns the new numbers.
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
   * Does one slice, a limited part, of the oldest move away from this shard. Once its account is on
   * hold, does everything that is left.
   * @returns whether there may be more to do now; false also if another worker does it, or the move
   *   has to wait
   */
  moveSlice(now: number): Promise<boolean> {
    return stopAtLostTurn(async () => {
      for (;;) {
        const found = await this.findMove(now);
        if (!found) return false;
        const outcome = await this.advance(found, now);
        if (outcome !== 'continue now') return outcome === 'continue later';
      }
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
    if (departure.hasLeft) {
      await this.finish(departure, target);
      return 'continue later';
    }
    if (isDeleted) return this.abandonMove(departure, 'the account was deleted');
    if (departure.heldAt !== null && now - departure.heldAt > MAX_HOLD)
      return this.abandonMove(departure, 'it was held for too long');
    const arrival = await this.findArrival(target, departure);
    if (!arrival || arrival.createdAt !== departure.createdAt) {
      if (arrival) await eraseCopy(target.database, arrival);
      await this.reserve(departure, target, now);
      return 'continue later';
    }
    const [table] = TRACKED_TABLES.slice(arrival.step);
    if (table) {
      await this.measure(target, () => this.copy(table, departure, target, arrival));
      return 'continue later';
    }
    if (arrival.step === TRACKED_TABLES.length) {
      // The service refuses the requests of an account on hold until the move ends, so slices are
      // then as large as possible.
      const limit =
        departure.heldAt === null
          ? Math.min(this.size.rows, this.sizes.changes)
          : this.sizes.changes;
      const changes = await this.measure(target, () =>
        this.copyChanges(departure, target, arrival, limit),
      );
      if (departure.heldAt !== null) {
        if (isFileInProgress) return 'wait';
        if (changes === 0) await this.copyLast(departure, target, arrival);
        return 'continue now';
      }
      if (changes === limit) return 'continue later';
      // From here on no row of the account can change.
      await takeTurn(source, departure, [updateMove(source, departure, { heldAt: now })]);
      return 'continue now';
    }
    await this.switchOver(departure, target);
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

  /**
   * Reserves a number for the account on the other shard: the number of a row that is inserted and
   * deleted at once.
   */
  private async reserve(departure: Move, { database }: MoverShard, now: number): Promise<void> {
    const { build } = database;
    await database.run([
      build.run(sql`insert into accounts (id, email, plan, is_active, created_at, updated_at)
        values (zeroblob(16), '', 0, 0, 0, 0)`),
      build.run(sql`delete from accounts where id = zeroblob(16)`),
      build.run(sql`insert into moves (account, id, direction, shard, held_at, created_at)
        select seq, ${sql.param(departure.id, moves.id)}, ${into}, ${this.source.name}, ${now}, ${departure.createdAt}
        from sqlite_sequence where name = 'accounts'`),
    ]);
  }

  /**
   * Copies the next rows of a table, if any are left, and stores in the same transaction how far
   * the copy has come.
   */
  private async copy(
    table: MovedTable,
    departure: Move,
    { database }: MoverShard,
    arrival: Move,
  ): Promise<void> {
    const { database: source } = this.source;
    const limit = this.size.rows;
    const query = selectRows(table, movedAccountOf(departure), arrival.after, limit);
    const [found] = await source.load([
      source
        .select({
          row: sql<string>`copied_row`,
          key: sql<string>`copied_key`,
          found: sql<number>`found`,
        })
        .from(
          sql`(
          select *, row_number() over () as place, count(*) over () as found,
            sum(length(copied_row)) over (rows unbounded preceding) as characters
          from (${query})
        )`,
        )
        .where(sql`place = 1 or characters <= ${this.sizes.characters}`),
    ]);
    const isLast = found.length === (found[0]?.found ?? 0) && found.length < limit;
    const progress = isLast
      ? { step: arrival.step + 1, after: null }
      : { after: found.at(-1)?.key ?? null };
    await takeTurn(database, arrival, [
      ...insertCopies(database, [[table, found]], renumberingOf(departure, arrival)),
      updateMove(database, arrival, progress),
    ]);
  }

  /**
   * Copies rows that changed since the move was ordered, the oldest change first. Rows that were
   * deleted are deleted from the copy.
   * @returns the number of changes
   */
  private async copyChanges(
    departure: Move,
    { database }: MoverShard,
    arrival: Move,
    limit: number,
  ): Promise<number> {
    const { database: source } = this.source;
    const isOwn = eq(moveChanges.account, departure.account);
    const [changes] = await source.load([
      source.select().from(moveChanges).where(isOwn).orderBy(asc(moveChanges.id)).limit(limit),
    ]);
    const last = changes.at(-1);
    if (!last) return 0;
    const keysOf = (name: string) => {
      const keys = new Set(changes.filter((change) => change.name === name).map(({ key }) => key));
      return `[${[...keys].join()}]`;
    };
    const changed = TRACKED_TABLES.map((table) => ({
      table,
      keys: keysOf(getTableName(table.table)),
    }));
    const touched = changed.filter(({ keys }) => keys !== '[]');
    const found = await loadCopies(
      source,
      touched.map(({ table, keys }) => selectRowsByKey(table, movedAccountOf(departure), keys)),
    );
    const copied = touched.map(({ table }, i): [MovedTable, CopiedRow[]] => [
      table,
      found[i] ?? [],
    ]);
    const renumbering = renumberingOf(departure, arrival);
    await takeTurn(database, arrival, [
      ...touched.map(({ table, keys }) => database.build.run(deleteRows(table, keys, renumbering))),
      ...insertCopies(database, copied, renumbering),
      ...eraseDeleted(database, keysOf('gone_agents'), keysOf('gone_webhooks'), arrival.account),
    ]);
    await source.run([
      source.build.delete(moveChanges).where(and(isOwn, sql`${moveChanges.id} <= ${last.id}`)),
    ]);
    return changes.length;
  }

  /** Copies {@link LAST_TABLES}, in one transaction. */
  private async copyLast(departure: Move, { database }: MoverShard, arrival: Move): Promise<void> {
    const { database: source } = this.source;
    const found = await loadCopies(
      source,
      LAST_TABLES.map((table) => selectRows(table, movedAccountOf(departure), null)),
    );
    if (found.at(-1)?.length !== 1)
      throw new Error(`the account ${departure.id} is not on its shard`);
    const copied = LAST_TABLES.map((table, i): [MovedTable, CopiedRow[]] => [
      table,
      found[i] ?? [],
    ]);
    await takeTurn(database, arrival, [
      ...insertCopies(database, copied, renumberingOf(departure, arrival)),
      updateMove(database, arrival, { step: arrival.step + 1 }),
    ]);
  }

  /**
   * Deletes the account from this shard and redirects its credentials to the other one, in one
   * transaction.
   */
  private async switchOver(departure: Move, target: MoverShard): Promise<void> {
    const { build } = this.source.database;
    const { account, id } = departure;
    const idOf = sql`${sql.param(id, accounts.id)}`;
    await takeTurn(this.source.database, departure, [
      build.insert(movedAccounts).values({ id, shard: target.name }),
      build.run(sql`insert or ignore into ${movedCredentials} (hash, account)
        select hash, ${idOf} from ${userTokens} where account = ${account}
        union all select hash, ${idOf} from ${agentKeys}
        where agent in (select number from ${agents} where account = ${account})
        union all select hash, ${idOf} from ${sessions} where account = ${account}
        union all select invitation_hash, ${idOf} from ${members}
        where account = ${account} and invitation_hash is not null
        union all select inbound_hash, ${idOf} from ${webhooks}
        where account = ${account} and inbound_hash is not null`),
      ...this.redirectPeople(this.source, departure),
      ...deleteAccountRows(this.source.database, account),
      updateMove(this.source.database, departure, { hasLeft: true }),
    ]);
  }

  /**
   * Releases the account on the other shard, by deleting the arrival. Every shard that redirects to
   * this shard then redirects to the other one.
   */
  private async finish(departure: Move, target: MoverShard): Promise<void> {
    const others = this.shards.filter((shard) => shard !== this.source && shard !== target);
    const { build } = target.database;
    const arrival = await this.findArrival(target, departure);
    if (arrival) {
      // The directory first: once released, the account may move on, and this entry would be out of
      // date.
      for (const shard of others) {
        const [redirect] = this.redirectPeople(shard, departure);
        if (redirect) await shard.database.run([redirect]);
      }
      await takeTurn(target.database, arrival, [
        ...this.redirectPeople(target, departure),
        // The account may have left that shard earlier: its redirections there end.
        build.delete(movedCredentials).where(eq(movedCredentials.account, departure.id)),
        build.delete(movedAccounts).where(eq(movedAccounts.id, departure.id)),
        build.delete(moves).where(eq(moves.account, arrival.account)),
      ]);
    }
    for (const { database } of others) {
      await database.run([
        database.build
          .update(movedAccounts)
          .set({ shard: target.name })
          .where(eq(movedAccounts.id, departure.id)),
      ]);
    }
    await this.source.database.run([
      this.source.database.build
        .delete(moves)
        .where(and(eq(moves.account, departure.account), eq(moves.hasLeft, true))),
    ]);
  }

  /** Points the account's identities to its new shard; nothing on a shard without the directory. */
  private redirectPeople({ name, database }: MoverShard, { id, shard }: Move): Statement[] {
    if (name !== this.shards[0]?.name) return [];
    const isDirectedHere = and(eq(identities.account, id), eq(identities.shard, this.source.name));
    return [database.build.update(identities).set({ shard }).where(isDirectedHere)];
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

/**
 * Deletes the rows by which an account is found. Its other rows are erased later, like those of a
 * deleted account.
 */
function deleteAccountRows({ build }: Database, account: number): Statement[] {
  return [
    build.insert(erasures).values({ kind: 'account', number: account }),
    build.delete(files).where(eq(files.account, account)),
    build.delete(trees).where(eq(trees.account, account)),
    build.delete(accounts).where(eq(accounts.number, account)),
  ];
}

/**
 * Deletes the copy of an account whose move was abandoned. The erasure tasks erase its remaining
 * rows.
 */
async function eraseCopy(database: Database, arrival: Move): Promise<void> {
  const { build } = database;
  const { account } = arrival;
  await takeTurn(database, arrival, [
    ...deleteAccountRows(database, account),
    build.run(sql`insert into ${erasures} (kind, number)
      select iif(kind = ${codeOf(MOVED_NUMBERS, 'agent')}, ${agentErasure}, ${webhookErasure}), becomes
      from ${moveNumbers} where account = ${account}`),
    build.delete(moves).where(eq(moves.account, account)),
  ]);
}

/**
 * Makes the statements that erase the copied rows of agents and webhooks that were deleted since.
 * Of webhooks they only order the erasure.
 * @param agentsGone the keys of deleted agents, a JSON array from `move_changes`; so for webhooks
 */
function eraseDeleted(
  { build }: Database,
  agentsGone: string,
  webhooksGone: string,
  account: number,
): Statement[] {
  const numbers = (kind: NumberedKind, keys: string) => sql`
    select becomes from ${moveNumbers} where account = ${account} and kind = ${codeOf(MOVED_NUMBERS, kind)}
      and number in (select value ->> 0 from json_each(${keys}))`;
  const ofAgents = [
    sql`delete from agent_keys where agent in (${numbers('agent', agentsGone)})`,
    sql`delete from agent_statistics where agent in (${numbers('agent', agentsGone)})`,
    sql`delete from stored_answers where subject in (select unhex(value ->> 1) from json_each(${agentsGone}))`,
  ];
  const ofWebhooks = [
    sql`insert into erasures (kind, number) select ${webhookErasure}, becomes from (${numbers('webhook', webhooksGone)})`,
  ];
  const isNone = (keys: string) => keys === '[]';
  return [...(isNone(agentsGone) ? [] : ofAgents), ...(isNone(webhooksGone) ? [] : ofWebhooks)].map(
    (statement) => build.run(statement),
  );
}

/**
 * Loads the rows to copy that each query selects, in one round trip; in none if there are no
 * queries.
 */
function loadCopies(source: Database, queries: SQL[]): Promise<CopiedRow[][]> {
  const columns = { row: sql<string>`copied_row`, key: sql<string>`copied_key` };
  return loadNonNull(
    source,
    queries.map((query) => source.select(columns).from(sql`(${query})`)),
  );
}

function movedAccountOf({ account, id }: Move): MovedAccount {
  return { number: account, id };
}

function renumberingOf(departure: Move, arrival: Move): Renumbering {
  return { from: departure.account, to: arrival.account };
}

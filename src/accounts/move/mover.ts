import { and, asc, eq, getTableColumns, or, type SQL, sql } from 'drizzle-orm';
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
  movedAccounts,
  movedCredentials,
  moveNumbers,
  moves,
  PERMISSION_STATUSES,
  sessions,
  trees,
  userTokens,
  webhooks,
} from '../../db/schema';
import { SliceSize } from '../../db/slice-size';
import { LOG_SPAN } from '../../ledger/append';
import { logFailure } from '../../lib/log';
import { DAY, MINUTE } from '../../lib/time';
import { idBytes } from '../../lib/typeid';
import {
  type CopiedRow,
  deletePermissions,
  type Renumbering,
  selectRows,
  selectRowsOfPermissions,
} from './copied-rows';
import { insertCopies } from './insert-copies';
import {
  FIRST_TABLES,
  LAST_TABLES,
  LOG,
  type MovedAccount,
  type MovedTable,
  raw,
  TABLES_OF_PERMISSIONS,
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

const into = codeOf(MOVE_DIRECTIONS, 'in');
const pending = codeOf(PERMISSION_STATUSES, 'pending');
const agentErasure = codeOf(ERASURE_KINDS, 'agent');
const webhookErasure = codeOf(ERASURE_KINDS, 'webhook');

/**
 * Moves accounts from one shard to other shards. A row in `moves` on the old shard, the departure,
 * orders a move (`tools/move-account.ts` inserts it); the mover inserts a row on the new shard, the
 * arrival.
 *
 * 1. The account stays in use while {@link FIRST_TABLES} are copied, slice by slice, and then what
 *    was added to its log meanwhile, with the permissions that these entries are about. Nothing of
 *    the account is erased until the move ends.
 * 2. When a slice has reached the end of the log, the account is put on hold: a guard refuses every write
 *    (`ledger/hold.ts`), and it can only be read. The last entries and {@link LAST_TABLES} are
 *    copied.
 * 3. One transaction deletes the account from this shard and redirects its credentials to the other
 *    shard, where the account is then released. Its remaining rows here are erased like those of a
 *    deleted account.
 *
 * Safe to stop at any point and to run concurrently: each transaction that changes the account
 * takes the next numbered turn, and writes nothing if another worker took it (`turns.ts`). Deleting
 * the departure before step 3 abandons the move; the other shard then erases its copy.
 *
 * The column `step` of the arrival says how far the copy is: it counts {@link FIRST_TABLES}, then the
 * log, then {@link LAST_TABLES}. Numbers of accounts, agents and webhooks differ between shards:
 * `moved-tables.ts` describes which columns are renumbered, and `insert-copies.ts` assigns the new
 * numbers.
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
    if (departure.hasLeft) {
      await this.finish(departure, target);
      return 'continue later';
    }
    if (isDeleted) return this.abandonMove(departure, 'the account was deleted');
    const { heldAt } = departure;
    if (heldAt !== null && now - heldAt > MAX_HOLD)
      return this.abandonMove(departure, 'it was held for too long');
    const arrival = await this.findArrival(target, departure);
    if (!arrival || arrival.createdAt !== departure.createdAt) {
      if (arrival) await eraseCopy(target.database, arrival);
      if (await this.isStillErased(departure, target)) return 'wait';
      await this.reserve(departure, target, now);
      return 'continue later';
    }
    if (now - arrival.reservedAt > MAX_AGE)
      return this.abandonMove(departure, 'it began too long ago');
    const { step } = arrival;
    const [first] = FIRST_TABLES.slice(step);
    if (first) {
      await this.measure(target, () => this.copy(first, departure, target, arrival));
      return 'continue later';
    }
    if (step === FIRST_TABLES.length) {
      const limit = Math.min(this.size.rows, this.sizes.entries);
      const { isNew, isEnd } = await this.measure(target, () =>
        this.copyLog(departure, target, arrival, limit),
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
    const [last] = LAST_TABLES.slice(step - FIRST_TABLES.length - 1);
    if (last) {
      await this.measure(target, () => this.copy(last, departure, target, arrival));
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
   * Whether rows of the account from an earlier time on the other shard are still to be erased
   * there: those erasures would find the answers of its agents in the new copy.
   */
  private async isStillErased({ account, id }: Move, { database }: MoverShard): Promise<boolean> {
    const { database: source } = this.source;
    const [own] = await source.load([
      source
        .select({ id: sql<string>`hex(${agents.id})` })
        .from(agents)
        .where(eq(agents.account, account)),
    ]);
    const ids = JSON.stringify(own.map((agent) => agent.id));
    const ofAccount = and(eq(erasures.kind, 'account'), eq(erasures.subject, idBytes(id)));
    const ofAgents = and(
      eq(erasures.kind, 'agent'),
      sql`hex(${erasures.subject}) in (select value from json_each(${ids}))`,
    );
    const [left] = await database.load([
      database.select({ id: erasures.id }).from(erasures).where(or(ofAccount, ofAgents)).limit(1),
    ]);
    return left.length > 0;
  }

  /**
   * Reserves a number for the account on the other shard: the number of a row that is inserted and
   * deleted at once.
   */
  private async reserve(departure: Move, { database }: MoverShard, now: number): Promise<void> {
    const { database: source } = this.source;
    const { account } = departure;
    const [[copied]] = await source.load([
      source
        .select({ logPosition: sql<number>`log_position`, openSince: sql<number>`open_since` })
        .from(sql`(${selectBounds(account, now)})`),
    ]);
    if (!copied) return;
    const { build } = database;
    await database.run([
      build.run(sql`insert into accounts (id, email, plan, is_active, created_at, updated_at)
        values (zeroblob(16), '', 0, 0, 0, 0)`),
      build.run(sql`delete from accounts where id = zeroblob(16)`),
      build.run(sql`insert into moves (
          account, id, direction, shard, log_position, open_since, reserved_at, created_at)
        select seq, ${sql.param(departure.id, moves.id)}, ${into}, ${this.source.name},
          ${copied.logPosition}, ${copied.openSince}, ${now}, ${departure.createdAt}
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
    const query = selectRows(table, movedAccountOf(departure, arrival), arrival.after, limit);
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
   * Copies the next entries of the log, and once more the permissions that they are about.
   * @returns whether there were new entries, and whether they reach the end of the log
   */
  private async copyLog(
    departure: Move,
    { database }: MoverShard,
    arrival: Move,
    limit: number,
  ): Promise<{ isNew: boolean; isEnd: boolean }> {
    const { database: source } = this.source;
    const moving = movedAccountOf(departure, arrival);
    const [next] = await source.load([
      source
        .select({
          pos: sql<number>`pos`,
          permission: sql<string>`permission`,
          found: sql<number>`found`,
        })
        .from(sql`(${selectNextEntries(moving, limit)})`)
        .where(sql`place = 1 or characters <= ${this.sizes.characters / 2}`),
    ]);
    const last = next.at(-1);
    if (!last) return { isNew: false, isEnd: true };
    const ids = JSON.stringify([...new Set(next.map(({ permission }) => permission))]);
    const after = JSON.stringify([moving.logPosition]);
    const found = await loadCopies(source, [
      selectRows(LOG, moving, after, next.length),
      ...TABLES_OF_PERMISSIONS.map((table) => selectRowsOfPermissions(table, moving, ids)),
    ]);
    const copied = [LOG, ...TABLES_OF_PERMISSIONS].map((table, i): [MovedTable, CopiedRow[]] => [
      table,
      found[i] ?? [],
    ]);
    const renumbering = renumberingOf(departure, arrival);
    await takeTurn(database, arrival, [
      database.build.run(deletePermissions(ids, renumbering)),
      ...insertCopies(database, copied, renumbering),
      updateMove(database, arrival, { logPosition: last.pos }),
    ]);
    return { isNew: true, isEnd: next.length === last.found && last.found < limit };
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
      ...deleteAccountRows(this.source.database, departure),
      updateMove(this.source.database, departure, { heldAt: null, hasLeft: true }),
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
        ...deleteMove(target.database, arrival.account),
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
 * Deletes the rows by which an account and its credentials are found. Its other rows are erased
 * later, like those of a deleted account.
 */
function deleteAccountRows({ build }: Database, { account, id }: Move): Statement[] {
  const ownAgents = sql`(select ${agents.number} from ${agents} where ${agents.account} = ${account})`;
  return [
    build.delete(userTokens).where(eq(userTokens.account, account)),
    build.delete(sessions).where(eq(sessions.account, account)),
    build.delete(members).where(eq(members.account, account)),
    build.delete(agentKeys).where(sql`${agentKeys.agent} in ${ownAgents}`),
    build
      .insert(erasures)
      .values({ kind: 'account', account, number: account, subject: idBytes(id) }),
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
    ...deleteAccountRows(database, arrival),
    build.run(sql`insert into ${erasures} (kind, account, number)
      select iif(kind = ${codeOf(MOVED_NUMBERS, 'agent')}, ${agentErasure}, ${webhookErasure}), account, becomes
      from ${moveNumbers} where account = ${account}`),
    ...deleteMove(database, account),
  ]);
}

/**
 * Selects what bounds the first copy of an account: the position of its newest entry, and since
 * when something of it may still change: since its oldest request that waits, or event that was not
 * delivered.
 */
function selectBounds(account: number, now: number): SQL {
  const start = raw(account * LOG_SPAN);
  const end = raw((account + 1) * LOG_SPAN);
  const number = raw(account);
  return sql`
    select coalesce((select max(pos) from audit_entries where pos > ${start} and pos < ${end}), ${start})
      as log_position,
    min(
      ${now},
      coalesce((
        select created_at from permissions indexed by permissions_by_status
        where account = ${number} and status = ${pending} order by id limit 1
      ), ${now}),
      coalesce((
        select min(created_at) from permission_events indexed by permission_events_pending
        where account = ${number} and is_pending
      ), ${now}),
      coalesce((
        select created_at from audit_entries
        where pos > (select position from webhook_feeds where account = ${number}) and pos < ${end}
        order by pos limit 1
      ), ${now})
    ) as open_since`;
}

/**
 * Selects the next entries of the log, each with the number of characters that it and the contents
 * of its permission have together with those before it.
 */
function selectNextEntries({ number, logPosition }: MovedAccount, limit: number): SQL {
  return sql`
    select pos, hex(permission) as permission, row_number() over log as place, count(*) over () as found,
      sum(length(details) + coalesce(length(input), 0) + coalesce(length(preview), 0)) over log as characters
    from (
      select * from audit_entries
      where pos > ${raw(logPosition)} and pos < ${raw((number + 1) * LOG_SPAN)} order by pos limit ${raw(limit)}
    ) as entry
    left join permission_contents as contents
      on contents.account = ${raw(number)} and contents.id = entry.permission
    window log as (order by pos rows unbounded preceding)`;
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

/** Makes the statements that delete an arrival. */
function deleteMove({ build }: Database, account: number): Statement[] {
  return [
    build.delete(moveNumbers).where(eq(moveNumbers.account, account)),
    build.delete(moves).where(eq(moves.account, account)),
  ];
}

function movedAccountOf(
  { account, id }: Move,
  { logPosition, openSince, reservedAt }: Move,
): MovedAccount {
  return { number: account, id, logPosition, openSince, reservedAt };
}

function renumberingOf(departure: Move, arrival: Move): Renumbering {
  return { from: departure.account, to: arrival.account };
}

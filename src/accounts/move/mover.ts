import { and, asc, eq, getTableColumns, getTableName, type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import { type Batch, ConstraintError, type Database, type Statement } from '../../db/database';
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
  moveChanges,
  movedAccounts,
  movedCredentials,
  moveNumbers,
  moves,
  moveTurns,
  trees,
  userTokens,
} from '../../db/schema';
import { SliceSize } from '../../db/slice-size';
import { logFailure } from '../../lib/log';
import { MINUTE } from '../../lib/time';
import {
  type CopiedRow,
  deleteRows,
  insertRows,
  LAST_TABLES,
  type MovedTable,
  type NumberedKind,
  numbersIn,
  type Renumbering,
  selectRows,
  selectRowsByKey,
  TRACKED_TABLES,
} from './moved-tables';

/** A shard of this deployment. */
export interface MoverShard {
  name: string;
  database: Database;
}

type Move = typeof moves.$inferSelect;

/** The shards on which nothing else is to look for work, as it would find half of an account: of a move on a shard. */
export function heldShards(name: string, { direction, shard, heldAt, hasLeft, step }: Move): string[] {
  if (direction === 'in') return step > TRACKED_TABLES.length ? [name] : [];
  return heldAt !== null && !hasLeft ? [name, shard] : [];
}

/** A move from here, and what there is to know of its account. */
interface FoundMove {
  move: Move;
  isDeleted: boolean;
  /** Whether somebody may be writing a file of it at this moment. */
  isWritten: boolean;
}

/** How the work is cut at most: D1 answers nobody else while it reads or writes a slice. */
export interface MoveSizes {
  /** Rows that one slice copies, and characters of them. */
  rows: number;
  characters: number;
  /** Changes that one slice copies anew. */
  changes: number;
}

export const MOVE_SIZES: MoveSizes = { rows: 1_000, characters: 1_000_000, changes: 500 };

/** Characters of rows that one statement inserts: D1 takes 2 MB, and a character may be three bytes. */
const STATEMENT_CHARACTERS = 500_000;
/** A move that cannot be finished for so long while its account is held is given up, in milliseconds. */
const LONGEST_HOLD = 5 * MINUTE;

const into = codeOf(MOVE_DIRECTIONS, 'in');
const agentErasure = codeOf(ERASURE_KINDS, 'agent');
const webhookErasure = codeOf(ERASURE_KINDS, 'webhook');

/**
 * Moves accounts from one shard to others. A row in `moves` asks for it. The account lives on while it is copied, slice by
 * slice, whose size follows from how long they take; triggers note what changes meanwhile, and that is copied anew. When
 * little of that is left the account is held: requests are answered 503, triggers refuse every change. The rest is copied,
 * and in one transaction the account is gone from here and led to the other shard, where it is let go. What is left of it
 * here is erased as that of a deleted one.
 *
 * It may die at any point, and be called by several at a time: each turn counts, and nothing of a turn is written that is
 * not the next. A move whose row is deleted before the account has left is given up: what the other shard has of it is
 * erased there.
 */
export class Mover {
  private readonly size: SliceSize;

  /** @param shards all of the deployment, the one with the directory of people first */
  constructor(
    private readonly source: MoverShard,
    private readonly shards: readonly MoverShard[],
    private readonly sizes: MoveSizes = MOVE_SIZES,
  ) {
    this.size = new SliceSize(sizes.rows);
  }

  /**
   * Does a slice of the oldest move from here; once the account is held, all that is left.
   * @returns whether there may be more to do, and nobody else is doing it
   */
  moveSlice(now: number): Promise<boolean> {
    return unlessTurnIsLost(async () => {
      for (;;) {
        const found = await this.findMove(now);
        if (!found) return false;
        const outcome = await this.advance(found, now);
        if (outcome !== 'held') return outcome === 'goes on';
      }
    });
  }

  /** Erases what was copied to here in moves that were given up. */
  clearArrivals(): Promise<boolean> {
    return unlessTurnIsLost(() => this.clearEachArrival());
  }

  private async clearEachArrival(): Promise<boolean> {
    const { database } = this.source;
    const [arrivals] = await database.load([database.select().from(moves).where(eq(moves.direction, 'in'))]);
    for (const arrival of arrivals) {
      const from = this.shards.find(({ name }) => name === arrival.shard);
      if (!from) throw new Error(`${arrival.id} comes from shard ${arrival.shard}, which is not there`);
      const isThisMove = and(
        eq(moves.id, arrival.id),
        eq(moves.direction, 'out'),
        eq(moves.createdAt, arrival.createdAt),
      );
      const [[departure]] = await from.database.load([from.database.select().from(moves).where(isThisMove)]);
      if (!departure) await clearArrival(database, arrival);
    }
    return false;
  }

  private async advance({ move, isDeleted, isWritten }: FoundMove, now: number): Promise<'goes on' | 'held' | 'waits'> {
    const target = this.shards.find(({ name }) => name === move.shard && name !== this.source.name);
    if (!target) return this.giveUp(move, `there is no other shard ${move.shard}`);
    if (move.hasLeft) {
      await this.finish(move, target);
      return 'goes on';
    }
    if (isDeleted) return this.giveUp(move, 'the account was deleted');
    if (move.heldAt !== null && now - move.heldAt > LONGEST_HOLD) return this.giveUp(move, 'it was held for too long');
    const arrival = await this.findArrival(target, move);
    if (!arrival || arrival.createdAt !== move.createdAt) {
      if (arrival) await clearArrival(target.database, arrival);
      await this.reserve(move, target, now);
      return 'goes on';
    }
    const [table] = TRACKED_TABLES.slice(arrival.step);
    if (table) {
      await this.measure(target, () => this.copy(table, move, target, arrival));
      return 'goes on';
    }
    if (arrival.step === TRACKED_TABLES.length) {
      // Of an account that is held nobody else waits for the database: the sooner it is over the better.
      const limit = move.heldAt === null ? Math.min(this.size.rows, this.sizes.changes) : this.sizes.changes;
      const changes = await this.measure(target, () => this.copyChanges(move, target, arrival, limit));
      if (move.heldAt !== null) {
        if (isWritten) return 'waits';
        if (changes === 0) await this.copyLast(move, target, arrival);
        return 'held';
      }
      if (changes === limit) return 'goes on';
      await this.hold(move, now);
      return 'held';
    }
    await this.switchOver(move, target);
    return 'held';
  }

  /** Does a slice; the next one is smaller if it kept the databases busy for long. */
  private measure<R>({ database: target }: MoverShard, slice: () => Promise<R>): Promise<R> {
    const { database: source } = this.source;
    return this.size.measure(() => source.busy + target.busy, slice);
  }

  private async findMove(now: number): Promise<FoundMove | null> {
    const { database } = this.source;
    const isWritten = sql<number>`exists (
      select 1 from files where files.account = moves.account and status = ${codeOf(FILE_STATUSES, 'processing')}
        and lease is not null and due_at > ${now}
    )`.as('is_written');
    const isDeleted = sql<number>`not exists (select 1 from accounts where number = moves.account)`.as('is_deleted');
    const [[found]] = await database.load([
      database
        .select({ move: getTableColumns(moves), isDeleted, isWritten })
        .from(moves)
        .where(eq(moves.direction, 'out'))
        .orderBy(asc(moves.createdAt))
        .limit(1),
    ]);
    return found ? { move: found.move, isDeleted: found.isDeleted === 1, isWritten: found.isWritten === 1 } : null;
  }

  /** Gets the account a number on the other shard. */
  private async reserve(move: Move, { database }: MoverShard, now: number): Promise<void> {
    const { build } = database;
    await database.run([
      build.run(sql`insert into accounts (id, email, plan, is_active, created_at, updated_at)
        values (zeroblob(16), '', 0, 0, 0, 0)`),
      build.run(sql`delete from accounts where id = zeroblob(16)`),
      build.run(sql`insert into moves (account, id, direction, shard, held_at, created_at)
        select seq, ${sql.param(move.id, moves.id)}, ${into}, ${this.source.name}, ${now}, ${move.createdAt}
        from sqlite_sequence where name = 'accounts'`),
    ]);
  }

  /** Copies the next rows of a table. How far it is is written down with them. */
  private async copy(table: MovedTable, move: Move, { database }: MoverShard, arrival: Move): Promise<void> {
    const { database: source } = this.source;
    const limit = this.size.rows;
    const query = selectRows(table, ownerOf(move), arrival.after, limit);
    const [found] = await source.load([
      source
        .select({ row: sql<string>`copied_row`, key: sql<string>`copied_key`, found: sql<number>`found` })
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
    const { build } = database;
    await takeTurn(database, arrival, [
      ...insertAll(database, [[table, found]], passageOf(move, arrival)),
      build
        .update(moves)
        .set(isLast ? { step: arrival.step + 1, after: null } : { after: found.at(-1)?.key ?? null })
        .where(eq(moves.account, arrival.account)),
    ]);
  }

  /**
   * Copies anew what was changed since it was copied: so many changes at most, the oldest first.
   * @returns how many changes
   */
  private async copyChanges(move: Move, { database }: MoverShard, arrival: Move, limit: number): Promise<number> {
    const { database: source } = this.source;
    const isOwn = eq(moveChanges.account, move.account);
    const [changes] = await source.load([
      source.select().from(moveChanges).where(isOwn).orderBy(asc(moveChanges.id)).limit(limit),
    ]);
    const last = changes.at(-1);
    if (!last) return 0;
    const keysOf = (name: string) => {
      const keys = new Set(changes.filter((change) => change.name === name).map(({ key }) => key));
      return `[${[...keys].join()}]`;
    };
    const changed = TRACKED_TABLES.map((table) => ({ table, keys: keysOf(nameOf(table)) }));
    const touched = changed.filter(({ keys }) => keys !== '[]');
    const found =
      touched.length === 0
        ? []
        : ((await source.load(
            touched.map(({ table, keys }) =>
              selectCopied(source, selectRowsByKey(table, ownerOf(move), keys)),
            ) as unknown as Batch,
          )) as unknown as CopiedRow[][]);
    const passage = passageOf(move, arrival);
    const { build } = database;
    await takeTurn(database, arrival, [
      ...touched.map(({ table, keys }) => build.run(deleteRows(table, keys, passage))),
      ...insertAll(
        database,
        touched.map(({ table }, i) => [table, found[i] ?? []]),
        passage,
      ),
      ...eraseDeleted(database, keysOf('gone_agents'), keysOf('gone_webhooks'), arrival.account),
    ]);
    await source.run([source.build.delete(moveChanges).where(and(isOwn, sql`${moveChanges.id} <= ${last.id}`))]);
    return changes.length;
  }

  /** From here on nothing of the account may change. */
  private async hold(move: Move, now: number): Promise<void> {
    const { build } = this.source.database;
    await takeTurn(this.source.database, move, [
      build.update(moves).set({ heldAt: now }).where(eq(moves.account, move.account)),
    ]);
  }

  /** Copies what is copied last, all of it in one transaction. */
  private async copyLast(move: Move, { database }: MoverShard, arrival: Move): Promise<void> {
    const { database: source } = this.source;
    const found = (await source.load(
      LAST_TABLES.map((table) => selectCopied(source, selectRows(table, ownerOf(move), null))) as unknown as Batch,
    )) as unknown as CopiedRow[][];
    if (found.at(-1)?.length !== 1) throw new Error(`the account ${move.id} is not on its shard`);
    const { build } = database;
    await takeTurn(database, arrival, [
      ...insertAll(
        database,
        LAST_TABLES.map((table, i) => [table, found[i] ?? []]),
        passageOf(move, arrival),
      ),
      build
        .update(moves)
        .set({ step: arrival.step + 1 })
        .where(eq(moves.account, arrival.account)),
    ]);
  }

  /** In one transaction the account is gone from here, and its credentials lead to the other shard. */
  private async switchOver(move: Move, target: MoverShard): Promise<void> {
    const { build } = this.source.database;
    const { account, id } = move;
    const idOf = sql`${sql.param(id, accounts.id)}`;
    await takeTurn(this.source.database, move, [
      build.insert(movedAccounts).values({ id, shard: target.name }),
      build.run(sql`insert or ignore into ${movedCredentials} (hash, account)
        select hash, ${idOf} from ${userTokens} where account = ${account}
        union all select hash, ${idOf} from ${agentKeys}
        where agent in (select number from ${agents} where account = ${account})`),
      ...this.redirectPeople(this.source, move),
      ...deleteAccountRows(this.source.database, account),
      build.update(moves).set({ hasLeft: true }).where(eq(moves.account, account)),
    ]);
  }

  /** Lets the account go on the other shard, and every shard know where it is that led here. */
  private async finish(move: Move, target: MoverShard): Promise<void> {
    const others = this.shards.filter((shard) => shard !== this.source && shard !== target);
    const { build } = target.database;
    const arrival = await this.findArrival(target, move);
    if (arrival) {
      // Once it is let go it may move on: whoever comes later knows less.
      const [directory] = others.flatMap((shard) => this.redirectPeople(shard, move).map((lead) => ({ shard, lead })));
      if (directory) await directory.shard.database.run([directory.lead]);
      await takeTurn(target.database, arrival, [
        ...this.redirectPeople(target, move),
        // Where it was before it leads nowhere any more.
        build.delete(movedCredentials).where(eq(movedCredentials.account, move.id)),
        build.delete(movedAccounts).where(eq(movedAccounts.id, move.id)),
        build.delete(moves).where(eq(moves.account, arrival.account)),
      ]);
    }
    for (const { database } of others) {
      await database.run([
        database.build.update(movedAccounts).set({ shard: target.name }).where(eq(movedAccounts.id, move.id)),
      ]);
    }
    await this.source.database.run([
      this.source.database.build.delete(moves).where(and(eq(moves.account, move.account), eq(moves.hasLeft, true))),
    ]);
  }

  /** Leads people who sign in to where the account moves, if the shard has the directory of these. */
  private redirectPeople({ name, database }: MoverShard, { id, shard }: Move): Statement[] {
    if (name !== this.shards[0]?.name) return [];
    const isLedHere = and(eq(identities.account, id), eq(identities.shard, this.source.name));
    return [database.build.update(identities).set({ shard }).where(isLedHere)];
  }

  /** Lets the account live on where it is. The other shard clears away what it has of it. */
  private async giveUp(move: Move, reason: string): Promise<'goes on'> {
    logFailure('move_given_up', reason, { account: move.id });
    const { build } = this.source.database;
    await takeTurn(this.source.database, move, [build.delete(moves).where(eq(moves.account, move.account))]);
    return 'goes on';
  }

  private async findArrival({ database }: MoverShard, { id }: Move): Promise<Move | undefined> {
    const isArrival = and(eq(moves.id, id), eq(moves.direction, 'in'), eq(moves.shard, this.source.name));
    const [[arrival]] = await database.load([database.select().from(moves).where(isArrival)]);
    return arrival;
  }
}

/**
 * Changes an account on its way, if nobody did since the move was read.
 * @throws ConstraintError when somebody did: nothing is written
 */
async function takeTurn(database: Database, { account, turns }: Move, changes: Statement[]): Promise<void> {
  const { build } = database;
  await database.run([
    build.run(sql`insert into ${moveTurns} (account, turn) values (${account}, (
      select turns from ${moves} where account = ${account} and turns = ${turns}))`),
    ...changes,
    build
      .update(moves)
      .set({ turns: turns + 1 })
      .where(eq(moves.account, account)),
    build.delete(moveTurns).where(eq(moveTurns.account, account)),
  ] as unknown as Batch);
}

/**
 * Does some work until somebody else turns out to be doing the same: a turn that was read is taken, or the account has a
 * number on the other shard already.
 * @returns what it answers; false where it is left to somebody else
 */
async function unlessTurnIsLost(work: () => Promise<boolean>): Promise<boolean> {
  try {
    return await work();
  } catch (error) {
    const isLost = error instanceof ConstraintError && ['move_turns.turn', 'moves.id'].includes(error.subject);
    if (isLost) return false;
    throw error;
  }
}

/** Forgets an account on a shard, but for what the sweep erases in its time, as of a deleted one. */
function deleteAccountRows({ build }: Database, account: number): Statement[] {
  return [
    build.insert(erasures).values({ kind: 'account', number: account }),
    build.delete(files).where(eq(files.account, account)),
    build.delete(trees).where(eq(trees.account, account)),
    build.delete(accounts).where(eq(accounts.number, account)),
  ];
}

/** Erases what was copied of an account whose move was given up. */
async function clearArrival(database: Database, arrival: Move): Promise<void> {
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

/** Erases what goes with agents and webhooks that were deleted: keys as `move_changes` has them, as a JSON array each. */
function eraseDeleted({ build }: Database, agentsGone: string, webhooksGone: string, account: number): Statement[] {
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
  return [...(isNone(agentsGone) ? [] : ofAgents), ...(isNone(webhooksGone) ? [] : ofWebhooks)].map((statement) =>
    build.run(statement),
  );
}

/** Inserts rows, and gives new numbers to the agents and webhooks of which they tell. */
function insertAll(database: Database, copied: [MovedTable, CopiedRow[]][], passage: Renumbering): Statement[] {
  const { build } = database;
  const all = copied.map(([table, rows]) => [table, rows.map(({ row }) => row)] as const);
  const numbers = MOVED_NUMBERS.flatMap((kind) => {
    const found = new Set(all.flatMap(([table, rows]) => numbersIn(table, rows, kind)));
    return found.size === 0 ? [] : assignNumbers(database, kind, [...found], passage.to);
  });
  const inserts = all.flatMap(([table, rows]) =>
    chunk(rows).map((part) => build.run(insertRows(table, part, passage))),
  );
  return [...numbers, ...inserts];
}

/** Gives new numbers to agents or webhooks that have none yet. Taken ones are never given again, as with those made here. */
function assignNumbers({ build }: Database, kind: NumberedKind, numbers: number[], account: number): Statement[] {
  const code = codeOf(MOVED_NUMBERS, kind);
  const table = sql.raw(`${kind}s`);
  const last = sql`coalesce((select seq from sqlite_sequence where name = ${`${kind}s`}), 0)`;
  const further: Record<NumberedKind, SQL> = {
    agent: sql`(number, account, id, name, key_prefix, metadata, is_active, created_at, updated_at)
      select becomes, 0, zeroblob(16), '', '', '{}', 0, 0, 0`,
    webhook: sql`(number, account, id, url, events, is_active, secret, starts_after, created_at, updated_at)
      select becomes, 0, zeroblob(16), '', '[]', 0, x'', 0, 0, 0`,
  };
  return [
    sql`insert into ${moveNumbers} (account, kind, number, becomes)
      select ${account}, ${code}, value, ${last} + row_number() over (order by value)
      from json_each(${JSON.stringify(numbers)})
      where value not in (select number from ${moveNumbers} where account = ${account} and kind = ${code})`,
    sql`insert into ${table} ${further[kind]}
      from ${moveNumbers} where account = ${account} and kind = ${code} and becomes > ${last}
      order by becomes desc limit 1`,
    sql`delete from ${table} where account = 0`,
  ].map((statement) => build.run(statement));
}

function selectCopied(source: Database, query: SQL) {
  return source.select({ row: sql<string>`copied_row`, key: sql<string>`copied_key` }).from(sql`(${query})`);
}

function nameOf({ table }: MovedTable): string {
  return getTableName(table);
}

function ownerOf({ account, id }: Move) {
  return { number: account, id };
}

function passageOf(move: Move, arrival: Move): Renumbering {
  return { from: move.account, to: arrival.account };
}

/** JSON arrays of some rows each, which a statement can take. */
function chunk(rows: readonly string[]): string[] {
  const chunks: string[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const row of rows) {
    if (size + row.length > STATEMENT_CHARACTERS) {
      chunks.push([]);
      size = 0;
    }
    chunks.at(-1)?.push(row);
    size += row.length;
  }
  return chunks.map((chunk) => `[${chunk.join()}]`);
}

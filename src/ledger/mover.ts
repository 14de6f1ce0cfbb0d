import { and, asc, eq, lte, sql } from 'drizzle-orm';
import { codeOf } from '../db/columns';
import type { Batch, Database, Statement } from '../db/database';
import {
  accounts,
  agentKeys,
  agents,
  identities,
  MOVE_DIRECTIONS,
  movedAccounts,
  movedCredentials,
  moves,
  moveTurns,
  userTokens,
} from '../db/schema';
import { MINUTE } from '../lib/time';
import { findRest, insertRows, MOVED_TABLES, type MovedAccount, selectRows } from './moved-tables';

/** A shard of this deployment. */
export interface MoverShard {
  name: string;
  database: Database;
}

type Move = typeof moves.$inferSelect;

/** Rows that one slice copies, and characters of them that one statement inserts. */
const ROWS = 200;
const MAX_CHARACTERS = 500_000;
/** Rows of one table that one statement deletes. */
const ERASED_ROWS = 200;
/** Who began with the account before it was held is done with it after so long, in milliseconds. */
const SETTLING = MINUTE;

const into = codeOf(MOVE_DIRECTIONS, 'in');

/**
 * Moves accounts from one shard to others, slice by slice. A row in `moves` asks for it, and holds the account from then
 * on: requests are answered 503, triggers refuse every change. It is copied, and in one transaction gone from here and
 * led to the other shard, where it is let go; then what is left of it here is erased. May die at any point, and be
 * called by several at a time: each turn counts, and nothing of a turn is written that is not the next.
 */
export class Mover {
  /** @param shards all of the deployment, the one with the directory of people first */
  constructor(
    private readonly source: MoverShard,
    private readonly shards: readonly MoverShard[],
  ) {}

  /**
   * Does a slice of the oldest move from here.
   * @returns whether there may be more
   */
  async moveSlice(now: number): Promise<boolean> {
    const { database } = this.source;
    const isDue = and(eq(moves.direction, 'out'), lte(moves.createdAt, now - SETTLING));
    const [[move]] = await database.load([
      database.select().from(moves).where(isDue).orderBy(asc(moves.createdAt)).limit(1),
    ]);
    if (!move) return false;
    const target = this.shards.find(({ name }) => name === move.shard);
    if (!target || target.name === this.source.name) throw new Error(`${move.id} cannot move to shard ${move.shard}`);
    if (move.hasLeft) return this.leave(move, target);
    const arrival = (await this.findArrival(target, move)) ?? (await this.reserve(move, target, now));
    await (arrival.step < MOVED_TABLES.length ? this.copy(move, target, arrival) : this.switchOver(move, target));
    return true;
  }

  /** Takes numbers on the other shard: one for the account, and a range for its agents and webhooks each. */
  private async reserve(move: Move, { database }: MoverShard, now: number): Promise<Move> {
    const { database: source, name } = this.source;
    const [[taken]] = await source.load([
      source.select({ agents: lastNumber('agents'), webhooks: lastNumber('webhooks') }).from(sql`(select 1)`),
    ]);
    const { build } = database;
    const id = sql`${sql.param(move.id, moves.id)}`;
    const arrival = sql`(select * from ${moves} where ${moves.id} = ${id}) as arrival`;
    await database.run([
      build.run(sql`insert into accounts (id, email, plan, is_active, created_at, updated_at)
        values (zeroblob(16), '', 0, 0, 0, 0)`),
      build.run(sql`delete from accounts where id = zeroblob(16)`),
      build.run(sql`insert into moves (account, id, direction, shard, agent_offset, webhook_offset, created_at)
        select seq, ${id}, ${into}, ${name}, coalesce((select seq from sqlite_sequence where name = 'agents'), 0),
          coalesce((select seq from sqlite_sequence where name = 'webhooks'), 0), ${now}
        from sqlite_sequence where name = 'accounts'`),
      build.run(sql`insert into agents
        (number, account, id, name, key_prefix, metadata, is_active, created_at, updated_at)
        select agent_offset + ${raw((taken?.agents ?? 0) + 1)}, 0, id, '', '', '{}', 0, 0, 0 from ${arrival}`),
      build.run(sql`delete from agents where account = 0`),
      build.run(sql`insert into webhooks
        (number, account, id, url, events, is_active, secret, starts_after, created_at, updated_at)
        select webhook_offset + ${raw((taken?.webhooks ?? 0) + 1)}, 0, id, '', '[]', 0, x'', 0, 0, 0 from ${arrival}`),
      build.run(sql`delete from webhooks where account = 0`),
    ]);
    const reserved = await this.findArrival({ database }, move);
    if (!reserved) throw new Error(`no number was taken for ${move.id}`);
    return reserved;
  }

  /** Copies the next rows. How far it is is written down with them. */
  private async copy(move: Move, { database }: MoverShard, arrival: Move): Promise<void> {
    const { database: source } = this.source;
    const { build } = database;
    const table = MOVED_TABLES[arrival.step] as (typeof MOVED_TABLES)[number];
    const { agentOffset: agent, webhookOffset: webhook } = arrival;
    const shifts = { account: arrival.account - move.account, agent, webhook };
    const query = selectRows(table, ownerOf(move), arrival.after, shifts, ROWS);
    const [rows] = await source.load([
      source.select({ row: sql<string>`copied_row`, key: sql<string>`copied_key` }).from(sql`(${query})`),
    ]);
    const isLast = rows.length < ROWS;
    const progress = isLast ? { step: arrival.step + 1, after: null } : { after: rows.at(-1)?.key ?? null };
    const isAccount = table.table === accounts;
    if (isAccount && rows.length !== 1) throw new Error(`the account ${move.id} is not on its shard`);
    await takeTurn(database, arrival, [
      // Where it was before it leads nowhere any more.
      ...(isAccount
        ? [
            build.delete(movedCredentials).where(eq(movedCredentials.account, move.id)),
            build.delete(movedAccounts).where(eq(movedAccounts.id, move.id)),
          ]
        : []),
      ...chunk(rows.map(({ row }) => row)).map((part) => build.run(insertRows(table, part))),
      build.update(moves).set(progress).where(eq(moves.account, arrival.account)),
    ]);
  }

  /** In one transaction the account is gone from here, and its credentials lead to the other shard. */
  private async switchOver(move: Move, target: MoverShard): Promise<void> {
    const { build } = this.source.database;
    const { account, id } = move;
    const idOf = sql`${sql.param(id, accounts.id)}`;
    const people = build.update(identities).set({ shard: target.name }).where(eq(identities.account, id));
    await takeTurn(this.source.database, move, [
      build.delete(accounts).where(eq(accounts.number, account)),
      build.insert(movedAccounts).values({ id, shard: target.name }),
      build.run(sql`insert or ignore into ${movedCredentials} (hash, account)
        select hash, ${idOf} from ${userTokens} where account = ${account}
        union all select hash, ${idOf} from ${agentKeys}
        where agent in (select number from ${agents} where account = ${account})`),
      ...(this.hasDirectory(this.source) ? [people] : []),
      build.update(moves).set({ hasLeft: true }).where(eq(moves.account, account)),
    ]);
  }

  /** Lets every shard know where the account is, lets it go there, and erases a slice of what is left of it here. */
  private async leave(move: Move, target: MoverShard): Promise<boolean> {
    if (await this.findArrival(target, move)) {
      await this.redirect(move, target);
      await target.database.run([
        target.database.build.delete(moves).where(and(eq(moves.id, move.id), isArrivalFrom(this.source))),
      ]);
    }
    const { build } = this.source.database;
    const table = MOVED_TABLES.at(-1 - move.step);
    if (!table) {
      const isOver = and(eq(moves.account, move.account), eq(moves.direction, 'out'), eq(moves.hasLeft, true));
      await this.source.database.run([build.delete(moves).where(isOver)]);
      return true;
    }
    const rest = findRest(table, ownerOf(move));
    await takeTurn(this.source.database, move, [
      ...(rest ? [build.run(sql`delete ${rest.some(ERASED_ROWS)}`)] : []),
      build
        .update(moves)
        .set({ step: rest ? sql`${moves.step} + not exists (select 1 ${rest.all})` : move.step + 1 })
        .where(eq(moves.account, move.account)),
    ]);
    return true;
  }

  /** Tells every shard on which the account was before, and the directory of people. */
  private async redirect({ id }: Move, { name }: MoverShard): Promise<void> {
    for (const shard of this.shards) {
      if (shard === this.source) continue;
      const { build } = shard.database;
      await shard.database.run([
        build.update(movedAccounts).set({ shard: name }).where(eq(movedAccounts.id, id)),
        ...(this.hasDirectory(shard)
          ? [build.update(identities).set({ shard: name }).where(eq(identities.account, id))]
          : []),
      ]);
    }
  }

  private async findArrival({ database }: Pick<MoverShard, 'database'>, { id }: Move): Promise<Move | undefined> {
    const [[arrival]] = await database.load([
      database
        .select()
        .from(moves)
        .where(and(eq(moves.id, id), isArrivalFrom(this.source))),
    ]);
    return arrival;
  }

  private hasDirectory({ name }: MoverShard): boolean {
    return name === this.shards[0]?.name;
  }
}

/** The highest number that a table ever gave; null where it gave none. */
function lastNumber(table: 'agents' | 'webhooks') {
  return sql<number | null>`(select seq from sqlite_sequence where name = ${table})`.as(`last_of_${table}`);
}

/**
 * Changes a held account, if nobody did since the move was read.
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

function isArrivalFrom({ name }: MoverShard) {
  return and(eq(moves.direction, 'in'), eq(moves.shard, name));
}

/** A number as part of the statement: bound ones are REAL. */
function raw(number: number) {
  return sql.raw(String(number));
}

function ownerOf({ account, id }: Move): MovedAccount {
  return { number: account, id };
}

/** JSON arrays of some rows each, which a statement can take. */
function chunk(rows: string[]): string[] {
  const chunks: string[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const row of rows) {
    if (size + row.length > MAX_CHARACTERS) {
      chunks.push([]);
      size = 0;
    }
    chunks.at(-1)?.push(row);
    size += row.length;
  }
  return chunks.map((chunk) => `[${chunk.join()}]`);
}

import { and, eq, type SQL, sql } from 'drizzle-orm';
import { codeOf, numberList } from '../db/columns';
import type { Database } from '../db/database';
import { mergeSorted } from '../db/merge-sorted';
import {
  agentStatistics,
  auditEntries,
  connectionReads,
  deliveries,
  ERASURE_KINDS,
  ERASURE_REASONS,
  erasures,
  permissions,
  storedAnswers,
} from '../db/schema';
import { SliceSize } from '../db/slice-size';
import { STORED_EVENTS } from '../db/stored-events';
import { LOG_SPAN, LOG_SPAN_SQL } from '../ledger/append';
import { isNotMoving, movingGuard } from '../ledger/hold';
import { formatHexId } from '../lib/typeid';
import { deleteRows, hasNoRow } from './delete-rows';
import { rangesOf, type SignErasure } from './erasure-record';
import { runErasure } from './run-erasure';

/**
 * Maximum permissions, statistics or deliveries that one statement deletes: D1 answers nothing else
 * meanwhile.
 */
export const DELETE_LIMIT = 200;

/** Maximum stored answers that one statement deletes: fewer, because each may be large. */
export const STORED_ANSWER_LIMIT = 100;

/** Agents that one slice looks at, so that many small ones are erased together. */
const AGENTS = 50;

/** A deleted agent whose data is still there, and the entries of it to erase next. */
interface DeletedAgent {
  /** The id of its row in `erasures`. */
  id: number;
  number: number;
  /**
   * The account's id in hexadecimal; null if the account is deleted too, or the agent has no
   * entries.
   */
  account: string | null;
  /** Positions in the log (account number × 2³² + sequence), in ascending order. */
  entries: number[];
}

/**
 * The signed record of the entries that a slice erases in one account: the column values of a row.
 */
type RecordValues = [lastPosition: number, account: number, ranges: string, note: string];

/**
 * Erases the permissions, audit entries, statistics, counted reads, deliveries and stored answers
 * of deleted agents, slice by slice.
 *
 * An entry is erased only after it has been sealed into the log's Merkle tree, which keeps its
 * hash: nobody can hide the gap that it leaves. The logs of deleted accounts are never sealed
 * again, so their entries do not wait.
 *
 * A permission is erased with the first of its entries, so it waits as well, unless it is pending.
 * One that has outlived its entries is found by `erase_at`.
 */
export class AgentErasure {
  /**
   * The id of the last agent in a slice without anything to erase. Later slices skip it and all
   * before it in order.
   */
  private lastIdle: number | null = null;

  private readonly size = new SliceSize();

  /**
   * @param first the order: two erasures work from both ends, so that small agents do not wait for
   *   a large one
   */
  constructor(
    private readonly database: Database,
    private readonly sign: SignErasure,
    private readonly clock: () => number,
    private readonly first: 'oldest' | 'newest',
  ) {}

  /**
   * Erases a slice. Safe to stop at any point, to repeat, and to run concurrently.
   * @returns whether there may be more to erase
   */
  async eraseSlice(): Promise<boolean> {
    const next = await this.findNext();
    const last = next.at(-1);
    if (!last) return false;
    const now = this.clock();
    const records = await this.signRecords(next, now);
    const results = await this.size.measure(this.clock, () => this.erase(next, records, now));
    if (results.some(({ meta }) => meta.changes > 0)) return true;
    this.lastIdle = last.id;
    return next.length === AGENTS;
  }

  /**
   * Finds the next agents, and shares the slice out evenly among those that have sealed entries.
   */
  private async findNext(): Promise<DeletedAgent[]> {
    const [order, after] = this.first === 'oldest' ? [sql`asc`, sql`>`] : [sql`desc`, sql`<`];
    const beyond = this.lastIdle === null ? sql`` : sql`and id ${after} ${this.lastIdle}`;
    const events = STORED_EVENTS.keys().toArray();
    const [next] = await this.database.load([
      this.database
        .select({
          id: sql<number>`id`,
          number: sql<number>`number`,
          account: sql<string | null>`account`,
          entries: sql`entries`.mapWith((text: string) => JSON.parse(text) as number[]),
        })
        .from(sql`(
          with gone as materialized (
            select id, number, (
              select pos / ${LOG_SPAN_SQL} from audit_entries indexed by audit_by_agent where agent = number limit 1
            ) as account
            from erasures where kind = ${codeOf(ERASURE_KINDS, 'agent')} and ${isNotMoving(sql`erasures.account`)} ${beyond}
            order by id ${order} limit ${AGENTS}
          ),
          bounded as (
            select id, number, account * ${LOG_SPAN_SQL} + iif(
              exists (select 1 from accounts where accounts.number = gone.account),
              coalesce((select size from trees where trees.account = gone.account), 0), ${LOG_SPAN_SQL}
            ) as sealed
            from gone
          ),
          open as materialized (
            select * from bounded where exists (
              select 1 from audit_entries indexed by audit_by_agent
              where agent = number and event in (${sql.raw(events.join())}) and pos <= sealed
            )
          )
          select gone.id, gone.number, (select hex(id) from accounts where accounts.number = gone.account) as account, (
            select json_group_array(pos) from (
              select pos from (${mergeSorted(events.map(sealedEntries), 'pos', 'asc')})
              limit max(1, ${sql.raw(String(this.size.rows))} / (select max(1, count(*)) from open))
            )
          ) as entries
          from gone left join open on open.id = gone.id order by gone.id ${order}
        )`),
    ]);
    return next;
  }

  /**
   * Signs one record for each account with entries to erase. Erasures of deleted accounts are not
   * recorded.
   */
  private async signRecords(next: DeletedAgent[], erasedAt: number): Promise<RecordValues[]> {
    const records = [...Map.groupBy(next, ({ account }) => account)].map(
      async ([id, agents]): Promise<RecordValues[]> => {
        const positions = agents.flatMap(({ entries }) => entries).sort((a, b) => a - b);
        const last = positions.at(-1);
        if (id === null || last === undefined) return [];
        const account = Math.floor(last / LOG_SPAN);
        const ranges = rangesOf(positions.map((position) => position - account * LOG_SPAN));
        const note = await this.sign({
          account: formatHexId('user', id),
          reason: 'agent_deleted',
          ranges,
          erasedAt,
        });
        return [[last, account, JSON.stringify(ranges), note]];
      },
    );
    return (await Promise.all(records)).flat();
  }

  private erase(next: DeletedAgent[], records: RecordValues[], now: number) {
    const positions = next.flatMap(({ entries }) => entries);
    // Other rows are deleted when the slice has room for them, and at once for agents without
    // entries to erase now.
    const rest =
      positions.length < this.size.rows / 2
        ? next
        : next.filter(({ entries }) => entries.length === 0);
    const statements = [
      ...(positions.length > 0 ? this.eraseEntries(positions, records, now) : []),
      this.erasePendingRequests(next),
      ...(rest.length > 0 ? this.eraseOtherRows(rest) : []),
    ];
    const ids = numberList(next.map(({ id }) => id));
    const accounts = sql`(select ${erasures.account} from ${erasures} where ${erasures.id} in ${ids})`;
    return runErasure(this.database, statements, movingGuard(accounts));
  }

  private eraseEntries(positions: number[], records: RecordValues[], now: number) {
    // The signed records name all of these entries. If one was erased meanwhile, none is deleted.
    const entries = sql`(
      select value from json_each(${JSON.stringify(positions)})
      where ${positions.length} = (
        select count(*) from json_each(${JSON.stringify(positions)}) as given
        cross join audit_entries not indexed where pos = given.value
      ))`;
    const { build } = this.database;
    return [
      // New entries continue after the erased ones: no sequence is used twice, and time never
      // decreases.
      build.run(sql`
        update accounts set
          erased_sequence = max(erased_sequence, last.pos - number * ${LOG_SPAN_SQL}),
          erased_at = max(erased_at, last.created_at)
        from (
          select pos / ${LOG_SPAN_SQL} as account, max(pos) as pos, max(created_at) as created_at
          from audit_entries where pos in ${entries} group by pos / ${LOG_SPAN_SQL}
        ) as last
        where number = last.account`),
      build.run(insertErasureRecords(entries, records, now)),
      build.delete(permissions).where(isOfEntries(entries)),
      build.delete(auditEntries).where(sql`${auditEntries.pos} in ${entries}`),
    ];
  }

  /**
   * Pending requests do not wait for their entries: until they are erased they count against the
   * account's quota.
   */
  private erasePendingRequests(next: DeletedAgent[]) {
    const gone = numberList(next.map(({ number }) => number));
    // The literal lets SQLite use a partial index.
    const isPending = sql`${permissions.agent} in ${gone} and ${permissions.status} = 0`;
    return this.database.build.run(
      deleteRows(permissions, {
        where: isPending,
        limit: DELETE_LIMIT,
        index: 'permissions_pending_by_agent',
      }),
    );
  }

  private eraseOtherRows(next: DeletedAgent[]) {
    const gone = numberList(next.map(({ number }) => number));
    const deletions = numberList(next.map(({ id }) => id));
    const limit = DELETE_LIMIT;
    const isAnswer = sql`${storedAnswers.subject} in (
      select ${erasures.subject} from ${erasures} where ${erasures.id} in ${deletions}
    )`;
    const { build } = this.database;
    return [
      build.run(
        deleteRows(permissions, {
          where: sql`${permissions.agent} in ${gone} and ${permissions.eraseAt} is not null`,
          limit,
          index: 'permissions_to_erase_by_agent',
        }),
      ),
      build.run(
        deleteRows(agentStatistics, { where: sql`${agentStatistics.agent} in ${gone}`, limit }),
      ),
      build.run(
        deleteRows(connectionReads, {
          where: sql`(account, connection, agent, day) in (
            select counted.account, counted.connection, counted.agent, counted.day
            from ${erasures} cross join ${countedReads} and ${erasures.id} in ${deletions})`,
          limit,
        }),
      ),
      build.run(
        deleteRows(deliveries, {
          where: sql`${deliveries.agent} in ${gone}`,
          limit,
          index: 'deliveries_by_agent',
        }),
      ),
      build.run(
        deleteRows(storedAnswers, {
          where: isAnswer,
          limit: STORED_ANSWER_LIMIT,
          index: 'stored_answers_by_subject',
        }),
      ),
      build
        .delete(erasures)
        .where(
          and(
            sql`${erasures.id} in ${deletions}`,
            hasNoRow(deliveries, eq(deliveries.agent, erasures.number), 'deliveries_by_agent'),
            hasNoRow(
              storedAnswers,
              eq(storedAnswers.subject, erasures.subject),
              'stored_answers_by_subject',
            ),
            hasNoRow(auditEntries, eq(auditEntries.agent, erasures.number), 'audit_by_agent'),
            hasNoRow(
              permissions,
              sql`${permissions.agent} = ${erasures.number} and ${permissions.eraseAt} is not null`,
              'permissions_to_erase_by_agent',
            ),
            hasNoRow(
              permissions,
              sql`${permissions.agent} = ${erasures.number} and ${permissions.status} = 0`,
              'permissions_pending_by_agent',
            ),
            hasNoRow(agentStatistics, eq(agentStatistics.agent, erasures.number)),
            sql`not exists (select 1 from ${countedReads})`,
          ),
        ),
    ];
  }
}

/**
 * The tables and the condition that find the reads that the connections of an account counted for
 * the agent in the row `erasures`. Those of a deleted connection are erased with it.
 */
const countedReads = sql`connections as used cross join connection_reads as counted
  where used.account = erasures.account and counted.account = used.account
    and counted.connection = used.id and counted.agent = erasures.number`;

/** The sealed entries of one event type of an agent, in order, as SQL. */
function sealedEntries(event: number): SQL {
  return sql`select pos from audit_entries indexed by audit_by_agent
    where agent = open.number and event = ${sql.raw(String(event))} and pos <= open.sealed`;
}

/** Whether the row of `permissions` is that of one of the entries. */
function isOfEntries(entries: SQL): SQL {
  return sql`(${permissions.account}, ${permissions.id}) in (
    select entry.pos / ${LOG_SPAN_SQL}, entry.permission from audit_entries as entry not indexed
    where entry.pos in ${entries})`;
}

/**
 * Inserts the records of the entries, which must still be there; none for an account that was
 * deleted meanwhile.
 */
function insertErasureRecords(entries: SQL, records: RecordValues[], now: number): SQL {
  return sql`
    insert into erased_entries (id, account, reason, ranges, erased_at, note)
    select value ->> 0, value ->> 1, ${codeOf(ERASURE_REASONS, 'agent_deleted')}, value ->> 2, ${now}, value ->> 3
    from json_each(${JSON.stringify(records)})
    where value ->> 0 in ${entries} and value ->> 1 in (select number from accounts)`;
}

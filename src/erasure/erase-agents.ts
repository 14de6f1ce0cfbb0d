import { type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../db/columns';
import type { Batch, Database } from '../db/database';
import { mergeSorted } from '../db/merge';
import { ERASURE_KINDS, ERASURE_REASONS, EVENT_TYPES } from '../db/schema';
import { SliceSize } from '../db/slice-size';
import { LOG_SPAN } from '../ledger/append';
import { STORED_ANSWER_SLICE } from '../ledger/stored-answer';
import { formatHexId } from '../lib/typeid';
import { rangesOf, type SequenceRanges, type SignErasure } from './erasure-record';

/** Rows of one table that one statement deletes: D1 answers nobody else meanwhile. */
export const SLICE = 200;

/** Agents that one slice looks at: many small ones go together. */
const AGENTS = 50;

const span = sql.raw(String(LOG_SPAN));
const agentKind = codeOf(ERASURE_KINDS, 'agent');

/** A deleted agent that waits to be erased, and which of its entries go next. */
interface Gone {
  /** Of the record of its deletion. */
  id: number;
  number: number;
  /** Of the account, in hexadecimal; null where it is deleted as well, or nothing is in its log. */
  account: string | null;
  /** Positions, as a JSON array. */
  entries: string;
}

/** What is erased of one account, as it is recorded. */
interface ErasureRecord {
  account: number;
  /** The position of the last entry that is erased. */
  last: number;
  ranges: SequenceRanges;
  note: string;
}

/**
 * Erases the permissions, audit entries, statistics, deliveries and stored answers of deleted agents, slice by slice. Of
 * the entries those that are sealed: the others wait for it, but for those of deleted accounts, which never will be.
 */
export class AgentErasure {
  /** The deletion up to which there was nothing to do at present. */
  private passed: number | null = null;

  private readonly size = new SliceSize();

  /** @param first which deletions to begin with: from both ends, so that a large history holds up no small one */
  constructor(
    private readonly database: Database,
    private readonly sign: SignErasure,
    private readonly clock: () => number,
    private readonly first: 'oldest' | 'newest',
  ) {}

  /**
   * Erases a slice. May be stopped and called again at any point, and by several at a time.
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
    this.passed = last.id;
    return next.length === AGENTS;
  }

  /** The agents whose turn it is, and a share of the slice for each of those that have sealed entries. */
  private async findNext(): Promise<Gone[]> {
    const order = this.first === 'oldest' ? sql`asc` : sql`desc`;
    const beyond =
      this.passed === null ? sql`` : sql`and id ${this.first === 'oldest' ? sql`>` : sql`<`} ${this.passed}`;
    const events = EVENT_TYPES.keys().toArray();
    const [next] = await this.database.load([
      this.database
        .select({
          id: sql<number>`id`,
          number: sql<number>`number`,
          account: sql<string | null>`account`,
          entries: sql<string>`entries`,
        })
        .from(sql`(
          with gone as materialized (
            select id, number, (
              select pos / ${span} from audit_entries indexed by audit_by_agent where agent = number limit 1
            ) as account
            from erasures where kind = ${agentKind} ${beyond} order by id ${order} limit ${AGENTS}
          ),
          bounded as (
            select id, number, account * ${span} + iif(
              exists (select 1 from accounts where accounts.number = gone.account),
              coalesce((select size from trees where trees.account = gone.account), 0), ${span}
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
              select pos from (${mergeSorted(events.map(entriesOfOpen), 'pos', 'asc')})
              limit max(1, ${sql.raw(String(this.size.rows))} / (select max(1, count(*)) from open))
            )
          ) as entries
          from gone left join open on open.id = gone.id order by gone.id ${order}
        )`),
    ]);
    return next;
  }

  /** What the slice erases, by account; of deleted accounts nothing is recorded. */
  private async signRecords(next: Gone[], erasedAt: number): Promise<ErasureRecord[]> {
    const owners = new Map<string, number[]>();
    for (const { account, entries } of next) {
      const positions = JSON.parse(entries) as number[];
      if (account === null || positions.length === 0) continue;
      owners.set(account, [...(owners.get(account) ?? []), ...positions]);
    }
    const records = [...owners].map(async ([id, positions]) => {
      const sorted = positions.toSorted((a, b) => a - b);
      const last = sorted.at(-1) as number;
      const account = Math.floor(last / LOG_SPAN);
      const ranges = rangesOf(sorted.map((position) => position - account * LOG_SPAN));
      const erased = { account: formatHexId('user', id), reason: 'agent_deleted', ranges, erasedAt } as const;
      return { account, last, ranges, note: await this.sign(erased) };
    });
    return Promise.all(records);
  }

  private erase(next: Gone[], records: ErasureRecord[], now: number) {
    const positions = next.flatMap(({ entries }) => JSON.parse(entries) as number[]);
    // The rest goes when there is room for it, and at once where there are no entries: nobody waits for a larger one.
    const rest = positions.length < this.size.rows / 2 ? next : next.filter(({ entries }) => entries === '[]');
    return this.database.run([
      ...(positions.length > 0 ? this.eraseEntries(positions, records, now) : []),
      ...(rest.length > 0 ? this.eraseRest(rest) : []),
    ] as unknown as Batch) as Promise<readonly unknown[]> as Promise<readonly D1Result[]>;
  }

  private eraseEntries(positions: number[], records: ErasureRecord[], now: number) {
    // The records are signed: they hold for all of these entries, or for none.
    const entries = sql`(
      select value from json_each(${JSON.stringify(positions)})
      where ${positions.length} = (
        select count(*) from json_each(${JSON.stringify(positions)}) as given
        cross join audit_entries not indexed where pos = given.value
      ))`;
    const { build } = this.database;
    return [
      // The log goes on after what was erased: sequences are never used twice, and time never runs backwards.
      build.run(sql`
        update accounts set
          erased_sequence = max(erased_sequence, last.pos - number * ${span}),
          erased_at = max(erased_at, last.created_at)
        from (
          select pos / ${span} as account, max(pos) as pos, max(created_at) as created_at
          from audit_entries where pos in ${entries} group by pos / ${span}
        ) as last
        where number = last.account`),
      build.run(recordErasure(entries, records, now)),
      build.run(sql`delete from audit_entries where pos in ${entries}`),
    ];
  }

  private eraseRest(next: Gone[]) {
    const gone = listOf(next.map(({ number }) => number));
    const deletions = listOf(next.map(({ id }) => id));
    const answers = sql`
      select principal, key from stored_answers indexed by stored_answers_by_subject
      where subject in (select subject from erasures where id in ${deletions}) limit ${STORED_ANSWER_SLICE}`;
    const { build } = this.database;
    return [
      build.run(sql`delete from permissions where (account, id) in (
        select account, id from permissions indexed by permissions_by_agent where agent in ${gone} limit ${SLICE})`),
      build.run(sql`delete from agent_statistics where (agent, unit, bucket) in (
        select agent, unit, bucket from agent_statistics where agent in ${gone} limit ${SLICE})`),
      build.run(sql`delete from deliveries where (webhook, id) in (
        select webhook, id from deliveries indexed by deliveries_by_agent where agent in ${gone} limit ${SLICE})`),
      build.run(sql`delete from pending_permissions where agent in ${gone}`),
      build.run(sql`delete from stored_answers where (principal, key) in (${answers})`),
      build.run(sql`delete from erasures where id in ${deletions}
        and not exists (select 1 from deliveries indexed by deliveries_by_agent where agent = erasures.number)
        and not exists (select 1 from stored_answers indexed by stored_answers_by_subject where subject = erasures.subject)
        and not exists (select 1 from audit_entries indexed by audit_by_agent where agent = erasures.number)
        and not exists (select 1 from permissions indexed by permissions_by_agent where agent = erasures.number)
        and not exists (select 1 from agent_statistics where agent = erasures.number)`),
    ];
  }
}

/** Entries of one type of an agent that are sealed, in order. */
function entriesOfOpen(event: number): SQL {
  return sql`select pos from audit_entries indexed by audit_by_agent
    where agent = open.number and event = ${sql.raw(String(event))} and pos <= open.sealed`;
}

/** Records which places of their accounts' logs entries leave empty that are about to be erased. */
function recordErasure(entries: SQL, records: ErasureRecord[], now: number): SQL {
  const rows = records.map(({ account, last, ranges, note }) => [last, account, JSON.stringify(ranges), note]);
  return sql`
    insert into erased_entries (id, account, reason, ranges, erased_at, note)
    select value ->> 0, value ->> 1, ${codeOf(ERASURE_REASONS, 'agent_deleted')}, value ->> 2, ${now}, value ->> 3
    from json_each(${JSON.stringify(rows)})
    where value ->> 0 in ${entries} and value ->> 1 in (select number from accounts)`;
}

/** Numbers as SQL, however many. */
export function listOf(numbers: number[]): SQL {
  return sql`(select value from json_each(${JSON.stringify(numbers)}))`;
}

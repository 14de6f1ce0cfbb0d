import { type SQL, sql } from 'drizzle-orm';
import { codeOf, numberList } from '../db/columns';
import type { Database } from '../db/database';
import { ERASURE_REASONS, FILE_STATUSES, PERMISSION_STATUSES } from '../db/schema';
import { SliceSize } from '../db/slice-size';
import { LOG_SPAN, LOG_SPAN_SQL } from '../ledger/append';
import { isNotMoving, movingGuard } from '../ledger/hold';
import { retentionPeriod } from '../ledger/marks';
import { HOUR, MINUTE } from '../lib/time';
import { formatHexId } from '../lib/typeid';
import { hasEnded } from './erase-permissions';
import type { SignErasure } from './erasure-record';
import { runErasure } from './run-erasure';

/** Maximum accounts in a slice. */
const ACCOUNTS = 50;
/** Maximum erasure records that one slice deletes. Each may be several thousand bytes. */
const RECORDS = 10;
/**
 * Milliseconds until the next look at entries that cannot be erased yet: ones that are not sealed
 * or not counted, or that a file needs.
 */
const RETRY_DELAY = 5 * MINUTE;

/**
 * The task of every minute erases from an account that has been due for this many milliseconds; the
 * task of every hour, from each that is due. An account with more to erase is rescheduled to a due
 * time that lies this far in the past.
 */
export const BACKLOG_AGE = HOUR;

/** A number as an SQL literal: D1 binds numbers as REAL. */
const literal = (value: number) => sql.raw(String(value));

/** The part of a slice that concerns one account. */
interface AccountSlice {
  number: number;
  /** The account's id in hexadecimal. */
  id: string;
  /**
   * The position (account number × 2³² + sequence) and time of the last entry to erase; null if
   * there is none.
   */
  pos: number | null;
  at: number | null;
  /** The id of the last activity record to erase, in hexadecimal. */
  activity: string | null;
  /** 1 if there are erasure records of deleted agents, else 0. */
  hasAgentRecords: number;
}

/**
 * Erases audit entries and activity records whose retention period is over, the oldest of each
 * account first.
 *
 * Entries that are not sealed (hashed into the log's Merkle tree) or not counted (for the
 * statistics of agents) yet, or that an export or report in progress needs, are kept until then. A
 * permission is erased with its last entry, unless it can get further ones: then it is marked in
 * `erase_at`, and erased with the last of these, or when its token ends without one (see
 * `erase-permissions.ts`).
 */
export class RetentionErasure {
  /**
   * The number of entries, and of activity records, that one slice erases in all accounts together.
   */
  private readonly size = new SliceSize();

  /** @param overdue for how many milliseconds an account must have been due */
  constructor(
    private readonly database: Database,
    private readonly sign: SignErasure,
    private readonly clock: () => number,
    private readonly overdue = 0,
  ) {}

  /**
   * Erases a slice. Safe to stop at any point, to repeat, and to run concurrently.
   * @returns whether there may be more to erase
   */
  async eraseSlice(): Promise<boolean> {
    const { database, overdue } = this;
    const now = this.clock();
    const [rows] = await database.load([
      database
        .select({ part: sql<string>`part` })
        .from(sql`(${selectAccountSlices(now, overdue, this.size.rows)})`),
    ]);
    if (rows.length === 0) return false;
    const parts = rows.map(({ part }) => JSON.parse(part) as AccountSlice);
    const notes = await Promise.all(parts.map((part) => this.signRecord(part, now)));
    await this.size.measure(this.clock, () => this.erase(parts, notes, now));
    return true;
  }

  /**
   * Signs the record of all that retention will have erased in an account; null if the slice has no
   * entries.
   */
  private async signRecord(
    { number, id, pos }: AccountSlice,
    erasedAt: number,
  ): Promise<string | null> {
    if (pos === null) return null;
    const ranges: [number, number][] = [[1, pos - number * LOG_SPAN]];
    return this.sign({ account: formatHexId('user', id), reason: 'retention', ranges, erasedAt });
  }

  private async erase(
    parts: AccountSlice[],
    signed: (string | null)[],
    now: number,
  ): Promise<void> {
    const { database } = this;
    const slice = slicesStillDue(parts, signed, now);
    const run = (statement: SQL) => database.build.run(statement);
    const entries = [
      run(deletePermissions(slice, now)),
      run(markOutliving(slice)),
      run(upsertErasureRecord(slice, now)),
      run(sql`delete from audit_entries where pos in (
        select pos from (${slice}) as slice cross join audit_entries not indexed where pos > start and pos <= last)`),
    ];
    const activityDeletion = run(sql`delete from activity where (account, id) in (
      select account, id from (${slice}) as slice cross join activity where account = number and id <= last_activity)`);
    const statements = [
      ...(parts.some(({ pos }) => pos !== null) ? entries : []),
      ...(parts.some(({ activity }) => activity !== null) ? [activityDeletion] : []),
      ...(parts.some(({ hasAgentRecords }) => hasAgentRecords === 1)
        ? [run(deleteCoveredRecords(slice))]
        : []),
      run(reschedule(slice, now)),
    ];
    const accounts = numberList(parts.map(({ number }) => number));
    await runErasure(database, statements, movingGuard(accounts));
  }
}

/**
 * The time from which the account in the row `accounts` keeps its entries and activity records, for
 * itself or for a file in progress.
 */
function oldestKept(now: number): SQL {
  return sql`min(
    ${now} - ${retentionPeriod},
    coalesce((
      select min(kept_from) from files indexed by files_by_status
      where files.account = accounts.number and status = ${codeOf(FILE_STATUSES, 'processing')}
    ), ${now})
  )`;
}

/**
 * The position up to which all entries of the account in the row `accounts` are sealed and counted.
 */
const lastErasable = sql`(number * ${LOG_SPAN_SQL} + coalesce((
  select min(trees.size, trees.counted) from trees where trees.account = accounts.number
), 0))`;

/**
 * The first bytes of the ids of a time, which sort before all of these ids and after those of
 * earlier times.
 */
const idAt = (time: SQL) => sql`unhex(printf('%012x', ${time}))`;

/**
 * Selects the accounts that have been due the longest, and shares the slice out evenly among them.
 * Times never decrease along a log, so the entries to erase are its beginning.
 */
function selectAccountSlices(now: number, overdue: number, rows: number): SQL {
  const share = sql`max(1, ${literal(rows)} / (select max(1, count(*)) from due))`;
  return sql`
    with due as materialized (
      select number, id, number * ${LOG_SPAN_SQL} as start, ${oldestKept(now)} as kept_from,
        ${lastErasable} as erasable
      from accounts indexed by accounts_retention_due
      where retention_due_at is not null and retention_due_at <= ${now - overdue} and ${isNotMoving(sql`number`)}
      order by retention_due_at limit ${literal(ACCOUNTS)}
    )
    select (
      select json_object('number', due.number, 'id', hex(due.id), 'pos', max(pos), 'at', max(created_at), 'activity', (
        select hex(max(id)) from (select id from activity where account = due.number order by id limit ${share})
        where id < ${idAt(sql`due.kept_from`)}
      ), 'hasAgentRecords', exists (
        select 1 from erased_entries where id > due.start and id < due.start + ${LOG_SPAN_SQL}
      ))
      from (
        select pos, created_at from audit_entries not indexed
        where pos > due.start and pos <= due.erasable order by pos limit ${share}
      )
      where created_at < due.kept_from
    ) as part
    from due`;
}

/**
 * The account slices as rows. Leaves out accounts that were deleted meanwhile, and those that now
 * keep some of these entries because their retention has changed or a file was requested.
 */
function slicesStillDue(parts: AccountSlice[], signed: (string | null)[], now: number): SQL {
  const rows = parts.map(({ number, pos, at, activity }, i) => [
    number,
    pos,
    at,
    activity,
    signed[i] ?? null,
  ]);
  return sql`
    select number, number * ${LOG_SPAN_SQL} as start, given.value ->> 1 as last, given.value ->> 2 as last_at,
      unhex(given.value ->> 3) as last_activity, given.value ->> 4 as signed,
      ${retentionPeriod} as kept_for, ${oldestKept(now)} as kept_from,
      ${lastErasable} as erasable
    from json_each(${JSON.stringify(rows)}) as given cross join accounts
    where number = given.value ->> 0
      and coalesce(given.value ->> 2 < ${oldestKept(now)}, true)
      and coalesce(unhex(given.value ->> 3) < ${idAt(oldestKept(now))}, true)`;
}

/** Deletes permissions whose last entry is erased, if no other entry can follow. */
function deletePermissions(slice: SQL, now: number): SQL {
  return sql`delete from permissions where ${losesLastEntry(slice)} and ${hasEnded(now)}`;
}

/**
 * Marks the permissions that outlive their last entry with the time at which their request or token
 * ends. Must run after {@link deletePermissions}, in the same transaction.
 */
function markOutliving(slice: SQL): SQL {
  return sql`update permissions
    set erase_at = iif(status = ${codeOf(PERMISSION_STATUSES, 'pending')}, expires_at, token_expires_at)
    where ${losesLastEntry(slice)}`;
}

/** Whether the last entry of the row of `permissions` is erased. */
function losesLastEntry(slice: SQL): SQL {
  return sql`(account, id) in (
    select concerned.account, concerned.id
    from (${slice}) as slice cross join audit_entries not indexed cross join permissions as concerned
    where pos > start and pos <= last
      and concerned.account = slice.number and concerned.id = audit_entries.permission
      and concerned.last_entry = pos - start
  )`;
}

/**
 * Records that everything up to the last entry of each account slice is erased, in the account's
 * one such record.
 */
function upsertErasureRecord(slice: SQL, now: number): SQL {
  return sql`
    insert into erased_entries (id, account, reason, ranges, erased_at, note)
    select start, number, ${codeOf(ERASURE_REASONS, 'retention')}, json_array(json_array(1, last - start)), ${now}, signed
    from (${slice}) where last is not null
    on conflict (id) do update set ranges = excluded.ranges, erased_at = excluded.erased_at, note = excluded.note
    where ranges ->> '$[0][1]' < excluded.ranges ->> '$[0][1]'`;
}

/** Deletes some of the records of deleted agents' entries that the record of retention covers. */
function deleteCoveredRecords(slice: SQL): SQL {
  return sql`delete from erased_entries where id in (
    select other.id from (${slice}) as slice cross join erased_entries as other ${isCovered} limit ${literal(RECORDS)})`;
}

const isCovered = sql`
  where other.id > start and other.id <= start + (select ranges ->> '$[0][1]' from erased_entries where id = start)`;

/**
 * Stores how far the erasure has come, and when the account is due next: at once, but behind the
 * accounts that have waited longer than {@link BACKLOG_AGE}; when the retention period of its
 * oldest entry or activity record ends; or not until it has a new one.
 */
function reschedule(slice: SQL, now: number): SQL {
  const never = literal(Number.MAX_SAFE_INTEGER);
  const dueAt = (goesNow: SQL) =>
    sql`iif(${goesNow}, ${now - BACKLOG_AGE}, max(created_at + kept_for + 1, ${now + RETRY_DELAY}))`;
  return sql`
    update accounts set
      erased_sequence = max(erased_sequence, coalesce(last - start, 0)),
      erased_at = max(erased_at, coalesce(last_at, 0)),
      retention_due_at = nullif(min(next_entry, next_activity, next_record), ${never})
    from (
      select slice.*,
        coalesce((
          select ${dueAt(sql`created_at < kept_from and pos <= erasable`)} from audit_entries not indexed
          where pos > coalesce(last, start) and pos < start + ${LOG_SPAN_SQL} order by pos limit 1
        ), ${never}) as next_entry,
        coalesce((
          select ${dueAt(sql`id < ${idAt(sql`kept_from`)}`)} from activity
          where account = slice.number and id > coalesce(last_activity, x'') order by id limit 1
        ), ${never}) as next_activity,
        iif(exists (select 1 from erased_entries as other ${isCovered}), ${now - BACKLOG_AGE}, ${never}) as next_record
      from (${slice}) as slice
    ) as part
    where accounts.number = part.number`;
}

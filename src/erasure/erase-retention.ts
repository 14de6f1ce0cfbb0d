import { type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../db/columns';
import type { Batch, Database } from '../db/database';
import { ERASURE_REASONS, FILE_STATUSES, PERMISSION_STATUSES, TOKEN_STATUSES } from '../db/schema';
import { SliceSize } from '../db/slice-size';
import { LOG_SPAN } from '../ledger/append';
import { retentionPeriod } from '../ledger/marks';
import { HOUR, MINUTE } from '../lib/time';
import { formatHexId } from '../lib/typeid';
import type { SignErasure } from './erasure-record';

/** Accounts that one slice looks at. */
const ACCOUNTS = 50;
/** Records of what was erased before that one slice deletes: each may be some thousand bytes. */
const RECORDS = 10;
/** What cannot be erased yet, as it is not sealed or a file is made of it, is looked at again after so long. */
const PATIENCE = 5 * MINUTE;

/** How long the sweep that comes every hour may leave work undone before that of every minute helps. */
export const BACKLOG_AGE = HOUR;

const span = sql.raw(String(LOG_SPAN));
const number = (value: number) => sql.raw(String(value));

/** An account that is looked at, and how far a slice of the work goes in it. */
interface Part {
  number: number;
  /** Of the account, in hexadecimal. */
  id: string;
  /** The last position that goes, and the time of its entry; null where none does. */
  pos: number | null;
  at: number | null;
  /** The last note of its activity that goes, in hexadecimal. */
  note: string | null;
  /** Whether there are records of other erasures, 1 or 0. */
  others: number;
}

/**
 * Erases the audit entries that their accounts' plans keep no longer, each account's oldest first: those that are sealed
 * and that no file in the making is made of. Permissions that are settled go with the last of their entries; notes of the
 * account's activity go by the same age.
 */
export class Retention {
  /** Entries, and notes, that one slice erases, of all accounts together. */
  private readonly size = new SliceSize();

  /** @param overdue for how many milliseconds an account must be waiting to be looked at */
  constructor(
    private readonly database: Database,
    private readonly sign: SignErasure,
    private readonly clock: () => number,
    private readonly overdue = 0,
  ) {}

  /**
   * Erases a slice. May be stopped and called again at any point, and by several at a time.
   * @returns whether there may be more
   */
  async eraseSlice(): Promise<boolean> {
    const { database, overdue } = this;
    const now = this.clock();
    const [parts] = await database.load([
      database.select({ part: sql<string>`part` }).from(sql`(${selectParts(now, overdue, this.size.rows)})`),
    ]);
    if (parts.length === 0) return false;
    const chosen = parts.map(({ part }) => JSON.parse(part) as Part);
    const notes = await Promise.all(chosen.map((part) => this.signPart(part, now)));
    await this.size.measure(this.clock, () => this.erase(chosen, notes, now));
    return true;
  }

  /** The record of all that is erased of an account once its part is, signed. */
  private async signPart({ number, id, pos }: Part, erasedAt: number): Promise<string | null> {
    if (pos === null) return null;
    const ranges: [number, number][] = [[1, pos - number * LOG_SPAN]];
    return this.sign({ account: formatHexId('user', id), reason: 'retention', ranges, erasedAt });
  }

  private async erase(chosen: Part[], signed: (string | null)[], now: number): Promise<void> {
    const { database } = this;
    const slice = chosenSlice(chosen, signed, now);
    const run = (statement: SQL) => database.build.run(statement);
    const entries = [
      run(deletePermissions(slice, now)),
      run(recordErasure(slice, now)),
      run(sql`delete from audit_entries where pos in (
        select pos from (${slice}) as slice cross join audit_entries not indexed where pos > start and pos <= last)`),
    ];
    const notes = run(sql`delete from activity where (account, id) in (
      select account, id from (${slice}) as slice cross join activity where account = number and id <= last_note)`);
    await database.run([
      ...(chosen.some(({ pos }) => pos !== null) ? entries : []),
      ...(chosen.some(({ note }) => note !== null) ? [notes] : []),
      ...(chosen.some(({ others }) => others === 1) ? [run(deleteOldRecords(slice))] : []),
      run(moveOn(slice, now)),
    ] as unknown as Batch);
  }
}

/** The oldest time whose entries the account of the row `accounts` keeps, for itself or for a file in the making. */
function keptFrom(now: number): SQL {
  return sql`min(
    ${now} - ${retentionPeriod},
    coalesce((
      select min(kept_from) from files indexed by files_by_status
      where files.account = accounts.number and status = ${codeOf(FILE_STATUSES, 'processing')}
    ), ${now})
  )`;
}

/** The first id of a time, as a prefix. */
const idAt = (time: SQL) => sql`unhex(printf('%012x', ${time}))`;

/**
 * The accounts whose turn it is, and how much of each, as JSON: what the slice holds is shared out evenly. Times never
 * decrease along the log, so that what goes is its beginning.
 */
function selectParts(now: number, overdue: number, rows: number): SQL {
  const share = sql`max(1, ${number(rows)} / (select max(1, count(*)) from due))`;
  return sql`
    with due as materialized (
      select number, id, number * ${span} as start, ${keptFrom(now)} as kept_from,
        number * ${span} + coalesce((select size from trees where trees.account = accounts.number), 0) as sealed
      from accounts indexed by accounts_retention_due
      where retention_due_at is not null and retention_due_at <= ${now - overdue}
      order by retention_due_at limit ${number(ACCOUNTS)}
    )
    select (
      select json_object('number', due.number, 'id', hex(due.id), 'pos', max(pos), 'at', max(created_at), 'note', (
        select hex(max(id)) from (select id from activity where account = due.number order by id limit ${share})
        where id < ${idAt(sql`due.kept_from`)}
      ), 'others', exists (
        select 1 from erased_entries where id > due.start and id < due.start + ${span}
      ))
      from (
        select pos, created_at from audit_entries not indexed
        where pos > due.start and pos <= due.sealed order by pos limit ${share}
      )
      where created_at < due.kept_from
    ) as part
    from due`;
}

/**
 * The parts as rows. An account that keeps some of its part after all, or is gone, is left out: its plan may have
 * changed since the parts were chosen, or a file have been asked for.
 */
function chosenSlice(parts: Part[], signed: (string | null)[], now: number): SQL {
  const rows = parts.map(({ number, pos, at, note }, i) => [number, pos, at, note, signed[i] ?? null]);
  return sql`
    select number, number * ${span} as start, given.value ->> 1 as last, given.value ->> 2 as last_at,
      unhex(given.value ->> 3) as last_note, given.value ->> 4 as signed,
      ${retentionPeriod} as kept_for, ${keptFrom(now)} as kept_from,
      number * ${span} + coalesce((select size from trees where trees.account = accounts.number), 0) as sealed
    from json_each(${JSON.stringify(rows)}) as given cross join accounts
    where number = given.value ->> 0
      and coalesce(given.value ->> 2 < ${keptFrom(now)}, true)
      and coalesce(unhex(given.value ->> 3) < ${idAt(keptFrom(now))}, true)`;
}

/**
 * Deletes the settled permissions whose last entry goes. Of others an entry is still to come, but for a token that was
 * used in part, which only time ends.
 */
function deletePermissions(slice: SQL, now: number): SQL {
  return sql`
    delete from permissions where (account, id) in (
      select permissions.account, permissions.id
      from (${slice}) as slice cross join audit_entries not indexed cross join permissions
      where pos > start and pos <= last
        and permissions.account = slice.number and permissions.id = audit_entries.permission
        and last_entry = audit_entries.id and status <> ${codeOf(PERMISSION_STATUSES, 'pending')}
        and (token_status is null or token_status <> ${codeOf(TOKEN_STATUSES, 'active')}
          or (token_uses > 0 and token_expires_at <= ${now}))
    )`;
}

/** Records that everything up to the last entry of each part is erased: one record an account, which grows. */
function recordErasure(slice: SQL, now: number): SQL {
  return sql`
    insert into erased_entries (id, account, reason, ranges, erased_at, note)
    select start, number, ${codeOf(ERASURE_REASONS, 'retention')}, json_array(json_array(1, last - start)), ${now}, signed
    from (${slice}) where last is not null
    on conflict (id) do update set ranges = excluded.ranges, erased_at = excluded.erased_at, note = excluded.note
    where ranges ->> '$[0][1]' < excluded.ranges ->> '$[0][1]'`;
}

/** Deletes some of the records that lie wholly in what the record of retention tells already. */
function deleteOldRecords(slice: SQL): SQL {
  return sql`delete from erased_entries where id in (
    select other.id from (${slice}) as slice cross join erased_entries as other ${isTold} limit ${number(RECORDS)})`;
}

const isTold = sql`
  where other.id > start and other.id <= start + (select ranges ->> '$[0][1]' from erased_entries where id = start)`;

/**
 * Notes how far the erasure has come, from where the log goes on, and when there will be something to erase again: at
 * once, behind those that wait already; when the oldest thing that is left expires; or never, until something is new.
 */
function moveOn(slice: SQL, now: number): SQL {
  const never = number(Number.MAX_SAFE_INTEGER);
  const dueAt = (goesNow: SQL) =>
    sql`iif(${goesNow}, ${now - BACKLOG_AGE}, max(created_at + kept_for + 1, ${now + PATIENCE}))`;
  return sql`
    update accounts set
      erased_sequence = max(erased_sequence, coalesce(last - start, 0)),
      erased_at = max(erased_at, coalesce(last_at, 0)),
      retention_due_at = nullif(min(next_entry, next_note, next_record), ${never})
    from (
      select slice.*,
        coalesce((
          select ${dueAt(sql`created_at < kept_from and pos <= sealed`)} from audit_entries not indexed
          where pos > coalesce(last, start) and pos < start + ${span} order by pos limit 1
        ), ${never}) as next_entry,
        coalesce((
          select ${dueAt(sql`id < ${idAt(sql`kept_from`)}`)} from activity
          where account = slice.number and id > coalesce(last_note, x'') order by id limit 1
        ), ${never}) as next_note,
        iif(exists (select 1 from erased_entries as other ${isTold}), ${now - BACKLOG_AGE}, ${never}) as next_record
      from (${slice}) as slice
    ) as part
    where accounts.number = part.number`;
}

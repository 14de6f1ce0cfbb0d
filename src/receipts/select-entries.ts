import { eq, type SQL, sql } from 'drizzle-orm';
import {
  type AuditEntry,
  detailsOf,
  type EntryRow,
  entryColumns,
  isAgentOfEntry,
  oldestKeptSql,
  presentEntry,
} from '../audit/entry';
import type { EntryFilter } from '../audit/entry-filter';
import { selectPositions } from '../audit/select-positions';
import type { Reader } from '../db/database';
import { agents, auditEntries } from '../db/schema';
import type { UserContext } from '../http/context';
import { saltOf } from '../ledger/entry-id';
import { type Id, parseId } from '../lib/typeid';
import { MAX_RECEIPT_ENTRIES } from './receipt';

/** An entry with the salt that its leaf needs. */
export interface SaltedEntry {
  entry: AuditEntry;
  salt: Uint8Array;
}

/** The oldest and the newest entries of a permission, as {@link selectEntries} reads them. */
export interface EntryRows {
  /** The first two, which are its request and its decision if both are kept. */
  first: EntryRow[];
  /** The newest ones, one more than a receipt holds. */
  newest: EntryRow[];
}

/** Selects the entries of a permission for its receipt, as far as the log is kept. */
export function selectEntries(
  reader: Reader,
  account: SQL<number>,
  permission: Id<'perm'>,
  now: number,
) {
  const filter: EntryFilter = { permission, from: oldestKeptSql(account, now) };
  return {
    first: selectOrdered(reader, account, filter, 'asc', 2),
    newest: selectOrdered(reader, account, filter, 'desc', MAX_RECEIPT_ENTRIES + 1),
  };
}

function selectOrdered(
  reader: Reader,
  account: SQL<number>,
  filter: EntryFilter,
  order: 'asc' | 'desc',
  limit: number,
) {
  const positions = selectPositions({ number: account }, filter, order, limit);
  return reader
    .select(entryColumns)
    .from(sql`(${positions}) as page`)
    .crossJoin(auditEntries)
    .innerJoin(agents, isAgentOfEntry)
    .where(eq(auditEntries.pos, sql`page.pos`));
}

/**
 * Chooses the entries of a receipt: all, or the first two and the newest ones. If the permission
 * was approved as part of a series, adds the request and the approval of the first permission of
 * it; only then does it take a round trip.
 * @returns the entries in the order of the log, and whether none is missing
 */
export async function chooseEntries(
  context: UserContext,
  { first, newest }: EntryRows,
): Promise<{ entries: SaltedEntry[]; isComplete: boolean }> {
  const own = present(context, newest);
  const oldest = present(context, first);
  const series = oldest.map(({ entry }) => seriesOf(entry)).find((id) => id !== null);
  const added = series ? await loadDecision(context, series) : [];
  const room = MAX_RECEIPT_ENTRIES - added.length;
  const isWhole = own.length <= room;
  const kept = isWhole ? own : [...oldest, ...own.slice(own.length - (room - oldest.length))];
  return {
    entries: [...added, ...kept].sort((a, b) => a.entry.sequence - b.entry.sequence),
    isComplete: isWhole && startsWithRequest(own) && (!series || added.length === 2),
  };
}

/** The entries of some rows, in the order of the log. */
function present({ principal }: UserContext, rows: EntryRow[]): SaltedEntry[] {
  return rows
    .map((row) => ({ entry: presentEntry(principal.account, row), salt: saltOf(row) }))
    .sort((a, b) => a.entry.sequence - b.entry.sequence);
}

function startsWithRequest([first]: SaltedEntry[]): boolean {
  return first?.entry.event_type === 'request';
}

/** The first permission of the series as part of which an entry approved; null if there is none. */
function seriesOf(entry: AuditEntry): Id<'perm'> | null {
  const { series } = detailsOf(entry);
  return series ? parseId('perm', series.permission_id) : null;
}

/** Loads the entries of a permission's request and approval, as far as the log is kept. */
async function loadDecision(context: UserContext, permission: Id<'perm'>): Promise<SaltedEntry[]> {
  const { reader, runtime, principal } = context;
  const account = sql<number>`${principal.account.number}`;
  const filter: EntryFilter = {
    permission,
    events: ['request', 'approve'],
    from: oldestKeptSql(account, runtime.now()),
  };
  const [rows] = await reader.load([selectOrdered(reader, account, filter, 'asc', 2)]);
  return present(context, rows);
}

import { eq, type SQL, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { numberList } from '../db/columns';
import type { Reader } from '../db/database';
import { prepareByAccount } from '../db/prepare-by-account';
import { agents, auditEntries } from '../db/schema';
import { storedEventsOf } from '../db/stored-events';
import { invalidRequest } from '../errors';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { queryNumber, queryText } from '../http/fields';
import { query } from '../http/input';
import { defineList, loadPage, preloadPage, type RowsOf } from '../http/list';
import { answer, ok, operation } from '../http/operation';
import { openPage, type Page, pageParameters } from '../http/page';
import { pageOf } from '../http/response-fields';
import { LOG_SPAN } from '../ledger/append';
import { type LazyOutput, lazy } from '../lib/lazy';
import { formatTime } from '../lib/time';
import { parseId } from '../lib/typeid';
import { dateRange, requireDateOrder } from './date-range';
import {
  detailFilterOf,
  detailParameters,
  matchesDetails,
  readDetailFilter,
} from './detail-filter';
import {
  AuditEntry,
  detailsOf,
  EventType,
  entryColumns,
  isAgentOfEntry,
  logStart,
  oldestKeptSql,
  presentEntry,
} from './entry';
import type { EntryFilter } from './entry-filter';
import {
  MAX_EXAMINED,
  MAX_EXAMINED_FOR_PERSON,
  selectDetailPositions,
  selectPositions,
} from './select-positions';

/** The query parameters of a list of audit entries. */
export const AuditList = lazy(() =>
  z.strictObject({
    ...pageParameters(50, 1_000),
    agent_id: queryText.optional().meta({ description: 'Only entries of this agent.' }),
    permission_id: queryText.optional().meta({ description: 'Only entries of this permission.' }),
    event_type: EventType().optional().meta({ description: 'Only entries of this type.' }),
    action: queryText.optional().meta({ description: 'Only entries of exactly this action.' }),
    ...detailParameters(),
    ...dateRange(),
    order: z
      .enum(['desc', 'asc'], 'must be asc or desc')
      .default('desc')
      .meta({ description: 'Newest first, or oldest first.' }),
    after_sequence: queryNumber(0, LOG_SPAN - 1)
      .optional()
      .meta({
        description:
          'Only entries after this position in the log. Needs `order=asc`, and is a filter: send it with every `cursor`.',
      }),
  }),
);

type Input = LazyOutput<typeof AuditList>;

const auditList = listOf(MAX_EXAMINED);
const auditListForPerson = listOf(MAX_EXAMINED_FOR_PERSON);

/** @param maxExamined how many entries a page with a filter on details examines at most */
function listOf(maxExamined: number) {
  return defineList({
    parameters: AuditList,
    readPosition: readSequence,
    select: (reader, { account, now }, input, { after, rowLimit }) => {
      const isFirst = after === undefined && !hasFilters(input);
      if (isFirst) return selectFirstPage[input.order](account, { now, rowLimit });
      const filter = readFilter(input, oldestKeptSql(account, now));
      const sequence = after ?? input.after_sequence;
      if (sequence !== undefined) {
        if (input.order === 'asc') filter.after = Number(sequence);
        else filter.before = Number(sequence);
      }
      const details = detailFilterOf(input);
      const log = { number: account };
      let positions = sql`select pos, 0 as is_end from (${selectPositions(log, filter, input.order, rowLimit)})`;
      if (details)
        positions = selectDetailPositions(log, filter, details, input.order, {
          limit: rowLimit,
          maxExamined,
        });
      return selectEntries(reader.select, positions);
    },
  });
}

/** Selects the entries at positions, which have the columns `pos` and `is_end`. */
function selectEntries(select: Reader['select'], positions: SQL) {
  return select({
    ...entryColumns,
    details: smallDetails,
    size: detailsSize,
    isEnd: sql<boolean>`page.is_end`.mapWith(Boolean).as('is_end'),
  })
    .from(sql`(${positions}) as page`)
    .crossJoin(auditEntries)
    .leftJoin(agents, isAgentOfEntry)
    .where(eq(auditEntries.pos, sql`page.pos`));
}

/** The parameters that filter nothing. */
const PAGE_PARAMETERS: readonly string[] = ['limit', 'cursor', 'order'];

function hasFilters(input: Input): boolean {
  return Object.keys(input).some((name) => !PAGE_PARAMETERS.includes(name));
}

/** Select the first page without filters, in each order: most requests ask for it. */
const selectFirstPage = { desc: prepareFirstPage('desc'), asc: prepareFirstPage('asc') };

function prepareFirstPage(order: 'desc' | 'asc') {
  return prepareByAccount((select, account) => {
    const from = oldestKeptSql(account, sql`${sql.placeholder('now')}`);
    const rowLimit = sql`${sql.placeholder('rowLimit')}`;
    const positions = selectPositions({ number: account }, { from }, order, rowLimit);
    return selectEntries(select, sql`select pos, 0 as is_end from (${positions})`);
  });
}

/** Returns the text if it is a sequence number, else null. */
function readSequence(text: string): string | null {
  if (/^\d{1,10}$/.test(text)) return text;
  return null;
}

/**
 * Lists the matching entries of the account's audit log, as far back as its retention period. A
 * page leaves out entries of deleted agents. It ends early when its entries reach 8 MiB and, with a
 * filter on details, once it has examined many entries. So it may have fewer entries than its
 * limit, or none.
 * @param preloaded the rows of the page, if they were preloaded
 * @throws Problem `invalid_request` for parameters that contradict each other; `invalid_cursor`
 */
export async function listAuditEntries(
  context: UserContext,
  input: Input,
  preloaded?: RowsOf<typeof auditList>,
): Promise<Page<AuditEntry>> {
  return (await findEntries(auditList, context, input, preloaded)).page;
}

/** A page of found entries. */
export interface AuditSearch {
  page: Page<AuditEntry>;
  /**
   * When the last entry was written that was examined, if the page ends there without being full;
   * otherwise null.
   */
  examinedTo: string | null;
}

/** As {@link listAuditEntries}, for a person: a page examines more entries, and says how far. */
export function searchAuditEntries(context: UserContext, input: Input): Promise<AuditSearch> {
  return findEntries(auditListForPerson, context, input);
}

async function findEntries(
  list: typeof auditList,
  context: UserContext,
  input: Input,
  preloaded?: RowsOf<typeof auditList>,
): Promise<AuditSearch> {
  requireDateOrder('query', input);
  if (input.after_sequence !== undefined && input.order !== 'asc') {
    throw invalidRequest([{ path: 'query.after_sequence', message: 'needs order=asc' }]);
  }
  const { reader, principal } = context;
  const { account } = principal;
  const page = await openPage(context, { list: 'audit', caller: account.id }, input);
  const found = preloaded ?? (await loadPage(list, context, input, page));
  // Sorted here, because SQLite would read each row again to sort the join.
  const entries = found.filter(({ isEnd }) => !isEnd).sort((a, b) => a.pos - b.pos);
  if (input.order === 'desc') entries.reverse();
  // The last entry that was examined, if more may follow it.
  const end = found.find(({ isEnd }) => isEnd);
  const details = readDetailFilter('query', input);
  const fitting = takeFitting(entries);
  const rows = await loadLargeDetails(reader, fitting);
  const listed = rows.map(({ agentId, ...row }) => {
    const entry = agentId && presentEntry(account, { ...row, agentId });
    const isListed = entry && (!details || matchesDetails(detailsOf(entry), details));
    return { id: String(row.pos - logStart(account)), entry: isListed ? entry : null };
  });
  const isCut = rows.length < entries.length || end !== undefined;
  const reached = fitting.length === entries.length ? end : undefined;
  if (reached) listed.push({ id: String(reached.pos - logStart(account)), entry: null });
  return {
    page: await page.make(listed, ({ entry }) => entry, { isCut }),
    examinedTo: reached ? formatTime(reached.createdAt) : null,
  };
}

/** @param kept the earliest time of the entries that are kept */
function readFilter(input: Input, kept: SQL<number>): EntryFilter {
  const filter: EntryFilter = { from: kept };
  if (input.start_date) filter.from = sql<number>`max(${kept}, ${input.start_date.bound})`;
  if (input.agent_id !== undefined) filter.agent = parseId('agent', input.agent_id);
  if (input.permission_id !== undefined) filter.permission = parseId('perm', input.permission_id);
  if (input.event_type) filter.events = storedEventsOf(input.event_type);
  if (input.action !== undefined) filter.action = input.action;
  if (input.end_date) filter.to = input.end_date.bound;
  return filter;
}

/** Maximum size of the details on a page together, in bytes. A page has at least one entry. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;

/**
 * Details that are larger, because they have votes, are read only once it is known that they fit on
 * the page.
 */
const MAX_SMALL_BYTES = 8 * 1024;

const detailsSize = sql<number>`octet_length(${auditEntries.details})`.as('details_size');
const smallDetails =
  sql`iif(octet_length(${auditEntries.details}) <= ${MAX_SMALL_BYTES}, ${auditEntries.details}, null)`
    .mapWith(auditEntries.details)
    .as('small_details');

/** The first of the rows whose details together fit on a page. */
function takeFitting<R extends { size: number }>(rows: R[]): R[] {
  let total = 0;
  const end = rows.findIndex(({ size }, i) => {
    total += size;
    return total > MAX_PAGE_BYTES && i > 0;
  });
  if (end < 0) return rows;
  return rows.slice(0, end);
}

/**
 * Reads the details that were left out of the rows because of their size; takes a round trip only
 * if there are any.
 */
async function loadLargeDetails<R extends { pos: number; details: string | null }>(
  reader: Reader,
  rows: R[],
) {
  const missing = rows.filter(({ details }) => details === null).map(({ pos }) => pos);
  if (missing.length === 0) return rows;
  const [found] = await reader.load([
    reader
      .select({ pos: auditEntries.pos, details: auditEntries.details })
      .from(auditEntries)
      .where(sql`${auditEntries.pos} in ${numberList(missing)}`),
  ]);
  const large = new Map(found.map(({ pos, details }) => [pos, details]));
  // Leaves out an entry that was erased after the first read, as if it had been erased before.
  return rows.flatMap((row) => {
    const details = row.details ?? large.get(row.pos);
    if (!details) return [];
    return [{ ...row, details }];
  });
}

export const listAuditEntriesRoute = new Hono().get(
  '/v1/audit',
  operation({
    id: 'listAuditEntries',
    tag: 'Audit',
    summary: 'Search the audit log',
    description:
      'Goes back to the retention of the plan. Entries must match all filters; an unknown id matches nothing. ' +
      'With `order=asc` and `after_sequence`, a client that stores the last sequence follows the log without a gap. A ' +
      'page ends early, with `has_more`, when its entries reach 8 MiB. With `resource`, `decided_by` or `scope_key`, which ' +
      'have no index, a page examines at most 1,000 entries: it may have few or none, with `has_more`.',
    success: ok(pageOf(AuditEntry)),
  }),
  userAccess('audit:read', preloadPage(auditList)),
  query(AuditList),
  async (c) =>
    answer(c, await listAuditEntries(c.var.context, c.req.valid('query'), c.var.loaded.page)),
);

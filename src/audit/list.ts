import { eq, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { agents, auditEntries } from '../db/schema';
import { invalidRequest } from '../errors';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { queryNumber, queryText } from '../http/fields';
import { query } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { openPage, type Page, pageParameters } from '../http/page';
import { pageOf } from '../http/response-fields';
import { LOG_SPAN } from '../ledger/append';
import { lazy } from '../lib/lazy';
import { parseId } from '../lib/typeid';
import { dateRange, requireDateOrder } from './date-range';
import {
  AuditEntry,
  type EntryRow,
  EventType,
  entryColumns,
  isAgentOfEntry,
  logStart,
  oldestKept,
  presentEntry,
} from './entry';
import { type EntryFilter, selectPositions } from './select-positions';

const AuditList = lazy(() =>
  z.strictObject({
    ...pageParameters(50, 1_000),
    agent_id: queryText.optional().meta({ description: 'Only entries of this agent.' }),
    permission_id: queryText.optional().meta({ description: 'Only entries of this permission.' }),
    event_type: EventType().optional().meta({ description: 'Only entries of this type.' }),
    action: queryText.optional().meta({ description: 'Only entries of exactly this action.' }),
    ...dateRange(),
    order: z
      .enum(['desc', 'asc'], 'must be asc or desc')
      .default('desc')
      .meta({ description: 'Newest first, or oldest first.' }),
    after_sequence: queryNumber(0, LOG_SPAN - 1)
      .optional()
      .meta({
        description:
          'Only entries after this position in the log. Needs `order=asc`, and cannot be combined with `cursor`.',
      }),
  }),
);

type Input = z.output<ReturnType<typeof AuditList>>;

/**
 * Lists the matching entries of the account's audit log, as far back as its retention period. A page leaves out entries
 * of deleted agents, and so may have fewer entries than its limit, or none.
 * @throws Problem `invalid_request` for parameters that contradict each other; `invalid_cursor`
 */
export async function listAuditEntries(context: UserContext, input: Input): Promise<Page<AuditEntry>> {
  requireDateOrder('query', input);
  refuseContradictions(input);
  const { reader, principal, runtime } = context;
  const { account } = principal;
  const { after_sequence, ...listQuery } = input;
  const page = await openPage<`${number}`>(context, { list: 'audit', owner: account.id }, listQuery);
  const sequence = page.after === undefined ? after_sequence : Number(page.after);
  const boundary = sequence === undefined ? undefined : logStart(account) + sequence;
  const kept = oldestKept(account, runtime.now());
  const filter: EntryFilter = {
    ...(input.agent_id !== undefined && { agent: parseId('agent', input.agent_id) }),
    ...(input.permission_id !== undefined && { permission: parseId('perm', input.permission_id) }),
    ...(input.event_type && { event: input.event_type }),
    ...(input.action !== undefined && { action: input.action }),
    ...(input.end_date && { to: input.end_date.bound }),
    ...(boundary !== undefined && (input.order === 'asc' ? { after: boundary } : { before: boundary })),
    from: Math.max(kept, input.start_date?.bound ?? kept),
  };
  const positions = selectPositions(account, filter, input.order, page.rowLimit);
  const [rows] = await reader.load([
    reader
      .select(entryColumns)
      .from(sql`(${positions}) as page`)
      .crossJoin(auditEntries)
      .leftJoin(agents, isAgentOfEntry)
      .where(eq(auditEntries.pos, sql`page.pos`)),
  ]);
  // Sorted here, because SQLite would read each row again to sort the join.
  rows.sort((a, b) => (input.order === 'asc' ? a.pos - b.pos : b.pos - a.pos));
  return page.make(rows, (row) => (row.agentId === null ? null : presentEntry(account, row as EntryRow)), {
    position: (row) => String(row.pos - logStart(account)),
  });
}

function refuseContradictions({ after_sequence, order, cursor }: Input): void {
  if (after_sequence === undefined) return;
  if (order !== 'asc') throw invalidRequest([{ path: 'query.after_sequence', message: 'needs order=asc' }]);
  if (cursor !== undefined) {
    throw invalidRequest([{ path: 'query.after_sequence', message: 'cannot be combined with cursor' }]);
  }
}

export const listAuditEntriesRoute = new Hono().get(
  '/v1/audit',
  operation({
    id: 'listAuditEntries',
    tag: 'Audit',
    summary: 'Search the audit log',
    description:
      'Goes back to the retention of the plan. Entries must match all filters; an unknown id matches nothing. ' +
      'With `order=asc` and `after_sequence`, a client that stores the last sequence follows the log without a gap.',
    success: ok(pageOf(AuditEntry)),
  }),
  userAccess('audit:read'),
  query(AuditList),
  async (c) => answer(c, await listAuditEntries(c.var.context, c.req.valid('query'))),
);

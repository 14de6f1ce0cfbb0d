import { sql } from 'drizzle-orm';
import { Hono } from 'hono';
import type { Reader } from '../db/database';
import { agents, auditEntries } from '../db/schema';
import { userAccess } from '../http/access';
import type { RequestContext, UserContext } from '../http/context';
import { noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { pathId } from '../http/path-id';
import type { CallerSql } from '../identity/credentials';
import { LOG_SPAN_SQL } from '../ledger/append';
import { type Id, parseId, sequenceOfId } from '../lib/typeid';
import {
  AuditEntry,
  type EntryRow,
  entryColumns,
  isAgentOfEntry,
  isKeptEntry,
  oldestKept,
  requireEntryWithId,
} from './entry';

/**
 * Returns an audit entry of the account, unless it is past the account's retention period.
 * @throws Problem `not_found`
 */
async function getAuditEntry(
  { reader, principal: { account }, runtime }: UserContext,
  { id }: { id: Id<'audit'> },
): Promise<AuditEntry> {
  const [[row]] = await reader.load([
    reader
      .select(entryColumns)
      .from(auditEntries)
      .innerJoin(agents, isAgentOfEntry)
      .where(isKeptEntry(account, id, runtime.now())),
  ]);
  return requireEntryWithId(account, row, id);
}

/** Preloads the audit entry in the path. {@link requireEntry} reads the row that it loads. */
export async function preloadEntry(c: RequestContext, reader: Reader, { account }: CallerSql) {
  const id = parseId('audit', c.req.param('id') ?? '');
  return {
    entry:
      id &&
      reader
        .select(entryColumns)
        .from(auditEntries)
        .innerJoin(agents, isAgentOfEntry)
        .where(sql`${auditEntries.pos} = ${account} * ${LOG_SPAN_SQL} + ${sequenceOfId(id)}`),
  };
}

/**
 * The entry with an id that {@link preloadEntry} found.
 * @throws Problem `not_found`, also for an entry that is past the account's retention period
 */
export function requireEntry(
  { principal: { account }, runtime }: Pick<UserContext, 'principal' | 'runtime'>,
  id: string,
  [row]: EntryRow[] = [],
): AuditEntry {
  const isKept = row && row.createdAt >= oldestKept(account, runtime.now());
  return requireEntryWithId(account, isKept ? row : undefined, id);
}

export const getAuditEntryRoute = new Hono().get(
  '/v1/audit/:id',
  operation({
    id: 'getAuditEntry',
    tag: 'Audit',
    summary: 'Get an audit entry',
    success: ok(AuditEntry),
    pathId: 'audit',
  }),
  userAccess('audit:read'),
  noQuery(),
  async (c) =>
    answer(c, await getAuditEntry(c.var.context, { id: pathId(c, 'audit', 'audit entry') })),
);

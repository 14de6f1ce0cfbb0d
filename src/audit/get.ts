import { Hono } from 'hono';
import { agents, auditEntries } from '../db/schema';
import { notFound } from '../errors';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { pathId } from '../http/path-id';
import type { Id } from '../lib/typeid';
import { AuditEntry, entryColumns, isAgentOfEntry, isKeptEntry, presentEntry } from './entry';

/**
 * Returns an audit entry of the account, unless it is past the account's retention period.
 * @throws Problem `not_found`
 */
export async function getAuditEntry(
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
  if (!row) throw notFound('audit entry');
  return presentEntry(account, row);
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
  async (c) => answer(c, await getAuditEntry(c.var.context, { id: pathId(c, 'audit', 'audit entry') })),
);

import { Hono } from 'hono';
import { agents, auditEntries } from '../db/schema';
import { notFound } from '../errors';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { parseId } from '../lib/typeid';
import { AuditEntry, entryAgent, entryColumns, isKeptEntry, presentEntry } from './entry';

/** Finds an audit entry of the account that its plan still keeps. */
export async function getAuditEntry(
  { reader, principal: { account }, runtime }: UserContext,
  id: string,
): Promise<AuditEntry> {
  const entry = parseId('audit', id);
  if (!entry) throw notFound('audit entry');
  const [[row]] = await reader.load([
    reader
      .select(entryColumns)
      .from(auditEntries)
      .innerJoin(agents, entryAgent)
      .where(isKeptEntry(account, entry, runtime.now())),
  ]);
  if (!row) throw notFound('audit entry');
  return presentEntry(account, row);
}

export const auditDetail = new Hono().get(
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
  async (c) => answer(c, await getAuditEntry(c.var.context, c.req.param('id'))),
);

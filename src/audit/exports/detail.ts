import { Hono } from 'hono';
import { files } from '../../db/schema';
import { notFound } from '../../errors';
import { userAccess } from '../../http/access';
import type { UserContext } from '../../http/context';
import { noQuery } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { isFile } from '../../ledger/file-ledger';
import { parseId } from '../../lib/typeid';
import { AuditExport, presentExport } from './export';

/** Finds an export of the account. */
export async function getExport(
  { reader, principal, config, runtime }: UserContext,
  text: string,
): Promise<AuditExport> {
  const id = parseId('export', text);
  if (!id) throw notFound('export');
  const key = { account: principal.account.number, kind: 'export' as const, id };
  const [[row]] = await reader.load([reader.select().from(files).where(isFile(key))]);
  if (!row) throw notFound('export');
  return presentExport(config, principal, row, runtime.now());
}

export const exportDetail = new Hono().get(
  '/v1/audit/export/:id',
  operation({
    id: 'getAuditExport',
    tag: 'Audit',
    summary: 'Get an export of the audit log',
    success: ok(AuditExport),
    pathId: 'export',
  }),
  userAccess('audit:export'),
  noQuery(),
  async (c) => answer(c, await getExport(c.var.context, c.req.param('id'))),
);

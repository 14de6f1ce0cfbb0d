import { Hono } from 'hono';
import { FileListQuery, listFiles } from '../../files/presentation';
import { userAccess } from '../../http/access';
import type { UserContext } from '../../http/context';
import { query } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import type { Page } from '../../http/page';
import { pageOf } from '../../http/response-fields';
import type { LazyOutput } from '../../lib/lazy';
import { AuditExport, presentExport } from './export';

/** Lists the account's exports, newest first. */
export function listExports(
  context: UserContext,
  query: LazyOutput<typeof FileListQuery>,
): Promise<Page<AuditExport>> {
  return listFiles(context, { kind: 'export', present: presentExport, ...query });
}

export const listExportsRoute = new Hono().get(
  '/v1/audit/export',
  operation({
    id: 'listAuditExports',
    tag: 'Audit',
    summary: 'List exports of the audit log',
    success: ok(pageOf(AuditExport)),
  }),
  userAccess('audit:export'),
  query(FileListQuery),
  async (c) => answer(c, await listExports(c.var.context, c.req.valid('query'))),
);

import { Hono } from 'hono';
import { FileListQuery, listFiles } from '../../files/presentation';
import { userAccess } from '../../http/access';
import { query } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { pageOf } from '../../http/response-fields';
import { AuditExport, presentExport } from './export';

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
  async (c) => {
    const input = { kind: 'export' as const, present: presentExport, ...c.req.valid('query') };
    return answer(c, await listFiles(c.var.context, input));
  },
);

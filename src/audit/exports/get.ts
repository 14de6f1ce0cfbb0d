import { Hono } from 'hono';
import { getFile } from '../../files/get';
import { userAccess } from '../../http/access';
import { noQuery } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { pathId } from '../../http/path-id';
import { AuditExport, presentExport } from './export';

export const getExportRoute = new Hono().get(
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
  async (c) =>
    answer(
      c,
      await getFile(c.var.context, {
        kind: 'export',
        id: pathId(c, 'export'),
        present: presentExport,
      }),
    ),
);

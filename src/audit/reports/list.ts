import { Hono } from 'hono';
import { FileListQuery, listFiles } from '../../files/presentation';
import { userAccess } from '../../http/access';
import { query } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { pageOf } from '../../http/response-fields';
import { ComplianceReport, presentReport } from './report';

export const listReportsRoute = new Hono().get(
  '/v1/audit/reports/compliance',
  operation({
    id: 'listComplianceReports',
    tag: 'Audit',
    summary: 'List compliance reports',
    success: ok(pageOf(ComplianceReport)),
  }),
  userAccess('audit:export'),
  query(FileListQuery),
  async (c) => {
    const input = { kind: 'report' as const, present: presentReport, ...c.req.valid('query') };
    return answer(c, await listFiles(c.var.context, input));
  },
);

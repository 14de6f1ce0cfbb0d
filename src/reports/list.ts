import { Hono } from 'hono';
import { FileListQuery, listFiles } from '../files/presentation';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { query } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import type { Page } from '../http/page';
import { pageOf } from '../http/response-fields';
import type { LazyOutput } from '../lib/lazy';
import { ComplianceReport, presentReport } from './report';

/** Lists the account's compliance reports, newest first. */
export function listReports(
  context: UserContext,
  query: LazyOutput<typeof FileListQuery>,
): Promise<Page<ComplianceReport>> {
  return listFiles(context, { kind: 'report', present: presentReport, ...query });
}

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
  async (c) => answer(c, await listReports(c.var.context, c.req.valid('query'))),
);

import { Hono } from 'hono';
import type { FileRow } from '../files/file-records';
import { FileListQuery, fileList, listFiles } from '../files/list';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { query } from '../http/input';
import { preloadPage } from '../http/list';
import { answer, ok, operation } from '../http/operation';
import type { Page } from '../http/page';
import { pageOf } from '../http/response-fields';
import type { LazyOutput } from '../lib/lazy';
import { ComplianceReport, presentReport } from './report';

/**
 * Lists the account's compliance reports, newest first.
 * @param preloaded the rows of the page, if they were preloaded
 */
export function listReports(
  context: UserContext,
  query: LazyOutput<typeof FileListQuery>,
  preloaded?: FileRow[],
): Promise<Page<ComplianceReport>> {
  return listFiles(context, { kind: 'report', present: presentReport, ...query }, preloaded);
}

export const listReportsRoute = new Hono().get(
  '/v1/audit/reports/compliance',
  operation({
    id: 'listComplianceReports',
    tag: 'Audit',
    summary: 'List compliance reports',
    success: ok(pageOf(ComplianceReport)),
  }),
  userAccess('audit:export', preloadPage(fileList('report'))),
  query(FileListQuery),
  async (c) => answer(c, await listReports(c.var.context, c.req.valid('query'), c.var.loaded.page)),
);

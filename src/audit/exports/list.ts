import { Hono } from 'hono';
import type { FileRow } from '../../files/file-records';
import { FileListQuery, fileList, listFiles } from '../../files/list';
import { userAccess } from '../../http/access';
import type { UserContext } from '../../http/context';
import { query } from '../../http/input';
import { preloadPage } from '../../http/list';
import { answer, ok, operation } from '../../http/operation';
import type { Page } from '../../http/page';
import { pageOf } from '../../http/response-fields';
import type { LazyOutput } from '../../lib/lazy';
import { AuditExport, presentExport } from './export';

/**
 * Lists the account's exports, newest first.
 * @param preloaded the rows of the page, if they were preloaded
 */
export function listExports(
  context: UserContext,
  query: LazyOutput<typeof FileListQuery>,
  preloaded?: FileRow[],
): Promise<Page<AuditExport>> {
  return listFiles(context, { kind: 'export', present: presentExport, ...query }, preloaded);
}

export const listExportsRoute = new Hono().get(
  '/v1/audit/export',
  operation({
    id: 'listAuditExports',
    tag: 'Audit',
    summary: 'List exports of the audit log',
    success: ok(pageOf(AuditExport)),
  }),
  userAccess('audit:export', preloadPage(fileList('export'))),
  query(FileListQuery),
  async (c) => answer(c, await listExports(c.var.context, c.req.valid('query'), c.var.loaded.page)),
);

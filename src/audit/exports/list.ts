import { and, desc, eq, lt } from 'drizzle-orm';
import { Hono } from 'hono';
import { z } from 'zod';
import { files } from '../../db/schema';
import { userAccess } from '../../http/access';
import type { UserContext } from '../../http/context';
import { query } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { makePageById, type Page, pageParameters, readCursor } from '../../http/page';
import { pageOf } from '../../http/shown';
import type { Id } from '../../lib/typeid';
import { AuditExport, presentExport } from './export';

const ExportList = z.strictObject(pageParameters(20, 100));

/** Lists the account's exports, newest first. */
export async function listExports(
  { reader, principal, config, runtime }: UserContext,
  { limit, cursor }: z.output<typeof ExportList>,
): Promise<Page<AuditExport>> {
  const binding = { list: 'exports', owner: principal.account.id, filters: {} };
  const before = cursor === undefined ? null : await readCursor(config.keyring, binding, cursor);
  const older = before ? lt(files.id, before as Id<'export'>) : undefined;
  const [rows] = await reader.load([
    reader
      .select()
      .from(files)
      .where(and(eq(files.account, principal.account.number), eq(files.kind, 'export'), older))
      .orderBy(desc(files.id))
      .limit(limit + 1),
  ]);
  const now = runtime.now();
  const shown = await Promise.all(rows.map(async (row) => ({ id: row.id, row: await present(row) })));
  return makePageById(config.keyring, binding, shown, limit, ({ row }) => row);

  function present(row: (typeof rows)[number]) {
    return presentExport(config, principal, row, now);
  }
}

export const exportList = new Hono().get(
  '/v1/audit/export',
  operation({
    id: 'listAuditExports',
    tag: 'Audit',
    summary: 'List exports of the audit log',
    success: ok(pageOf(AuditExport)),
  }),
  userAccess('audit:export'),
  query(ExportList),
  async (c) => answer(c, await listExports(c.var.context, c.req.valid('query'))),
);

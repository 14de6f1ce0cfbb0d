import { and, desc, eq, lt } from 'drizzle-orm';
import * as z from 'zod';
import { type FileKind, files } from '../db/schema';
import type { UserContext } from '../http/context';
import { defineList, loadPage } from '../http/list';
import { openPage, type Page, pageParameters } from '../http/page';
import { type LazyOutput, lazy } from '../lib/lazy';
import { type Id, parseId } from '../lib/typeid';
import type { FileRow } from './file-records';
import type { PresentedKind } from './presentation';

/** The query parameters of a list of files. */
export const FileListQuery = lazy(() => z.strictObject(pageParameters(20, 100)));

/** The list of an account's files of one kind. */
export function fileList(kind: FileKind) {
  return defineList({
    parameters: FileListQuery,
    readPosition: (text: string) => parseId('export', text),
    select: (reader, { account }, _, { after, rowLimit }) =>
      reader
        .select()
        .from(files)
        .where(and(eq(files.account, account), eq(files.kind, kind), after && lt(files.id, after)))
        .orderBy(desc(files.id))
        .limit(rowLimit),
  });
}

/**
 * Lists the account's files of one kind, newest first.
 * @param preloaded the rows of the page, if they were preloaded
 */
export async function listFiles<T>(
  context: UserContext,
  { kind, present, ...query }: PresentedKind<T> & LazyOutput<typeof FileListQuery>,
  preloaded?: FileRow[],
): Promise<Page<T>> {
  const { principal, config, runtime } = context;
  const page = await openPage<Id<'export'>>(
    context,
    { list: `${kind}s`, caller: principal.account.id },
    query,
  );
  const rows = preloaded ?? (await loadPage(fileList(kind), context, query, page));
  const now = runtime.now();
  const shown = await Promise.all(
    rows.map(async (row) => ({ id: row.id, shown: await present(config, principal, row, now) })),
  );
  return page.make(shown, (row) => row.shown);
}

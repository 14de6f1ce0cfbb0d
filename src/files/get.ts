import { type FileKind, files } from '../db/schema';
import { notFound } from '../errors';
import type { UserContext } from '../http/context';
import { type Id, withPrefix } from '../lib/typeid';
import { isFile } from './file-records';
import type { PresentedKind } from './presentation';

/**
 * Gets a file of the account.
 * @throws Problem `not_found`
 */
export async function getFile<T>(
  { reader, principal, config, runtime }: UserContext,
  { kind, id, present }: PresentedKind<T> & { id: Id<FileKind> },
): Promise<T> {
  const key = { account: principal.account.number, kind, id: withPrefix('export', id) };
  const [[row]] = await reader.load([reader.select().from(files).where(isFile(key))]);
  if (!row) throw notFound(kind);
  return present(config, principal, row, runtime.now());
}

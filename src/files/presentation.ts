import { and, desc, eq, lt } from 'drizzle-orm';
import * as z from 'zod';
import { FILE_STATUSES, type FileKind, files } from '../db/schema';
import type { Config } from '../env';
import { notFound } from '../errors';
import type { UserContext } from '../http/context';
import { openPage, type Page, pageParameters } from '../http/page';
import { countField, timeField } from '../http/response-fields';
import { toHex } from '../lib/bytes';
import { lazy } from '../lib/lazy';
import { formatTime, formatTimeOrNull } from '../lib/time';
import { type Id, parseId, withPrefix } from '../lib/typeid';
import { signAddress } from './address';
import { fileId, statusAt } from './file';
import { type FileRow, isFile } from './file-records';
import type { NewFile } from './request';

/** The columns of a file that the API shows. */
export type PresentedFile = Pick<
  FileRow,
  | 'kind'
  | 'id'
  | 'format'
  | 'request'
  | 'status'
  | 'error'
  | 'rowCount'
  | 'size'
  | 'sha256'
  | 'proofSize'
  | 'createdAt'
  | 'completedAt'
  | 'expiresAt'
>;

/** The columns of a file that was just requested. */
export function newFileColumns(file: Omit<NewFile, 'agent'>): PresentedFile {
  const unfinished = {
    error: null,
    rowCount: null,
    size: null,
    sha256: null,
    proofSize: null,
    completedAt: null,
    expiresAt: null,
  };
  return { ...file, ...unfinished, status: 'processing' };
}

/** The response fields that exports and reports share, for a `lazy` schema. */
export function fileFields() {
  return {
    status: z.enum(FILE_STATUSES),
    download_url: z.string().nullable().meta({
      description: 'Where the file is; needs no credential. Null while there is nothing to download.',
    }),
    expires_at: timeField.nullable().meta({ description: 'When the file can no longer be downloaded.' }),
    file_size_bytes: countField.optional(),
    error: z.string().nullable().meta({ description: 'The code of the error; null if the file did not fail.' }),
    created_at: timeField,
    completed_at: timeField.optional(),
  };
}

/** The response field of a file's SHA-256. */
export const digestField = lazy(() =>
  z.string().meta({ description: 'The SHA-256 of the file, in lower-case hexadecimal.' }),
);

/** The account of a file, and the shard that its signed address names. */
export interface FileOwner {
  shard: string;
  account: { id: Id<'user'> };
}

/**
 * Returns the fields of a file as of `now`, with the address of its proof and its SHA-256; both are null until it is
 * completed.
 */
export async function presentFile(config: Config, { account, shard }: FileOwner, row: PresentedFile, now: number) {
  const status = statusAt(row, now);
  const address = {
    id: fileId(row),
    document: 'file' as const,
    account: account.id,
    shard,
    expires: row.expiresAt ?? 0,
  };
  const fields = {
    status,
    download_url: status === 'completed' ? await signAddress(config, address) : null,
    expires_at: formatTimeOrNull(row.expiresAt),
    ...(row.size !== null && { file_size_bytes: row.size }),
    error: row.error,
    created_at: formatTime(row.createdAt),
    ...(row.completedAt !== null && { completed_at: formatTime(row.completedAt) }),
  };
  const hasProof = status === 'completed' && row.proofSize !== null;
  const proofUrl = hasProof ? await signAddress(config, { ...address, document: 'proof' }) : null;
  return { fields, proofUrl, sha256: row.sha256 && toHex(row.sha256) };
}

/** Makes the response that shows a file. */
type Present<T> = (config: Config, owner: FileOwner, row: FileRow, now: number) => Promise<T>;

/**
 * Finds a file of the account by its id, which has the prefix of the kind, and presents it.
 * @throws Problem `not_found`
 */
export async function getFile<T>(
  { reader, principal, config, runtime }: UserContext,
  kind: FileKind,
  text: string,
  present: Present<T>,
): Promise<T> {
  const id = parseId(kind, text);
  if (!id) throw notFound(kind);
  const key = { account: principal.account.number, kind, id: withPrefix('export', id) };
  const [[row]] = await reader.load([reader.select().from(files).where(isFile(key))]);
  if (!row) throw notFound(kind);
  return present(config, principal, row, runtime.now());
}

/** The query parameters of a list of files. */
export const FileListQuery = lazy(() => z.strictObject(pageParameters(20, 100)));

/** Lists the account's files of one kind, newest first. */
export async function listFiles<T>(
  context: UserContext,
  kind: FileKind,
  input: z.output<ReturnType<typeof FileListQuery>>,
  present: Present<T>,
): Promise<Page<T>> {
  const { reader, principal, config, runtime } = context;
  const page = await openPage<Id<'export'>>(context, { list: `${kind}s`, owner: principal.account.id }, input);
  const older = page.after && lt(files.id, page.after);
  const [rows] = await reader.load([
    reader
      .select()
      .from(files)
      .where(and(eq(files.account, principal.account.number), eq(files.kind, kind), older))
      .orderBy(desc(files.id))
      .limit(page.rowLimit),
  ]);
  const now = runtime.now();
  const shown = await Promise.all(
    rows.map(async (row) => ({ id: row.id, shown: await present(config, principal, row, now) })),
  );
  return page.make(shown, (row) => row.shown);
}

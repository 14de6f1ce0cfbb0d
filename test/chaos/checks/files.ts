import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { zstdDecompressSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import type { Downloaded } from '../downloads.ts';
import type { Findings } from '../findings.ts';
import { markOfRequest } from '../load/permissions.ts';
import type { Memory, ShownEntry } from '../memory.ts';
import type { Stored, StoredAccount } from '../stored.ts';
import { checkReport, missingTools } from './reports.ts';

const compressors = { ZSTD: (bytes: Uint8Array) => new Uint8Array(zstdDecompressSync(bytes)) };

type Row = Record<string, unknown>;

/**
 * Compares every finished file that can be read with the entries that the API shows: each cell of
 * an export, each count of a report.
 * @returns how many files were compared
 */
export async function checkFiles(
  findings: Findings,
  memory: Memory,
  account: StoredAccount,
  shown: ShownEntry[],
  downloads: Downloaded[],
): Promise<number> {
  const entries = [
    ...memory.past,
    ...shown.filter(({ sequence }) => sequence > memory.pastEntries),
  ];
  const readsPdf = missingTools().length === 0;
  let compared = 0;
  for (const file of downloads) {
    const snapshot = account.files.get(file.id)?.snapshot ?? 0;
    const covered = entries.filter(({ sequence }) => sequence <= snapshot);
    if (file.kind === 'export') await checkExport(findings, memory, file, covered);
    else if (file.format === 'json' || readsPdf) checkReport(findings, memory, file, covered);
    else continue;
    compared += 1;
    checkSnapshot(findings, memory, account, file, snapshot);
  }
  return compared;
}

async function checkExport(
  findings: Findings,
  memory: Memory,
  file: Downloaded,
  entries: ShownEntry[],
): Promise<void> {
  const wanted = entries.filter(
    ({ agent_id, event_type }) =>
      (file.agent === null || file.agent === agent_id) &&
      (file.events === null || file.events.includes(event_type)),
  );
  const about = 'exports';
  const rows = (await readRows(file)).map(readRow);
  findings.check(
    rows.length === file.rows,
    about,
    () => `${file.id}: ${rows.length} rows, but row_count is ${file.rows}`,
  );
  const bySequence = new Map(rows.map((row) => [Number(row.sequence), row]));
  const isOrdered = rows.every(
    (row, i) => i === 0 || Number(rows[i - 1]?.sequence) < Number(row.sequence),
  );
  findings.check(isOrdered, about, () => `${file.id}: the rows are not in order`);
  for (const entry of wanted) {
    const row = bySequence.get(entry.sequence);
    bySequence.delete(entry.sequence);
    // An old entry may have been erased before the export.
    const isSame = row
      ? isDeepStrictEqual(row, rowOf(entry, file))
      : entry.sequence <= memory.pastEntries;
    findings.check(
      isSame,
      about,
      () => `${file.id} (${file.format}): entry ${entry.sequence} is ${JSON.stringify(row)}`,
    );
  }
  for (const sequence of bySequence.keys()) {
    findings.check(
      false,
      about,
      () => `${file.id} (${file.format}): entry ${sequence} is not in the log`,
    );
  }
}

/** The row of an export that an entry should have. */
function rowOf({ details, ...entry }: ShownEntry, { withDetails }: Downloaded): Row {
  const { action, resource } = details;
  return { ...entry, action, resource, ...(withDetails && { details }) };
}

/** Converts a row of any format to the form of {@link rowOf}. */
function readRow({ sequence, created_at, details, ...row }: Row): Row {
  return {
    ...row,
    sequence: Number(sequence),
    created_at: created_at instanceof Date ? created_at.toISOString() : created_at,
    ...(details !== undefined && {
      details: typeof details === 'string' ? JSON.parse(details) : details,
    }),
  };
}

/**
 * Checks that an export contains every request that was answered before the export was requested.
 */
function checkSnapshot(
  findings: Findings,
  memory: Memory,
  { entries }: StoredAccount,
  file: Downloaded,
  snapshot: number,
) {
  for (const { sequence, event, details } of entries) {
    if (event !== 'request') continue;
    const step = memory.steps.get(markOfRequest(details));
    const isBefore = step?.certainty === 'done' && step.answeredAt < file.sentAt;
    findings.check(
      !isBefore || sequence <= snapshot,
      'exports',
      () => `${file.id} ends before entry ${sequence}`,
    );
  }
}

async function readRows({ path, format }: Downloaded): Promise<Row[]> {
  if (format === 'json') return JSON.parse(readFileSync(path, 'utf8'));
  if (format === 'csv') return parse(readFileSync(path), { columns: true });
  return await parquetReadObjects({ file: await asyncBufferFromFile(path), compressors });
}

/**
 * Checks that the bucket has exactly the objects of live files, none of deleted accounts, and no
 * stale upload.
 */
export function checkObjects(
  findings: Findings,
  stored: Stored,
  accounts: StoredAccount[],
  gone: Memory[],
): void {
  for (const { id, traits } of gone) {
    const left = [...stored.objects().keys()].filter((key) => key.startsWith(`trees/${id}/`));
    findings.check(
      left.length === 0,
      'objects',
      () => `${traits.name} is deleted, but ${left[0]} exists`,
    );
  }
  const files = new Map(accounts.flatMap(({ files }) => [...files]));
  for (const key of [...stored.objects().keys()].filter((key) => key.startsWith('files/'))) {
    const [, id = '', part = ''] = key.split('/');
    const file = files.get(id);
    const isRight =
      file?.status === 'completed' ? ['file', 'proof'].includes(part) : file?.isHeld === true;
    findings.check(
      isRight,
      'objects',
      () => `${key} belongs to a file with status ${file?.status}`,
    );
  }
  for (const key of stored.openUploads()) {
    const file = files.get(key.split('/')[1] ?? '');
    findings.check(
      file?.isHeld === true && file.status !== 'completed',
      'uploads',
      () => `${key} is open, and the status of its file is ${file?.status}`,
    );
  }
}

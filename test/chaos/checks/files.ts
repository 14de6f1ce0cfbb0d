import { readFileSync } from 'node:fs';
import { zstdDecompressSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';

import type { Downloaded } from '../downloads.ts';
import type { Findings } from '../findings.ts';
import type { Memory } from '../memory.ts';
import type { Stored, StoredAccount } from '../stored.ts';

const compressors = { ZSTD: (bytes: Uint8Array) => new Uint8Array(zstdDecompressSync(bytes)) };

type Row = Record<string, unknown>;

/** Compares exports with the log, entry by entry. */
export async function checkExports(
  findings: Findings,
  memory: Memory,
  account: StoredAccount,
  downloads: Downloaded[],
): Promise<void> {
  for (const file of downloads.filter(({ kind }) => kind === 'export')) {
    const snapshot = account.files.get(file.id)?.snapshot ?? 0;
    const rows = await readRows(file);
    findings.check(rows.length === file.rows, 'exports', () => `${file.id}: ${rows.length} rows, said ${file.rows}`);
    const wanted = account.entries.filter(
      ({ sequence, agent, event }) =>
        sequence <= snapshot &&
        (file.agent === null || account.agents.get(file.agent) === agent) &&
        (file.events === null || file.events.includes(event)),
    );
    const bySequence = new Map(rows.map((row) => [Number(row.sequence), row]));
    const isOrdered = rows.every((row, i) => i === 0 || Number(rows[i - 1]?.sequence) < Number(row.sequence));
    findings.check(isOrdered, 'exports', () => `${file.id}: out of order`);
    for (const entry of wanted) {
      const row = bySequence.get(entry.sequence);
      bySequence.delete(entry.sequence);
      const isOld = entry.sequence <= memory.pastEntries;
      const isSame = row
        ? row.id === entry.id && row.event_type === entry.event && hasDetails(file, row, entry.details)
        : isOld;
      findings.check(isSame, 'exports', () => `${file.id}: ${entry.sequence} is ${row ? 'another' : 'missing'}`);
    }
    for (const sequence of bySequence.keys()) {
      findings.check(sequence <= memory.pastEntries, 'exports', () => `${file.id}: ${sequence} is not in the log`);
    }
    checkSnapshot(findings, memory, account, file, snapshot);
  }
}

/** What was answered before the export was asked for is in it. */
function checkSnapshot(
  findings: Findings,
  memory: Memory,
  { entries }: StoredAccount,
  file: Downloaded,
  snapshot: number,
) {
  for (const { sequence, event, details } of entries) {
    if (event !== 'request') continue;
    const step = memory.steps.get(String(details.resource).replace('box:', ''));
    const isBefore = step?.certainty === 'done' && step.answeredAt < file.sentAt;
    findings.check(!isBefore || sequence <= snapshot, 'exports', () => `${file.id} ends before ${sequence}`);
  }
}

function hasDetails({ withDetails, format }: Downloaded, row: Row, details: Row): boolean {
  if (!withDetails) return row.details === undefined;
  const given = format === 'json' ? row.details : JSON.parse(String(row.details));
  return Object.entries(details).every(([name, value]) => JSON.stringify(given[name]) === JSON.stringify(value));
}

async function readRows({ path, format }: Downloaded): Promise<Row[]> {
  if (format === 'json') return JSON.parse(readFileSync(path, 'utf8'));
  if (format === 'csv') return parse(readFileSync(path), { columns: true });
  return await parquetReadObjects({ file: await asyncBufferFromFile(path), compressors });
}

/** Under `files/` there are the files that live and nothing else; every upload is over. */
export function checkObjects(findings: Findings, stored: Stored, accounts: StoredAccount[]): void {
  const files = new Map(accounts.flatMap(({ files }) => [...files]));
  for (const key of [...stored.objects().keys()].filter((key) => key.startsWith('files/'))) {
    const [, id = '', part = ''] = key.split('/');
    const file = files.get(id);
    const isRight = file?.status === 'completed' ? ['file', 'proof'].includes(part) : file?.isHeld === true;
    findings.check(isRight, 'objects', () => `${key} of a file that is ${file?.status}`);
  }
  for (const key of stored.openUploads()) {
    const file = files.get(key.split('/')[1] ?? '');
    findings.check(file?.isHeld === true && file.status !== 'completed', 'uploads', () => `${key}: ${file?.status}`);
  }
}

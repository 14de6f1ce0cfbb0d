import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { verifyFile } from '../../src/packages/verify/verify-file.ts';
import type { Service } from '../support/local/restartable-service.ts';
import type { Findings } from './findings.ts';
import type { KnownFile, Memory } from './memory.ts';

interface ShownFile {
  status: string;
  error: string | null;
  download_url: string | null;
  proof_url?: string | null;
  sha256: string;
  row_count?: number;
  file_size_bytes: number;
}

/** A file that was downloaded. */
export interface Downloaded extends KnownFile {
  path: string;
  rows: number;
}

/** Downloads every finished file of an account, and checks its status, digest, size and proof. */
export async function downloadFiles(
  findings: Findings,
  memory: Memory,
  service: Service,
  state: string,
): Promise<Downloaded[]> {
  const folder = join(state, 'downloads');
  mkdirSync(folder, { recursive: true });
  const downloaded: Downloaded[] = [];
  for (const file of memory.files) {
    const kind = file.kind === 'export' ? 'export' : 'reports/compliance';
    const answer = await memory.user.ask<ShownFile>('GET', `/v1/audit/${kind}/${file.id}`);
    const shown = answer?.body;
    const isOver = shown?.status === 'completed' || (memory.traits.losesAgents && isGone(shown));
    findings.check(isOver, 'files', () => `${file.id} is ${shown?.status} (${shown?.error})`);
    if (shown?.status !== 'completed') continue;
    const path = join(folder, file.id);
    const bytes = await save(`${shown.download_url}`, path);
    const isWhole = bytes && createHash('sha256').update(bytes).digest('hex') === shown.sha256;
    findings.check(
      isWhole === true && bytes?.length === shown.file_size_bytes,
      'files',
      () => `${file.id} differs from its digest or size`,
    );
    if (shown.proof_url) await checkProof(findings, file, path, shown.proof_url, service.origin);
    const wantsProof = file.kind === 'export' && file.withDetails && file.format !== 'csv';
    findings.check(!wantsProof || !!shown.proof_url, 'files', () => `${file.id} has no proof`);
    if (bytes) downloaded.push({ ...file, path, rows: shown.row_count ?? 0 });
  }
  return downloaded;
}

/** Whether a file failed or expired because an agent was deleted. */
function isGone(shown: ShownFile | undefined): boolean {
  return (
    shown?.status === 'expired' || (shown?.status === 'failed' && shown.error === 'agent_deleted')
  );
}

async function checkProof(
  findings: Findings,
  { id }: KnownFile,
  path: string,
  address: string,
  origin: string,
) {
  await save(address, `${path}-proof`);
  const options = { file: path, proof: `${path}-proof`, key: `${origin}/.well-known/jwks.json` };
  const report = await verifyFile(options).catch((error: Error) => ({
    faults: [error],
    unchecked: [],
  }));
  const wrong = [...report.faults.map(({ message }) => message), ...report.unchecked];
  findings.check(wrong.length === 0, 'proofs', () => `${id}: ${wrong.join('; ')}`);
}

async function save(address: string, path: string): Promise<Buffer | null> {
  const response = await fetch(address);
  if (!response.ok) return null;
  const bytes = Buffer.from(await response.arrayBuffer());
  writeFileSync(path, bytes);
  return bytes;
}

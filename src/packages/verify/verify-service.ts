import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Checkpoint, readCheckpoint, requireSigner } from './core/checkpoint.ts';
import { CannotCheck, Fault, formatEntries, LogRefused, type Report } from './core/findings.ts';
import type { JsonObject } from './core/json.ts';
import { verifyConsistency } from './core/merkle.ts';
import type { VerifierKey } from './core/note.ts';
import { readHashes } from './entry-proof.ts';
import { checkErasureRecords } from './erasure.ts';
import { checkExport, type ExportCheck } from './export-check.ts';
import { reportExport } from './export-report.ts';
import { compareHistory, inconsistentLogFault, shrunkLogFault } from './history.ts';
import { KeptCheckpoints } from './kept-checkpoints.ts';
import { readKeys } from './keys.ts';
import { readPasskeys } from './passkeys.ts';
import { checkRefusedLog } from './refused-log.ts';
import { listFilters } from './request-filter.ts';
import { VoteChecker } from './vote-checker.ts';
import { downloadFile, ServiceClient } from './web.ts';

export interface VerifyServiceOptions {
  /** The URL of the service. */
  url: string;
  token: string;
  /** The source of the log's keys (see `readKeys`). By default the service itself. */
  key?: string | undefined;
  /** The path of the kept checkpoints, to which the newest is added. */
  checkpoints?: string | undefined;
  /** The path of the pinned passkeys (see `readPasskeys`). */
  passkeys?: string | undefined;
  /** Receives progress messages. */
  onProgress: (progress: string) => void;
}

const DAY = 24 * 60 * 60 * 1_000;
const POLL_INTERVAL = 1_000;
const MAX_WAIT = 30 * 60 * 1_000;

/**
 * Verifies the whole current log of an account, and that it is consistent with the kept
 * checkpoints; then keeps the newest checkpoint. If the service itself refuses the log, checks what
 * it still shows.
 * @throws Fault if a checkpoint is malformed or not signed; other faults are in the report
 * @throws CannotCheck if the service does not answer, or the keys or the kept checkpoints cannot be
 *   read
 */
export async function verifyService(options: VerifyServiceOptions): Promise<Report> {
  const { url, token, key, checkpoints, passkeys, onProgress } = options;
  const service = new ServiceClient(url, token);
  const kept = checkpoints === undefined ? null : await KeptCheckpoints.open(checkpoints);
  const votes = new VoteChecker(passkeys === undefined ? null : await readPasskeys(passkeys));
  const account = await service.get('/v1/me');
  const keys = await readKeys(key ?? `${service.origin}/.well-known/jwks.json`);
  const folder = await mkdtemp(join(tmpdir(), 'countersign-verify-'));
  const files = { file: join(folder, 'export.json'), proof: join(folder, 'proof.json') };
  let before: Checkpoint | null = null;
  let auditExport: JsonObject | null = null;
  let report: Report | null = null;
  try {
    // The export must contain everything that this head covers, because the head is older than the
    // export.
    before = await fetchCheckpoint(service, keys);
    if (!before.origin.endsWith(`/${account.id}`)) {
      throw new Fault(
        'checkpoint',
        `The log is named ${before.origin}, but the account is ${account.id}`,
      );
    }
    auditExport = await createExport(service, account, onProgress);
    await downloadFile(textOf(auditExport, 'download_url'), files.file);
    await downloadFile(proofUrl(auditExport), files.proof);
    onProgress('Checking the export.');
    const sizes = [before.size, ...(kept?.all ?? []).map(({ size }) => size)];
    const check = await checkExport(files.file, files.proof, {
      sizes,
      completeTo: before.size,
      votes,
    });
    report = reportExport(check, { isWholeLog: true });
    report.faults.push(...compareWithRequest(check, auditExport));
    votes.addTo(report);
    await checkHeads(report, check, { service, keys, before, kept });
    return report;
  } catch (error) {
    if (!(error instanceof LogRefused)) throw error;
    report = await checkRefusedLog({
      why: error.message,
      shown: before,
      kept: kept?.all ?? [],
      keys,
      auditExport,
      ...files,
    });
    return report;
  } finally {
    const isEmpty = (await readdir(folder)).length === 0;
    // The files are evidence of the faults.
    if (isEmpty || report?.faults.length === 0) await rm(folder, { recursive: true });
    else onProgress(`The downloaded files are in ${folder}`);
  }
}

interface LiveCheck {
  service: ServiceClient;
  keys: VerifierKey[];
  before: Checkpoint;
  kept: KeptCheckpoints | null;
}

/**
 * Checks the export's head against those of the service and the kept ones, and keeps the newest
 * head if there is no fault.
 */
async function checkHeads(
  report: Report,
  check: ExportCheck,
  circumstances: LiveCheck,
): Promise<void> {
  const { service, keys, before, kept } = circumstances;
  const { checkpoint } = check.head;
  try {
    report.key = (await requireSigner(checkpoint, keys, "The proof's checkpoint")).label;
    const now = await fetchCheckpoint(service, keys);
    await requireConsistency(service, before, checkpoint);
    await requireConsistency(service, checkpoint, now);
    if (report.faults.length > 0) return;
    await checkErasureRecords(report, check.head.erased, checkpoint, keys);
    if (report.faults.length > 0) return;
    describeCompleteness(report, check, before);
    if (!kept) {
      report.limits.push(
        'Whether the log was rewritten: without checkpoints that you kept, the operator of the service can show you another log.',
      );
      return;
    }
    await compareHistory(report, kept.all, now, {
      keys,
      roots: check.roots,
      isNewest: true,
      fetchConsistencyPath: (from, to) => fetchConsistencyPath(service, from, to),
    });
    if (report.faults.length === 0 && (await kept.keep(now))) {
      report.proven.push(`The checkpoint of ${now.time} with ${formatEntries(now.size)} was kept.`);
    }
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    report.faults.push(error);
  }
}

async function fetchCheckpoint(service: ServiceClient, keys: VerifierKey[]): Promise<Checkpoint> {
  const checkpoint = readCheckpoint(
    await service.get('/v1/audit/checkpoint'),
    'The checkpoint of the service',
  );
  await requireSigner(checkpoint, keys, 'The checkpoint of the service');
  return checkpoint;
}

async function fetchConsistencyPath(
  service: ServiceClient,
  from: number,
  to: number,
): Promise<Uint8Array[]> {
  const answer = await service.get(`/v1/audit/consistency?from=${from}&to=${to}`);
  return readHashes(answer.consistency_path);
}

/**
 * @throws Fault unless the second head is of the same log as the first, with the same or more
 *   entries
 */
async function requireConsistency(
  service: ServiceClient,
  first: Checkpoint,
  second: Checkpoint,
): Promise<void> {
  if (first.origin !== second.origin) {
    throw new Fault(
      'checkpoint',
      `The log changed its name: ${first.origin}, then ${second.origin}`,
    );
  }
  if (first.size > second.size) throw shrunkLogFault(first, second);
  const path =
    first.size === second.size ? [] : await fetchConsistencyPath(service, first.size, second.size);
  if (!(await verifyConsistency(first, second, path)))
    throw inconsistentLogFault(first, second, `the checkpoint of ${first.time}`);
}

/** Requests an export of the whole log, and waits until it is completed. */
async function createExport(
  service: ServiceClient,
  account: JsonObject,
  onProgress: (progress: string) => void,
): Promise<JsonObject> {
  // A day on either side makes up for differences between clocks.
  const start = new Date(Date.parse(textOf(account, 'created_at')) - DAY).toISOString();
  const end = new Date(Date.now() + DAY).toISOString().slice(0, 10);
  const body = { format: 'json', start_date: start, end_date: end, include_details: true };
  let auditExport = await service.post('/v1/audit/export', body);
  const path = `/v1/audit/export/${auditExport.export_id}`;
  onProgress(`Waiting for the export ${auditExport.export_id} of the whole log.`);
  for (const deadline = Date.now() + MAX_WAIT; Date.now() < deadline; await sleep(POLL_INTERVAL)) {
    auditExport = await service.get(path);
    if (auditExport.status === 'failed' || auditExport.status === 'expired') {
      throw new CannotCheck(
        `The export ${auditExport.export_id} is ${auditExport.status} (${auditExport.error}); run this again`,
      );
    }
    if (auditExport.status === 'completed') return auditExport;
  }
  throw new CannotCheck(
    `The export ${auditExport.export_id} was not completed within half an hour`,
  );
}

/**
 * The URL of an export's proof.
 * @throws LogRefused if there is none because the service refuses the log
 */
function proofUrl({ export_id, proof_url, proof_error }: JsonObject): string {
  if (typeof proof_url === 'string') return proof_url;
  const reason = typeof proof_error === 'string' ? proof_error : 'no reason is given';
  if (typeof proof_error !== 'string' || proof_error === 'log_refused') {
    throw new LogRefused(`the export ${export_id} was made without a proof: ${reason}`);
  }
  throw new CannotCheck(`The export ${export_id} was made without a proof: ${reason}`);
}

/** The fault of a proof that belongs to another export or to another request. */
function compareWithRequest({ head }: ExportCheck, auditExport: JsonObject): Fault[] {
  const { start_date, end_date } = head.request;
  const asked = JSON.stringify([
    auditExport.export_id,
    auditExport.start_date,
    auditExport.end_date,
    [],
  ]);
  const answered = JSON.stringify([head.exportId, start_date, end_date, listFilters(head.request)]);
  if (asked === answered && auditExport.sha256 === head.sha256) return [];
  return [
    new Fault('proof', 'The proof does not belong to the requested export', {
      evidence: { asked, answered },
    }),
  ];
}

function describeCompleteness(
  report: Report,
  { head, last, erased }: ExportCheck,
  { size }: Checkpoint,
): void {
  const gone = erased.countUpTo(size);
  const exception = gone === 0 ? '' : `, but for ${formatEntries(gone)} recorded as erased`;
  report.proven.push(`Every entry from 1 to ${size} is in the file${exception}.`);
  if ((last ?? 0) < head.checkpoint.size && size < head.checkpoint.size) {
    report.limits.push(
      `Entries after ${Math.max(last ?? 0, size)}: they were added during this run. The next run covers them.`,
    );
  }
}

function textOf(answer: JsonObject, name: string): string {
  const value = answer[name];
  if (typeof value === 'string') return value;
  throw new CannotCheck(`The answer of the service has no ${name}`);
}

import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Checkpoint, readCheckpoint, requireSigner } from './checkpoint.ts';
import { readHashes } from './entry-proof.ts';
import { checkErasures } from './erasure.ts';
import { checkExport, type ExportCheck } from './export-check.ts';
import { reportExport } from './export-report.ts';
import { CannotCheck, count, Fault, LogRefused, type Report } from './findings.ts';
import { compareHistory, inconsistentLog, shrunkLog } from './history.ts';
import type { JsonObject } from './json.ts';
import { KeptCheckpoints } from './kept-checkpoints.ts';
import { readKeys } from './keys.ts';
import { verifyConsistency } from './merkle.ts';
import type { VerifierKey } from './note.ts';
import { checkRefusedLog } from './refused-log.ts';
import { download, Service } from './web.ts';

export interface LiveOptions {
  /** Of the service. */
  address: string;
  token: string;
  /** Where the log's keys are: see readKeys. Without it, those that the service publishes. */
  key?: string | undefined;
  /** Where checkpoints are kept; the new one is added. */
  checkpoints?: string | undefined;
  /** Tells people what is being waited for. */
  onProgress: (progress: string) => void;
}

const DAY = 24 * 60 * 60 * 1_000;
const POLL_INTERVAL = 1_000;
const MAX_WAIT = 30 * 60 * 1_000;

/**
 * Verifies the whole log of an account, as the service has it now, and that it grew out of what was kept of it. Where the
 * service itself refuses the log, judges what it shows all the same.
 */
export async function verifyService({ address, token, key, checkpoints, onProgress }: LiveOptions): Promise<Report> {
  const service = new Service(address, token);
  const kept = checkpoints === undefined ? null : await KeptCheckpoints.open(checkpoints);
  const account = await service.get('/v1/me');
  const keys = await readKeys(key ?? `${service.origin}/.well-known/jwks.json`);
  const folder = await mkdtemp(join(tmpdir(), 'countersign-verify-'));
  const files = { file: join(folder, 'export.json'), proof: join(folder, 'proof.json') };
  let before: Checkpoint | null = null;
  let order: JsonObject | null = null;
  let report: Report | null = null;
  try {
    // What this head covers was in the log before the export is asked for, and so has to be in it.
    before = await fetchCheckpoint(service, keys);
    if (!before.origin.endsWith(`/${account.id}`)) {
      throw new Fault('checkpoint', `The log is named ${before.origin}, the account is ${account.id}`);
    }
    order = await createExport(service, account, onProgress);
    await download(textOf(order, 'download_url'), files.file);
    await download(proofUrl(order), files.proof);
    onProgress('Checking it.');
    const sizes = [before.size, ...(kept?.all ?? []).map(({ size }) => size)];
    const check = await checkExport(files.file, files.proof, { sizes, completeTo: before.size });
    report = reportExport(check, true);
    report.faults.push(...compareWithRequest(check, order));
    await checkHeads(report, check, { service, keys, before, kept });
    return report;
  } catch (error) {
    if (!(error instanceof LogRefused)) throw error;
    report = await checkRefusedLog({ why: error.message, shown: before, kept: kept?.all ?? [], keys, order, ...files });
    return report;
  } finally {
    const isEmpty = (await readdir(folder)).length === 0;
    // What was found to be wrong is evidence.
    if (isEmpty || report?.faults.length === 0) await rm(folder, { recursive: true });
    else onProgress(`What was downloaded is in ${folder}`);
  }
}

interface LiveCheck {
  service: Service;
  keys: VerifierKey[];
  before: Checkpoint;
  kept: KeptCheckpoints | null;
}

/** Judges what holds the proof and the heads together, and keeps the newest head if all is well. */
async function checkHeads(report: Report, check: ExportCheck, circumstances: LiveCheck): Promise<void> {
  const { service, keys, before, kept } = circumstances;
  const { checkpoint } = check.head;
  try {
    report.key = requireSigner(checkpoint, keys, "The proof's checkpoint").label;
    const now = await fetchCheckpoint(service, keys);
    const askConsistency = (from: number, to: number) => fetchConsistencyPath(service, from, to);
    await requireConsistency(before, checkpoint, askConsistency);
    await requireConsistency(checkpoint, now, askConsistency);
    if (report.faults.length > 0) return;
    checkErasures(report, check.head.erased, checkpoint, keys);
    if (report.faults.length > 0) return;
    describeCompleteness(report, check, before);
    if (!kept) {
      report.limits.push(
        'Nothing was compared with the past: without checkpoints that you kept, whoever runs the service can show a rewritten log.',
      );
      return;
    }
    await compareHistory(report, kept.all, now, {
      keys,
      roots: check.roots,
      isNewest: true,
      fetchConsistencyPath: askConsistency,
    });
    if (report.faults.length === 0 && (await kept.keep(now))) {
      report.proven.push(`The checkpoint of ${now.time} with ${count(now.size, 'entry', 'entries')} was kept.`);
    }
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    report.faults.push(error);
  }
}

async function fetchCheckpoint(service: Service, keys: VerifierKey[]): Promise<Checkpoint> {
  const checkpoint = readCheckpoint(await service.get('/v1/audit/checkpoint'), 'The checkpoint of the service');
  requireSigner(checkpoint, keys, 'The checkpoint of the service');
  return checkpoint;
}

async function fetchConsistencyPath(service: Service, from: number, to: number): Promise<Buffer[]> {
  const answer = await service.get(`/v1/audit/consistency?from=${from}&to=${to}`);
  return readHashes(answer.consistency_path);
}

/** @throws Fault unless the first head's log is what the second's began with */
async function requireConsistency(
  first: Checkpoint,
  second: Checkpoint,
  askConsistency: (from: number, to: number) => Promise<Buffer[]>,
): Promise<void> {
  if (first.origin !== second.origin) {
    throw new Fault('checkpoint', `The log changed its name: ${first.origin}, then ${second.origin}`);
  }
  if (first.size > second.size) throw shrunkLog(first, second);
  const path = first.size === second.size ? [] : await askConsistency(first.size, second.size);
  if (!verifyConsistency(first, second, path)) throw inconsistentLog(first, second, `that of ${first.time}`);
}

/** Asks for an export of everything, and waits until it is made. */
async function createExport(
  service: Service,
  account: JsonObject,
  onProgress: (progress: string) => void,
): Promise<JsonObject> {
  // The clocks that wrote these times are not one: a day on either side is room enough.
  const start = new Date(Date.parse(textOf(account, 'created_at')) - DAY).toISOString();
  const end = new Date(Date.now() + DAY).toISOString().slice(0, 10);
  const body = { format: 'json', start_date: start, end_date: end, include_details: true };
  let order = await service.post('/v1/audit/export', body);
  const path = `/v1/audit/export/${order.export_id}`;
  onProgress(`Waiting for ${order.export_id}: all of the log, sealed.`);
  for (const deadline = Date.now() + MAX_WAIT; Date.now() < deadline; await sleep(POLL_INTERVAL)) {
    order = await service.get(path);
    if (order.status === 'failed' || order.status === 'expired') {
      throw new CannotCheck(`The export ${order.export_id} is ${order.status} (${order.error}); run this again`);
    }
    if (order.status === 'completed') return order;
  }
  throw new CannotCheck(`The export ${order.export_id} is not made after half an hour`);
}

/** @throws LogRefused where the service made no proof of an export, as it refuses the log */
function proofUrl({ export_id, proof_url, proof_error }: JsonObject): string {
  if (typeof proof_url === 'string') return proof_url;
  const reason = typeof proof_error === 'string' ? proof_error : 'no reason is given';
  if (typeof proof_error !== 'string' || proof_error === 'log_refused') {
    throw new LogRefused(`the export ${export_id} was made without a proof: ${reason}`);
  }
  throw new CannotCheck(`The export ${export_id} was made without a proof: ${reason}`);
}

/** What a proof of another export, or of another question, gives away. */
function compareWithRequest({ head }: ExportCheck, order: JsonObject): Fault[] {
  const { start_date, end_date, agent_id, event_types } = head.request;
  const asked = JSON.stringify([order.export_id, order.start_date, order.end_date, null, null]);
  const answered = JSON.stringify([head.exportId, start_date, end_date, agent_id, event_types]);
  if (asked === answered && order.sha256 === head.sha256) return [];
  return [new Fault('proof', 'The proof is not of the export that was asked for', { evidence: { asked, answered } })];
}

function describeCompleteness(report: Report, { last, erased }: ExportCheck, { size }: Checkpoint): void {
  const gone = erased.countUpTo(size);
  const present =
    gone === 0 ? 'is in the file' : `is in the file, but for ${count(gone, 'entry', 'entries')} recorded as erased`;
  report.proven.push(`Every entry from 1 to ${size} ${present}.`);
  if ((last ?? 0) < report.checkpoint.tree_size && size < report.checkpoint.tree_size) {
    report.limits.push(`Entries after ${Math.max(last ?? 0, size)} came while this ran; the next run shows them.`);
  }
}

function textOf(answer: JsonObject, name: string): string {
  const value = answer[name];
  if (typeof value === 'string') return value;
  throw new CannotCheck(`The service answered without ${name}`);
}

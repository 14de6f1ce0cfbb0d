import type { Reader } from '../db/database';
import type { FileKind } from '../db/schema';
import type { Runtime } from '../env';
import { toHex } from '../lib/bytes';
import { logFailure } from '../lib/log';
import { SECOND } from '../lib/time';
import { FILE_LIFETIME, fileId } from './file';
import type { FileKey, FileRecords, FileRow } from './file-records';
import { LEASE, Lease, LeaseLost } from './lease';
import type { FileProducer, LoadAsset, ProducerInput } from './producer';
import { initialProof, initialState, readState, type SavedState, writeState } from './saved-state';
import { abortUpload, arePartsRefused, fileKey, isNoSuchUpload, notesKey, proofKey, stateKey } from './storage';
import { deleteFileObjects } from './sweep';
import { Upload } from './upload';

/** How work on a file is cut. */
export interface JobSizes {
  /** Bytes of a part of an upload; R2 takes no smaller ones than 5 MiB. */
  part: number;
  /** After so many rows or bytes the progress is saved, if not too many bytes that no part holds yet go with it. */
  sliceRows: number;
  sliceBytes: number;
  /** After so many slices the work goes on with a new message, which has a processor's time of its own. */
  slices: number;
  batchRows: number;
}

export const JOB_SIZES: JobSizes = {
  part: 8 * 2 ** 20,
  sliceRows: 2 ** 16,
  sliceBytes: 64 * 2 ** 20,
  slices: 16,
  batchRows: 4_096,
};

/** After so many attempts without progress a file fails. */
const MAX_ATTEMPTS = 20;

/** How often a file is begun anew whose parts R2 would not put together. */
const MAX_RESTARTS = 3;

/** However often it failed, a job reads no fewer rows at a time: an invocation has only so many queries. */
const FEWEST_ROWS = 64;

/** How much of a part is worth being saved with a slice; waiting for less may make the slice twice as long. */
const SMALL_REST = 1 / 4;

/** Batches of rows that a slice reads, at most. */
const MAX_BATCHES = 128;

/** Random bytes in the keys of what only one attempt may write. */
const OWN_KEY_BYTES = 8;
/** Bytes that are read between two renewals of a lease. */
const DIGEST_STEP = 64 * 2 ** 20;

/** Everything that making files takes. */
export interface JobContext {
  reader: Reader;
  ledger: FileRecords;
  bucket: R2Bucket;
  runtime: Runtime;
  makers: Record<FileKind, FileProducer>;
  sizes: JobSizes;
  loadAsset: LoadAsset;
}

/**
 * Goes on with a file for some slices. May be called at any time, by several at once, and may die at any point.
 * @returns whether there is more to do, and nobody to do it
 */
export async function processFile(context: JobContext, key: FileKey): Promise<boolean> {
  const taken = await Lease.take(context.ledger, context.runtime, key);
  if (!taken) return false;
  const { lease, file } = taken;
  try {
    if (file.attempts > MAX_ATTEMPTS) {
      await fail(context, lease, file);
      return false;
    }
    return await new Job(context, lease, file).run();
  } catch (error) {
    if (error instanceof LeaseLost) return false;
    // Each time it failed it rests for longer, as what failed may need some minutes to recover.
    await lease.rest(Math.min(SECOND * 2 ** file.attempts, LEASE)).catch((failure: unknown) => {
      // Settled, or taken by another. Everything else the sweep makes good when the lease is over.
      if (failure instanceof LeaseLost) return;
      logFailure('lease_not_left', failure, { file: fileId(file) });
    });
    throw error;
  }
}

/** Gives a file up. The sweep deletes what there is of it. */
async function fail({ runtime }: JobContext, lease: Lease, file: FileRow): Promise<void> {
  await lease.settle({ status: 'failed', error: 'processing_failed', dueAt: runtime.now() });
  logFailure('file_failed', 'it was tried too often', { file: fileId(file) });
}

class Job {
  private uploadId: string | null;
  private stateKey: string | null;

  constructor(
    private readonly context: JobContext,
    private readonly lease: Lease,
    private readonly file: FileRow,
  ) {
    this.uploadId = file.uploadId;
    this.stateKey = file.state;
  }

  /** Works for some slices; answers whether there is more to do. */
  async run(): Promise<boolean> {
    const { bucket, sizes } = this.context;
    const saved = await this.load();
    if (!saved) {
      // Nobody knows what was uploaded. Most likely that is over; if not, R2 ends it after seven days.
      this.uploadId = null;
      return this.restart(initialState(), 'what was saved of it is gone');
    }
    const { state, rest } = saved;
    if (state.ended) {
      return this.finish(state, null);
    }
    const production = await this.open(state);
    if (!production) {
      await this.complete(state, null);
      return false;
    }
    if (production === 'later') {
      await this.lease.passOn();
      return true;
    }
    const key = this.key(state);
    const progress = { uploadId: this.uploadId, parts: state.parts, uploaded: state.uploaded };
    const upload = new Upload(bucket, key, progress, rest, sizes.part, () => this.createUpload(key));
    try {
      return await this.work(state, production, upload, progress);
    } catch (error) {
      if (isNoSuchUpload(error)) return this.restart(state, error);
      throw error;
    }
  }

  private async work(state: SavedState, production: ProducerInput, upload: Upload, progress: { uploaded: number }) {
    const { sizes } = this.context;
    const rowsBefore = state.rows;
    for (let slice = 1; ; slice++) {
      const ended = await this.produce(production, upload);
      state.rows = rowsBefore + production.rows;
      state.maker = ended ? null : production.save();
      await this.keepNotes(state, production);
      if (ended) {
        return this.end(state, upload, progress);
      }
      await this.save({ ...state, uploaded: progress.uploaded }, upload.rest());
      if (slice === sizes.slices) {
        await this.lease.release();
        return true;
      }
    }
  }

  /** Goes on with the file or its proof; null where there is none. */
  private async open({ document, file: made, notes, maker }: SavedState): Promise<ProducerInput | 'later' | null> {
    const { bucket, reader, makers, sizes, loadAsset } = this.context;
    const { file } = this;
    // A batch that was too much for the memory is smaller the next time.
    const batchRows = Math.max(Math.min(FEWEST_ROWS, sizes.batchRows), sizes.batchRows >> (file.attempts - 1));
    const order = { reader, file, batchRows, loadAsset };
    if (document === 'file') return makers[file.kind].open(order, maker);
    if (made === null) throw new Error('a proof before its file');
    const readNotes = async (index: number) => {
      const object = await bucket.get(notes[index] ?? '');
      if (!object) throw new Error('what was noted of a file is gone');
      return new Uint8Array(await object.arrayBuffer());
    };
    const proof = makers[file.kind].proof?.open(order, { ...made, notes: notes.length, readNotes }, maker);
    return (await proof) ?? null;
  }

  private key({ document }: SavedState): string {
    return document === 'file' ? fileKey(this.file) : proofKey(this.file);
  }

  /** Puts away what the proof will need of the rows of a slice. */
  private async keepNotes(state: SavedState, production: ProducerInput): Promise<void> {
    const notes = production.takeNotes?.();
    if (!notes || notes.length === 0) return;
    const key = notesKey(this.file, this.context.runtime.random(OWN_KEY_BYTES));
    await this.context.bucket.put(key, notes);
    state.notes.push(key);
  }

  /** Null where what was saved is gone: the database was put back to a time before it went. */
  private async load(): Promise<{ state: SavedState; rest: Uint8Array } | null> {
    if (this.stateKey === null) return { state: initialState(), rest: new Uint8Array() };
    const object = await this.context.bucket.get(this.stateKey);
    return object && readState(new Uint8Array(await object.arrayBuffer()));
  }

  /** Makes a slice of the file; answers whether it was the last. */
  private async produce(production: ProducerInput, upload: Upload): Promise<boolean> {
    const { part, sliceRows, sliceBytes } = this.context.sizes;
    const [rows, reached, size] = [production.rows, production.reached, upload.size];
    for (let batches = 1; ; batches++) {
      await this.lease.renew();
      const { chunks, ended } = await production.next();
      for (const chunk of chunks) await upload.write(chunk);
      if (ended) return true;
      const fullness = Math.max((production.rows - rows) / sliceRows, (upload.size - size) / sliceBytes);
      if (fullness >= 2 || (fullness >= 1 && upload.pending <= part * SMALL_REST)) return false;
      // Where much is read and little written, what was read through is worth saving too.
      if (batches >= MAX_BATCHES && production.reached > reached) return false;
    }
  }

  /** Without its first part an upload holds nothing, so that one whose identifier is lost leaves nothing behind. */
  private async createUpload(key: string): Promise<string> {
    const { uploadId } = await this.context.bucket.createMultipartUpload(key);
    try {
      await this.lease.advance({ uploadId });
    } catch (error) {
      if (error instanceof LeaseLost) await abortUpload(this.context.bucket, key, uploadId);
      throw error;
    }
    this.uploadId = uploadId;
    return uploadId;
  }

  private async save(state: SavedState, rest: Uint8Array, uploadId = this.uploadId): Promise<void> {
    const { bucket, runtime } = this.context;
    const superseded = this.stateKey;
    const key = stateKey(this.file, runtime.random(OWN_KEY_BYTES));
    await bucket.put(key, writeState(state, rest));
    try {
      await this.lease.advance({ state: key, uploadId });
    } catch (error) {
      if (error instanceof LeaseLost) await bucket.delete(key);
      throw error;
    }
    this.stateKey = key;
    this.uploadId = uploadId;
    if (superseded !== null) await bucket.delete(superseded);
  }

  private async end(state: SavedState, upload: Upload, progress: { uploaded: number }): Promise<boolean> {
    const { size } = upload;
    await this.lease.renew();
    const digest = await upload.end();
    if (this.uploadId === null && digest) return this.settle(state, size, digest);
    const ended = { ...state, ended: true, uploaded: progress.uploaded };
    await this.save(ended, new Uint8Array());
    return this.finish(ended, digest);
  }

  /** Puts the parts together, and tells what has become of them; answers whether the file has to be begun anew. */
  private async finish(state: SavedState, known: Uint8Array | null): Promise<boolean> {
    const { parts, uploaded } = state;
    const { bucket } = this.context;
    const key = this.key(state);
    if (this.uploadId === null) throw new Error('parts without an upload');
    const upload = bucket.resumeMultipartUpload(key, this.uploadId);
    try {
      await upload.complete(parts.map((etag, i) => ({ partNumber: i + 1, etag })));
    } catch (error) {
      // Put together already, by an attempt that could not tell.
      const isDone = isNoSuchUpload(error) && (await bucket.head(key))?.size === uploaded;
      if (!isDone && (isNoSuchUpload(error) || arePartsRefused(error))) return this.restart(state, error);
      if (!isDone) throw error;
    }
    return this.settle(state, uploaded, known);
  }

  /** Goes on to the proof of a file, or completes it; answers whether there is more to do. */
  private async settle(state: SavedState, size: number, known: Uint8Array | null): Promise<boolean> {
    if (state.document === 'proof') {
      await this.complete(state, size);
      return false;
    }
    const file = { rows: state.rows, size, sha256: toHex(known ?? (await this.digest(size))) };
    const begun = initialProof(file, state.notes);
    if (!this.context.makers[this.file.kind].proof?.isWanted(this.file)) {
      await this.complete(begun, null);
      return false;
    }
    await this.save(begun, new Uint8Array(), null);
    await this.lease.release();
    return true;
  }

  /**
   * Drops the upload. It may be over, where the database was put back to an earlier time. Or whoever outlived a lease
   * uploaded a part once more: the bytes are the same, but R2 knows them by another ETag, and the upload can never be
   * completed.
   */
  private async restart(state: SavedState, cause: unknown): Promise<boolean> {
    const { bucket } = this.context;
    const { file, lease } = this;
    logFailure('file_begun_anew', cause, { file: fileId(file) });
    if (state.restarts === MAX_RESTARTS) {
      await fail(this.context, lease, file);
      return false;
    }
    // An upload that is dropped before this is written down is found gone, and leads here again.
    if (this.uploadId !== null) await abortUpload(bucket, this.key(state), this.uploadId);
    const restarts = state.restarts + 1;
    const begun = state.document === 'file' ? initialState(restarts) : initialProof(state.file, state.notes, restarts);
    await this.save(begun, new Uint8Array(), null);
    await lease.release();
    return true;
  }

  /** @param proofSize bytes of the proof; null where there is none */
  private async complete({ file }: SavedState, proofSize: number | null): Promise<void> {
    if (file === null) throw new Error('a file is completed that is not made');
    const { bucket, ledger, runtime } = this.context;
    const { rows: rowCount, size } = file;
    const sha256 = Uint8Array.fromHex(file.sha256);
    const now = runtime.now();
    const expiresAt = now + FILE_LIFETIME;
    const hasStates = this.stateKey !== null;
    // While there is something to tidy up, the sweep is to look soon.
    const dueAt = hasStates ? now : expiresAt;
    await this.lease.settle({
      status: 'completed',
      rowCount,
      size,
      sha256,
      proofSize,
      completedAt: now,
      expiresAt,
      dueAt,
    });
    if (hasStates) await deleteFileObjects({ bucket, ledger }, { ...this.file, status: 'completed', expiresAt });
  }

  /** SHA-256 of the file as it is stored, read in one pass. */
  private async digest(size: number): Promise<Uint8Array> {
    const stream = new crypto.DigestStream('SHA-256');
    for (let offset = 0; offset < size; offset += DIGEST_STEP) {
      const range = { offset, length: Math.min(DIGEST_STEP, size - offset) };
      const object = await this.context.bucket.get(fileKey(this.file), { range });
      if (!object) throw new Error('a finished file is gone');
      await object.body.pipeTo(stream, { preventClose: true });
      await this.lease.renew();
    }
    await stream.close();
    return new Uint8Array(await stream.digest);
  }
}

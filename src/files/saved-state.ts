import type { Runtime } from '../env';
import { concatBytes } from '../lib/bytes';
import type { FileRow } from './file-records';
import { type Lease, LeaseLost } from './lease';
import type { StoredFile } from './producer';
import { abortUpload, workingKey } from './storage';

/** The state that a job saves after a slice, and from which the next job continues. */
export interface SavedState {
  /**
   * The file once all of it is stored, while its proof is made; null while the file itself is made:
   * {@link phaseOf} tells which.
   */
  file: StoredFile | null;
  /** The keys of the file's proof records, in order. */
  proofRecords: string[];
  /** The result of {@link Producer.save}; null before the first byte and after the last. */
  producer: unknown;
  /** Whether all bytes are uploaded. */
  isUploaded: boolean;
  /** The number of rows in the bytes so far. */
  rows: number;
  /** The ETags of the uploaded parts, in order. All parts but the last have one size. */
  parts: string[];
  /** Bytes in all parts together; once all bytes are uploaded, the size of the artifact. */
  uploaded: number;
  /** How many times this artifact was started over. */
  restarts: number;
}

/** What a job makes: the file itself or, once that is stored, its proof. */
export type Phase = 'file' | 'proof';

/** Which of the two a job makes that continues from a state. */
export function phaseOf({ file }: Pick<SavedState, 'file'>): Phase {
  return file === null ? 'file' : 'proof';
}

/** The state before the first byte of a file or, if the file is given, of its proof. */
export function initialState(
  known: Partial<Pick<SavedState, 'file' | 'proofRecords' | 'restarts'>> = {},
): SavedState {
  return {
    file: null,
    proofRecords: [],
    producer: null,
    isUploaded: false,
    rows: 0,
    parts: [],
    uploaded: 0,
    restarts: 0,
    ...known,
  };
}

/** Random bytes in the keys of objects that only one attempt may write. */
const KEY_BYTES = 8;

/**
 * Saves and restores a job's state. The state itself is an object in R2; the file's row holds its
 * key and the identifier of the upload, and is written only while the job holds the lease.
 */
export class StateStore {
  uploadId: string | null;
  private key: string | null;

  constructor(
    private readonly context: { bucket: R2Bucket; runtime: Runtime },
    private readonly lease: Lease,
    private readonly file: FileRow,
  ) {
    this.uploadId = file.uploadId;
    this.key = file.state;
  }

  /** Whether a state is saved. */
  get hasState(): boolean {
    return this.key !== null;
  }

  /**
   * Restores the state and the bytes that no part holds yet; the initial state if none is saved.
   * @returns null if the object is gone, because the database was restored to an earlier time, or
   *   if another version of the service wrote it
   */
  async restore(): Promise<{ state: SavedState; rest: Uint8Array } | null> {
    if (this.key === null) return { state: initialState(), rest: new Uint8Array() };
    const object = await this.context.bucket.get(this.key);
    return object && decodeState(new Uint8Array(await object.arrayBuffer()));
  }

  /**
   * Saves a state in place of the one before.
   * @param rest the bytes that no part holds yet
   * @throws LeaseLost
   */
  async save(state: SavedState, rest: Uint8Array, uploadId = this.uploadId): Promise<void> {
    const { bucket, runtime } = this.context;
    const superseded = this.key;
    const key = workingKey(this.file, 'state', runtime.random(KEY_BYTES));
    await bucket.put(key, encodeState(state, rest));
    try {
      await this.lease.advance({ state: key, uploadId });
    } catch (error) {
      if (error instanceof LeaseLost) await bucket.delete(key);
      throw error;
    }
    this.key = key;
    this.uploadId = uploadId;
    if (superseded !== null) await bucket.delete(superseded);
  }

  /** Stores proof records, and returns their key. */
  async saveProofRecords(records: Uint8Array): Promise<string> {
    const { bucket, runtime } = this.context;
    const key = workingKey(this.file, 'records', runtime.random(KEY_BYTES));
    await bucket.put(key, records);
    return key;
  }

  /**
   * Creates an upload and records its identifier before it has a part. An upload without parts
   * holds nothing, so one whose identifier is lost in a crash leaves nothing behind.
   * @throws LeaseLost
   */
  async createUpload(objectKey: string): Promise<string> {
    const { bucket } = this.context;
    const { uploadId } = await bucket.createMultipartUpload(objectKey);
    try {
      await this.lease.advance({ uploadId });
    } catch (error) {
      if (error instanceof LeaseLost) await abortUpload(bucket, objectKey, uploadId);
      throw error;
    }
    this.uploadId = uploadId;
    return uploadId;
  }
}

/** The version of the saved form. A state of another version is not read: its file starts over. */
const VERSION = 3;

const LENGTH_BYTES = 4;

/** A state and the bytes after it as one object: the length of the JSON, the JSON, the bytes. */
function encodeState(state: SavedState, rest: Uint8Array): Uint8Array {
  const json = new TextEncoder().encode(JSON.stringify({ ...state, version: VERSION }));
  const length = new Uint8Array(LENGTH_BYTES);
  new DataView(length.buffer).setUint32(0, json.length);
  return concatBytes(length, json, rest);
}

function decodeState(bytes: Uint8Array): { state: SavedState; rest: Uint8Array } | null {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
  const json = bytes.subarray(LENGTH_BYTES, LENGTH_BYTES + length);
  const { version, ...state }: SavedState & { version?: number } = JSON.parse(
    new TextDecoder().decode(json),
  );
  if (version !== VERSION) return null;
  return { state, rest: bytes.slice(LENGTH_BYTES + length) };
}

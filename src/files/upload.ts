import { phaseOf, type SavedState, type StateStore } from './saved-state';

/**
 * Cuts a stream of bytes into parts of one size, as R2 requires, and uploads each. A part depends
 * only on its place in the stream, so uploading it again uploads the same bytes.
 */
export class Upload {
  /** The bytes that no part holds yet: the first `filled` ones. */
  private readonly part: Uint8Array<ArrayBuffer>;
  private filled: number;
  /**
   * Hashes the stream; null for a proof, whose hash nobody needs, and if an earlier job began the
   * stream.
   */
  private readonly hash: { stream: DigestStream; writer: WritableStreamDefaultWriter } | null =
    null;

  /**
   * @param store creates the multipart upload and knows its identifier
   * @param state its parts are updated; its phase tells a proof from a file
   * @param rest the bytes that no part holds yet
   */
  constructor(
    private readonly bucket: R2Bucket,
    private readonly key: string,
    private readonly store: StateStore,
    private readonly state: Pick<SavedState, 'file' | 'parts' | 'uploaded'>,
    rest: Uint8Array,
    partSize: number,
  ) {
    this.part = new Uint8Array(partSize);
    this.part.set(rest);
    this.filled = rest.length;
    if (this.size === 0 && phaseOf(state) === 'file') {
      const stream = new crypto.DigestStream('SHA-256');
      this.hash = { stream, writer: stream.getWriter() };
    }
  }

  /** Size of all bytes so far. */
  get size(): number {
    return this.state.uploaded + this.filled;
  }

  /** Adds bytes to the stream, and uploads each part that they fill. */
  async write(chunk: Uint8Array): Promise<void> {
    for (let at = 0; at < chunk.length; ) {
      const end = Math.min(chunk.length, at + this.part.length - this.filled);
      this.part.set(chunk.subarray(at, end), this.filled);
      this.filled += end - at;
      at = end;
      if (this.filled === this.part.length) await this.uploadPart();
    }
  }

  /**
   * Uploads the remaining bytes as the last part. A stream that has not filled a part becomes an
   * object without an upload; otherwise the caller completes the upload.
   * @returns SHA-256 of the stream; null for a proof, and if this object has not seen all of the
   *   stream
   */
  async end(): Promise<Uint8Array | null> {
    if (this.store.uploadId === null) {
      const whole = this.rest();
      await this.bucket.put(this.key, whole);
      if (phaseOf(this.state) === 'proof') return null;
      return new Uint8Array(await crypto.subtle.digest('SHA-256', whole));
    }
    if (this.filled > 0) await this.uploadPart();
    if (!this.hash) return null;
    await this.hash.writer.close();
    return new Uint8Array(await this.hash.stream.digest);
  }

  /** The bytes that no part holds yet, without a copy: they change with the next write. */
  rest(): Uint8Array<ArrayBuffer> {
    return this.part.subarray(0, this.filled);
  }

  private async uploadPart(): Promise<void> {
    const { state, store } = this;
    const uploadId = store.uploadId ?? (await store.createUpload(this.key));
    const upload = this.bucket.resumeMultipartUpload(this.key, uploadId);
    const bytes = this.rest();
    // Both have to finish before new bytes overwrite these.
    const [{ etag }] = await Promise.all([
      upload.uploadPart(state.parts.length + 1, bytes),
      this.hash?.writer.write(bytes),
    ]);
    state.parts.push(etag);
    state.uploaded += this.filled;
    this.filled = 0;
  }
}

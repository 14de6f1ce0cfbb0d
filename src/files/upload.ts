/** Where an upload stands. */
export interface UploadProgress {
  uploadId: string | null;
  /** The ETags of the parts so far. */
  parts: string[];
  /** Size of these parts, in bytes. */
  uploaded: number;
}

/**
 * Cuts a stream of bytes into parts of one size, as R2 wants them, and uploads each. A part depends on its place in the
 * stream alone: one that is uploaded again is the same.
 */
export class Upload {
  /** The bytes that no part holds yet, from its start. */
  private readonly part: Uint8Array<ArrayBuffer>;
  private filled: number;
  /** Follows the stream as long as this object saw it from its first byte. */
  private readonly hash: { stream: DigestStream; writer: WritableStreamDefaultWriter } | null;

  /**
   * @param rest bytes that no part holds yet
   * @param create makes the upload and remembers it, before its first part
   */
  constructor(
    private readonly bucket: R2Bucket,
    private readonly key: string,
    private readonly progress: UploadProgress,
    rest: Uint8Array,
    partSize: number,
    private readonly create: () => Promise<string>,
  ) {
    this.part = new Uint8Array(partSize);
    this.part.set(rest);
    this.filled = rest.length;
    const stream = this.size === 0 ? new crypto.DigestStream('SHA-256') : null;
    this.hash = stream && { stream, writer: stream.getWriter() };
  }

  /** Size of all bytes so far. */
  get size(): number {
    return this.progress.uploaded + this.filled;
  }

  /** Size of the bytes that no part holds yet. */
  get pending(): number {
    return this.filled;
  }

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
   * Uploads what is left as the last part; a file that needed no part is put as it is.
   * @returns SHA-256 of the file; null where this object did not see all of its bytes
   */
  async end(): Promise<Uint8Array | null> {
    if (this.progress.uploadId === null) {
      const whole = this.rest();
      await this.bucket.put(this.key, whole);
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
    const { progress } = this;
    progress.uploadId ??= await this.create();
    const upload = this.bucket.resumeMultipartUpload(this.key, progress.uploadId);
    const bytes = this.part.subarray(0, this.filled);
    // Both are done with the bytes before others take their place.
    const [{ etag }] = await Promise.all([
      upload.uploadPart(progress.parts.length + 1, bytes),
      this.hash?.writer.write(bytes),
    ]);
    progress.parts.push(etag);
    progress.uploaded += this.filled;
    this.filled = 0;
  }
}

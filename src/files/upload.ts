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
  private pending: Uint8Array[];
  private pendingSize: number;
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
    private readonly partSize: number,
    private readonly create: () => Promise<string>,
  ) {
    this.pending = rest.length > 0 ? [rest] : [];
    this.pendingSize = rest.length;
    const stream = this.size === 0 ? new crypto.DigestStream('SHA-256') : null;
    this.hash = stream && { stream, writer: stream.getWriter() };
  }

  /** Size of all bytes so far. */
  get size(): number {
    return this.progress.uploaded + this.pendingSize;
  }

  async write(chunk: Uint8Array): Promise<void> {
    if (chunk.length === 0) return;
    await this.hash?.writer.write(chunk);
    this.pending.push(chunk);
    this.pendingSize += chunk.length;
    while (this.pendingSize >= this.partSize) await this.uploadPart(this.partSize);
  }

  /**
   * Uploads what is left as the last part; a file that needed no part is put as it is.
   * @returns SHA-256 of the file; null where this object did not see all of its bytes
   */
  async end(): Promise<Uint8Array | null> {
    if (this.progress.uploadId === null) {
      const whole = this.take(this.pendingSize);
      await this.bucket.put(this.key, whole);
      return new Uint8Array(await crypto.subtle.digest('SHA-256', whole));
    }
    if (this.pendingSize > 0) await this.uploadPart(this.pendingSize);
    if (!this.hash) return null;
    await this.hash.writer.close();
    return new Uint8Array(await this.hash.stream.digest);
  }

  /** The bytes that no part holds yet. */
  rest(): Uint8Array {
    const rest = this.take(this.pendingSize);
    this.pending = [rest];
    this.pendingSize = rest.length;
    return rest;
  }

  private async uploadPart(size: number): Promise<void> {
    const { progress } = this;
    progress.uploadId ??= await this.create();
    const upload = this.bucket.resumeMultipartUpload(this.key, progress.uploadId);
    const { etag } = await upload.uploadPart(progress.parts.length + 1, this.take(size));
    progress.parts.push(etag);
    progress.uploaded += size;
  }

  /** Takes so many bytes from the front of what is pending. */
  private take(size: number): Uint8Array<ArrayBuffer> {
    const taken = new Uint8Array(size);
    let filled = 0;
    while (filled < size) {
      const chunk = this.pending.shift();
      if (!chunk) throw new Error('fewer bytes are pending than were counted');
      const part = chunk.subarray(0, size - filled);
      taken.set(part, filled);
      filled += part.length;
      if (part.length < chunk.length) this.pending.unshift(chunk.subarray(part.length));
    }
    this.pendingSize -= size;
    return taken;
  }
}

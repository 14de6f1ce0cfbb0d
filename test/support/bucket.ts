interface StoredUpload {
  key: string;
  parts: Map<number, { etag: string; bytes: Uint8Array }>;
}

/**
 * A bucket in memory that refuses what R2 refuses, with the same messages. The minimum size of
 * parts can be set, and open uploads can be listed. buckets.test.ts compares it with R2.
 */
export class TestBucket {
  private readonly objects = new Map<string, Uint8Array>();
  /** The time at which each object was written. */
  private readonly times = new Map<string, Date>();
  private readonly uploads = new Map<string, StoredUpload>();

  /**
   * @param leastPart minimum size of every part but the last, in bytes
   * @param pageSize maximum number of objects in a page of a list
   * @param now the clock, in milliseconds since the epoch
   */
  constructor(
    private readonly leastPart: number,
    private readonly pageSize = 2,
    private readonly now = () => Date.now(),
  ) {}

  /** The keys of all objects, in order. */
  get keys(): string[] {
    return [...this.objects.keys()].toSorted();
  }

  /** The keys of objects that belong to files, without those of log trees. */
  get fileKeys(): string[] {
    return this.keys.filter((key) => key.startsWith('files/'));
  }

  /** Saves the contents; returns a function that restores them. */
  save(): () => void {
    const [objects, uploads] = [new Map(this.objects), structuredClone(this.uploads)];
    return () => {
      this.objects.clear();
      this.uploads.clear();
      for (const [key, bytes] of objects) this.objects.set(key, bytes);
      for (const [id, upload] of structuredClone(uploads)) this.uploads.set(id, upload);
    };
  }

  /** The keys of all uploads that are neither completed nor aborted and have a part. */
  get openUploads(): string[] {
    return [...this.uploads.values()].filter(({ parts }) => parts.size > 0).map(({ key }) => key);
  }

  /** The binding for the service. */
  get binding(): R2Bucket {
    return {
      put: async (key: string, value: Uint8Array, { onlyIf }: { onlyIf?: R2Conditional } = {}) => {
        if (onlyIf?.etagDoesNotMatch === '*' && this.objects.has(key)) return null;
        this.write(key, Uint8Array.from(value));
        return { key };
      },
      get: async (key: string, { range }: { range?: { offset: number; length: number } } = {}) => {
        const object = this.objects.get(key);
        if (!object) return null;
        const bytes = range
          ? object.slice(range.offset, range.offset + range.length)
          : object.slice();
        return {
          size: object.length,
          body: new Response(bytes).body,
          arrayBuffer: async () => bytes.buffer,
          text: async () => new TextDecoder().decode(bytes),
        };
      },
      head: async (key: string) => {
        const object = this.objects.get(key);
        return object ? { size: object.length } : null;
      },
      list: async ({
        prefix = '',
        startAfter = '',
        cursor = startAfter,
        limit = this.pageSize,
      }: R2ListOptions = {}) => this.list(prefix, cursor, Math.min(limit, this.pageSize)),
      delete: async (keys: string | string[]) => {
        for (const key of [keys].flat()) this.objects.delete(key);
      },
      createMultipartUpload: async (key: string) => {
        const uploadId = crypto.randomUUID();
        this.uploads.set(uploadId, { key, parts: new Map() });
        return { uploadId };
      },
      resumeMultipartUpload: (_: string, uploadId: string) => ({
        uploadPart: async (number: number, value: Uint8Array) => {
          const upload = this.uploads.get(uploadId);
          if (!upload)
            throw new Error('uploadPart: The specified multipart upload does not exist. (10024)');
          const etag = crypto.randomUUID();
          upload.parts.set(number, { etag, bytes: Uint8Array.from(value) });
          return { partNumber: number, etag };
        },
        complete: async (parts: R2UploadedPart[]) => this.complete(uploadId, parts),
        abort: async () => void this.uploads.delete(uploadId),
      }),
    } as unknown as R2Bucket;
  }

  private write(key: string, bytes: Uint8Array): void {
    this.objects.set(key, bytes);
    this.times.set(key, new Date(this.now()));
  }

  private list(prefix: string, after: string, limit: number) {
    const found = this.keys.filter((key) => key.startsWith(prefix) && key > after);
    const page = found.slice(0, limit);
    const objects = page.map((key) => ({ key, uploaded: this.times.get(key) ?? new Date(0) }));
    return { objects, truncated: found.length > page.length, cursor: page.at(-1) };
  }

  private complete(uploadId: string, named: R2UploadedPart[]): void {
    const fail = (why: string) => new Error(`completeMultipartUpload: ${why}`);
    const upload = this.uploads.get(uploadId);
    if (!upload) throw fail('The specified multipart upload does not exist. (10024)');
    const parts = named.map(({ partNumber, etag }) => {
      const part = upload.parts.get(partNumber);
      if (part?.etag !== etag)
        throw fail('One or more of the specified parts could not be found. (10025)');
      return part.bytes;
    });
    const [first] = parts;
    for (const part of parts.slice(0, -1)) {
      if (part.length < this.leastPart) {
        throw fail('Your proposed upload is smaller than the minimum allowed object size. (10011)');
      }
      if (part.length !== first?.length)
        throw fail('There was a problem with the multipart upload. (10048)');
    }
    const sizes = parts.map(({ length }) => length);
    if ((sizes.at(-1) ?? 0) > (sizes[0] ?? 0))
      throw fail('There was a problem with the multipart upload. (10048)');
    const whole = new Uint8Array(sizes.reduce((sum, size) => sum + size, 0));
    parts.reduce((at, part) => {
      whole.set(part, at);
      return at + part.length;
    }, 0);
    this.write(upload.key, whole);
    this.uploads.delete(uploadId);
  }
}

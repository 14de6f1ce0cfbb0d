import { env } from 'cloudflare:test';
import { expect, it } from 'vitest';
import { TestBucket } from '../support/bucket';

const PART = 5 * 2 ** 20;

const BUCKETS: [string, () => R2Bucket][] = [
  ['R2', () => env.FILES],
  ['the test bucket', () => new TestBucket(PART).binding],
];

const filled = (size: number) => new Uint8Array(size).fill(7);

async function begin(bucket: R2Bucket, key: string): Promise<R2MultipartUpload> {
  return bucket.resumeMultipartUpload(key, (await bucket.createMultipartUpload(key)).uploadId);
}

/** The outcome of a call: 'done' or R2's error number. */
async function outcome(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => 'done',
    (error: unknown) => /\((\d+)\)/.exec(String(error))?.[1],
  );
}

it.each(BUCKETS)(
  '%s completes an upload only if all parts but the last have the same size',
  async (_, open) => {
    const bucket = open();
    const complete = async (sizes: number[]) => {
      const upload = await begin(bucket, 'parts');
      const parts = await Promise.all(
        sizes.map((size, i) => upload.uploadPart(i + 1, filled(size))),
      );
      return [await outcome(upload.complete(parts)), (await bucket.head('parts'))?.size];
    };
    expect(await complete([PART, PART, 3])).toEqual(['done', 2 * PART + 3]);
    expect(await complete([PART + 1, PART, 3])).toEqual(['10048', 2 * PART + 3]);
    expect(await complete([PART, PART + 1])).toEqual(['10048', 2 * PART + 3]);
    expect(await complete([9, 3])).toEqual(['10011', 2 * PART + 3]);
  },
);

it.each(BUCKETS)('%s completes an upload only with the newest ETag of a part', async (_, open) => {
  const bucket = open();
  const upload = await begin(bucket, 'again');
  const first = await upload.uploadPart(1, filled(9));
  const second = await upload.uploadPart(1, filled(9));
  expect(await outcome(upload.complete([first]))).toBe('10025');
  expect(await outcome(upload.complete([second]))).toBe('done');
});

it.each(BUCKETS)('%s refuses parts of an upload that was completed or aborted', async (_, open) => {
  const bucket = open();
  for (const end of ['complete', 'abort'] as const) {
    const upload = await begin(bucket, end);
    const part = await upload.uploadPart(1, filled(9));
    await (end === 'complete' ? upload.complete([part]) : upload.abort());
    expect(await outcome(upload.uploadPart(1, filled(9)))).toBe('10024');
    expect(await outcome(upload.complete([part]))).toBe('10024');
    expect(await outcome(upload.abort())).toBe('done');
    expect((await bucket.head(end))?.size).toBe(end === 'complete' ? 9 : undefined);
  }
});

it.each(BUCKETS)('%s returns ranges, and lists by prefix in pages', async (_, open) => {
  const bucket = open();
  for (const key of ['a/1', 'a/2', 'a/3', 'b/1']) await bucket.put(key, Uint8Array.of(1, 2, 3, 4));
  const range = await bucket.get('a/1', { range: { offset: 1, length: 2 } });
  expect(new Uint8Array((await range?.arrayBuffer()) ?? [])).toEqual(Uint8Array.of(2, 3));
  expect(await bucket.get('a/4')).toBeNull();
  const keys: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await bucket.list({ prefix: 'a/', ...(cursor !== undefined && { cursor }) });
    keys.push(...page.objects.map(({ key }) => key));
    cursor = page.truncated ? page.cursor : undefined;
  } while (cursor !== undefined);
  expect(keys).toEqual(['a/1', 'a/2', 'a/3']);
  await bucket.delete(keys);
  expect((await bucket.list({ prefix: 'a/' })).objects).toEqual([]);
});

it.each(BUCKETS)('%s returns the time at which an object was written', async (_, open) => {
  const bucket = open();
  const before = Date.now();
  const put = () => bucket.put('written', Uint8Array.of(1), { onlyIf: { etagDoesNotMatch: '*' } });
  await put();
  const writtenAt = async () =>
    (await bucket.list({ prefix: 'written' })).objects[0]?.uploaded.getTime() ?? 0;
  const first = await writtenAt();
  expect(first).toBeGreaterThanOrEqual(before);
  expect(first).toBeLessThanOrEqual(Date.now());
  await put();
  expect(await writtenAt()).toBe(first);
});

it.each(BUCKETS)(
  '%s writes conditionally, and lists the keys after a given key',
  async (_, open) => {
    const bucket = open();
    const putOnce = (key: string, byte: number) =>
      bucket.put(key, Uint8Array.of(byte), { onlyIf: { etagDoesNotMatch: '*' } });
    expect(await putOnce('once/1', 1)).not.toBeNull();
    expect(await putOnce('once/1', 2)).toBeNull();
    expect(new Uint8Array((await (await bucket.get('once/1'))?.arrayBuffer()) ?? [])).toEqual(
      Uint8Array.of(1),
    );
    for (const key of ['once/2', 'once/3', 'other/4']) await putOnce(key, 1);
    const after = async (startAfter: string) => {
      const { objects } = await bucket.list({ prefix: 'once/', startAfter, limit: 1 });
      return objects.map(({ key }) => key);
    };
    expect([await after('once/1'), await after('once/2'), await after('once/3')]).toEqual([
      ['once/2'],
      ['once/3'],
      [],
    ]);
  },
);

import { expect, it } from 'vitest';
import { MAX_CALL_BYTES, readBodyBytes } from '../../src/connections/proxy/read-body';

const PART = 64 * 1024;

/** A request with a body of so many bytes that comes in chunks, of unknown length by default. */
function requestOf(size: number, chunk: number, headers: Record<string, string> = {}): Request {
  let sent = 0;
  const body = new ReadableStream({
    type: 'bytes',
    pull(controller) {
      const length = Math.min(chunk, size - sent);
      if (length > 0) controller.enqueue(bytesOf(sent, length));
      sent += length;
      if (sent === size) controller.close();
    },
  });
  return new Request('https://countersign.test', { method: 'POST', body, headers });
}

function bytesOf(start: number, length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, at) => (start + at) % 251);
}

it.each([
  [1, 1, undefined],
  [1_000, 7, undefined],
  [1_000, 7, '1000'],
  [PART, 4_096, undefined],
  [PART + 1, 4_096, String(PART + 1)],
  [3 * PART + 5, PART, undefined],
  // A length that is not that of the body.
  [1_000, 1_000, '10'],
  [1_000, 100, '2000'],
  [1_000, 100, 'x'],
  [1_000, 100, '-1'],
  [MAX_CALL_BYTES, 30_000, undefined],
  [MAX_CALL_BYTES, 30_000, String(MAX_CALL_BYTES)],
])('reads %d bytes in chunks of %d, with Content-Length %s', async (size, chunk, length) => {
  const headers = length === undefined ? {} : { 'Content-Length': length };
  const bytes = await readBodyBytes(requestOf(size, chunk, headers));
  expect(bytes.length).toBe(size);
  expect(bytes.every((byte, at) => byte === at % 251)).toBe(true);
});

it.each([
  [MAX_CALL_BYTES + 1, undefined],
  [MAX_CALL_BYTES + 1, String(MAX_CALL_BYTES + 1)],
  [MAX_CALL_BYTES + 1, '70000'],
  [64 * MAX_CALL_BYTES, undefined],
])('refuses %d bytes with Content-Length %s', async (size, length) => {
  const headers = length === undefined ? {} : { 'Content-Length': length };
  await expect(readBodyBytes(requestOf(size, 50_000, headers))).rejects.toMatchObject({
    code: 'payload_too_large',
  });
});

it('reads a request without a body, and one with an empty body', async () => {
  const url = 'https://countersign.test';
  expect(await readBodyBytes(new Request(url))).toHaveLength(0);
  expect(await readBodyBytes(new Request(url, { method: 'POST', body: '' }))).toHaveLength(0);
});

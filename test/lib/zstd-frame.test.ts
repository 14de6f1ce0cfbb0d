import { zstdDecompressSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { storedZstdFrame } from '../../src/lib/zstd-frame';

it.each([0, 1, 1_000, 131_071, 131_072, 131_073, 300_000])(
  'a stored frame of %d bytes is decompressed by zstd',
  (size) => {
    const bytes = Uint8Array.from({ length: size }, (_, i) => (i * 7_919) % 251);
    expect(new Uint8Array(zstdDecompressSync(storedZstdFrame(bytes)))).toEqual(bytes);
  },
);

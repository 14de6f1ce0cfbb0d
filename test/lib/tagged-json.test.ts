import { expect, it } from 'vitest';
import { fromTaggedJson, toTaggedJson } from '../../src/lib/tagged-json';

it('tagged JSON preserves big integers, bytes and dates', () => {
  const value = {
    a: [1n, -(2n ** 63n), 'x', null, true],
    b: { c: Uint8Array.of(0, 255), d: new Date(5), e: {} },
  };
  const text = JSON.stringify(toTaggedJson({ ...value, gone: undefined }));
  expect(fromTaggedJson(JSON.parse(text))).toEqual(value);
});

import { expect, it } from 'vitest';
import { parseRange } from '../../src/lib/range';

it.each<[string | undefined, number, ReturnType<typeof parseRange>]>([
  [undefined, 10, null],
  ['bytes=0-9', 10, { offset: 0, length: 10 }],
  ['bytes=9-', 10, { offset: 9, length: 1 }],
  ['bytes=-1', 10, { offset: 9, length: 1 }],
  ['bytes=-11', 10, { offset: 0, length: 10 }],
  ['bytes=10-', 10, 'unsatisfiable'],
  ['bytes=-0', 10, 'unsatisfiable'],
  ['bytes=0-', 0, 'unsatisfiable'],
  ['bytes=-5', 0, 'unsatisfiable'],
  ['bytes=5-4', 10, null],
  ['bytes=1-2,4-5', 10, null],
])('the range header %j of a file of %d bytes gives %j', (header, size, expected) => {
  expect(parseRange(header, size)).toEqual(expected);
});

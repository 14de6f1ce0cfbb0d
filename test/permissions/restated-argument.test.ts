import { describe, expect, it } from 'vitest';
import { compareRestated, JSON_POINTER, pointerTo } from '../../src/permissions/restated-argument';

const INPUT = {
  amount: 1000,
  rate: 0.5,
  to: 'supplier-3',
  memo: ' Rent ',
  'a/b': { 'm~n': 'x' },
  items: [{ name: 'one' }, null],
  '': 'empty',
  paid: false,
};

describe('a field that restates an argument', () => {
  it.each([
    ['/amount', '1000', 1000],
    ['/rate', '0.5', 0.5],
    ['/to', 'supplier-3', 'supplier-3'],
    ['/memo', ' Rent ', ' Rent '],
    ['/a~1b/m~0n', 'x', 'x'],
    ['/items/0/name', 'one', 'one'],
    ['/items/1', 'null', null],
    ['/items/0', '{"name":"one"}', { name: 'one' }],
    ['/', 'empty', 'empty'],
    ['/paid', 'false', false],
  ])('is the same as %s where every character is', (pointer, value, argument) => {
    expect(compareRestated(value, pointer, INPUT)).toEqual({ kind: 'same', argument });
    for (const other of [`${value} `, ` ${value}`, `"${value}"`])
      expect(compareRestated(other, pointer, INPUT)).toEqual({ kind: 'differs', argument });
  });

  it.each(['/Amount', '/items/2', '/items/-', '/items/00', '/amount/0', '/__proto__', '/toString'])(
    'is of no argument at %s',
    (pointer) => {
      expect(compareRestated('1000', pointer, INPUT)).toEqual({ kind: 'absent' });
    },
  );

  it('may restate all of the arguments', () => {
    expect(compareRestated('5', '', 5)).toEqual({ kind: 'same', argument: 5 });
    expect(compareRestated('text', '', 'text')).toEqual({ kind: 'same', argument: 'text' });
  });

  it('is named by a JSON Pointer of RFC 6901', () => {
    for (const valid of ['', '/', '/a', '/a/0', '/a~0b~1c', '/ ', '/é']) {
      expect(JSON_POINTER.test(valid)).toBe(true);
    }
    for (const invalid of ['a', '#/a', '/a~', '/a~2', 'a/b']) {
      expect(JSON_POINTER.test(invalid)).toBe(false);
    }
    expect(pointerTo(['a/b', 'm~n', '0'])).toBe('/a~1b/m~0n/0');
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonDepth } from '../../src/lib/json';
import { findExceededLimit } from '../../src/lib/json-limits';

/**
 * The number of members in all objects and arrays of a value. An empty object or array counts as
 * one member.
 */
function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const members = Object.values(value);
  return (
    Math.max(1, members.length) + members.reduce((sum, member) => sum + countMembers(member), 0)
  );
}

describe('an exceeded limit of a JSON text', () => {
  it('is found exactly if the parsed value has more levels or values', () => {
    const values = fc.jsonValue({ maxDepth: 6 });
    fc.assert(
      fc.property(values, fc.boolean(), (value, isSpaced) => {
        const text = JSON.stringify(value, null, isSpaced ? 2 : 0);
        const [levels, members] = [jsonDepth(value), countMembers(value)];
        expect(findExceededLimit(text, { levels, values: members })).toBeNull();
        if (levels > 0)
          expect(findExceededLimit(text, { levels: levels - 1, values: members })?.limit).toBe(
            'levels',
          );
        if (members > 0)
          expect(findExceededLimit(text, { levels, values: members - 1 })?.limit).toBe('values');
      }),
      { numRuns: 1_000 },
    );
  });

  it.each<[string, string | null]>([
    ['{"a":1,"b":[[]]}', 'b'],
    ['{"a":1,"b" : [[]]}', 'b'],
    ['{"a":"b:","c":{"d":[]}}', 'c'],
    ['{"a":0,"b":0,"c":0,"d":0,"e":0,"f":0}', null],
    ['{"\\"":[[]]}', '\\"'],
    ['{"\\\\":[[]]}', '\\\\'],
    ['[{"a":[]}]', null],
    ['[[[', null],
  ])('in %s is reported with the member %j', (text, member) => {
    expect(findExceededLimit(text, { levels: 2, values: 5 })).toMatchObject({ member });
  });

  it('is not found in the content of strings', () => {
    for (const text of ['"[[[,,,"', '{"[[":",,,"}', '"\\"[[[["', '"\\\\\\"[[[["', '"[[[[', '"\\']) {
      expect(findExceededLimit(text, { levels: 1, values: 1 })).toBeNull();
    }
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  equalJson,
  isJsonObject,
  type Json,
  jsonDepth,
  jsonFault,
  jsonSize,
  writeJson,
} from '../../src/lib/json';
import { depth } from '../support/depth';

const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

describe('a fault of a JSON value', () => {
  it.each([
    ['a NUL', '"a\\u0000b"'],
    ['a lone high surrogate', '"\\ud800"'],
    ['a lone low surrogate', '"\\udc00"'],
    ['a pair of surrogates in the wrong order', '"\\udc00\\ud800"'],
    ['a NUL in an array', '[[1, "\\u0000"]]'],
    ['a lone surrogate in a member', '{"a": {"b": "\\udfff"}}'],
    ['a NUL in a key', '{"\\u0000": 1}'],
    ['a lone surrogate in a key', '{"a": [{"x\\ud83d": 1}]}'],
  ])('is %s', (_, text) => {
    expect(jsonFault(JSON.parse(text))).toEqual(expect.any(String));
  });

  it.each([
    '"😀"',
    '"\\ud83d\\ude00"',
    '""',
    '"\\u0001"',
    'null',
    'true',
    '1.7976931348623157e308',
    '-5e-324',
    '{"__proto__": {"a": 1}}',
    '[{"": []}]',
  ])('is not found in %s', (text) => {
    expect(jsonFault(JSON.parse(text))).toBeNull();
  });

  it('is found in a member named __proto__', () => {
    expect(jsonFault(JSON.parse('{"__proto__": {"a": "\\u0000"}}'))).toEqual(expect.any(String));
  });
});

describe('the depth of a JSON value', () => {
  it.each([
    ['1', 0],
    ['"a"', 0],
    ['null', 0],
    ['{}', 1],
    ['[]', 1],
    ['{"a": 1}', 1],
    ['{"a": {}}', 2],
    ['[[], [[1]], []]', 3],
    ['{"a": [{"b": []}], "c": 1}', 4],
    ['{"__proto__": {"a": []}}', 3],
  ])('of %s is %d', (text, depth) => {
    expect(jsonDepth(JSON.parse(text))).toBe(depth);
  });

  it('is found even for 100,000 levels', () => {
    expect(jsonDepth(nested(100_000))).toBe(100_000);
  });
});

describe('the size of a JSON value', () => {
  it.each([
    ['{ "a" : 1 }', 7],
    ['"é"', 4],
    ['"😀"', 6],
    ['"\\u0041"', 3],
    ['{}', 2],
  ])('of %s is %d bytes', (text, size) => {
    expect(jsonSize(JSON.parse(text))).toBe(size);
  });
});

describe('a JSON object', () => {
  it('is neither an array nor null nor a scalar', () => {
    const answers = ['{}', '[]', 'null', '1', '"{}"', 'true'].map((text) =>
      isJsonObject(JSON.parse(text)),
    );
    expect(answers).toEqual([true, false, false, false, false, false]);
  });
});

describe('two JSON values', () => {
  it('are equal exactly if they have the same members, in any order', () => {
    const equal = [
      ['{"a": 1, "b": [{"c": null, "d": ""}]}', '{"b": [{"d": "", "c": null}], "a": 1}'],
      ['{"__proto__": 1}', '{"__proto__": 1}'],
      ['-0', '0'],
      ['1.0', '1'],
      ['[]', '[]'],
    ];
    for (const [a = '', b = ''] of equal)
      expect([a, equalJson(JSON.parse(a), JSON.parse(b))]).toEqual([a, true]);
    const different = [
      ['{"a": 1}', '{"a": 2}'],
      ['{"a": 1}', '{"a": 1, "b": 1}'],
      ['{"a": 1, "b": 1}', '{"a": 1}'],
      ['{"toString": null}', '{"a": null}'],
      ['{"__proto__": {}}', '{"a": {}}'],
      ['[1, 2]', '[2, 1]'],
      ['[]', '{}'],
      ['{"0": 1}', '[1]'],
      ['null', '{}'],
      ['1', '"1"'],
      ['false', '0'],
    ];
    for (const [a = '', b = ''] of different) {
      expect([a, equalJson(JSON.parse(a), JSON.parse(b))]).toEqual([a, false]);
      expect([b, equalJson(JSON.parse(b), JSON.parse(a))]).toEqual([b, false]);
    }
  });

  it('are compared without a stack overflow if only one is very deep', () => {
    expect(equalJson(nested(100_000) as Json, nested(5) as Json)).toBe(false);
    expect(equalJson(nested(5) as Json, nested(100_000) as Json)).toBe(false);
  });
});

describe('JSON from writeJson', () => {
  it.runIf(depth.isDeep)(
    'equals that of JSON.stringify, and is written even for values that are too deep for it',
    () => {
      const inner = fc.jsonValue({ maxDepth: 4 });
      fc.assert(
        fc.property(inner, fc.constantFrom(0, 4_000), (value, levels) => {
          const text = `${'{"0":['.repeat(levels)}${JSON.stringify(value)}${']}'.repeat(levels)}`;
          expect(writeJson(JSON.parse(text))).toBe(text);
        }),
        { numRuns: 200 },
      );
      const deep = JSON.parse(`${'{"0":'.repeat(8_000)}1${'}'.repeat(8_000)}`);
      expect(() => JSON.stringify(deep)).toThrow(RangeError);
      expect(writeJson({ a: undefined, deep, b: 'ü\n' })).toBe(
        `{"deep":${'{"0":'.repeat(8_000)}1${'}'.repeat(8_000)},"b":"ü\\n"}`,
      );
    },
  );
});

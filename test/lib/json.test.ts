import { describe, expect, it } from 'vitest';
import { isJsonObject, jsonDepth, jsonFault, jsonSize } from '../../src/lib/json';

const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

describe('what cannot be kept of a JSON value', () => {
  it.each([
    ['a NUL', '"a\\u0000b"'],
    ['a high surrogate alone', '"\\ud800"'],
    ['a low surrogate alone', '"\\udc00"'],
    ['surrogates the wrong way round', '"\\udc00\\ud800"'],
    ['a NUL in an array', '[[1, "\\u0000"]]'],
    ['a lone surrogate in a member', '{"a": {"b": "\\udfff"}}'],
    ['a NUL in a key', '{"\\u0000": 1}'],
    ['a lone surrogate in a key', '{"a": [{"x\\ud83d": 1}]}'],
    ['a number beyond the range', '1e999'],
    ['a number below the range', '{"a": [-1e400]}'],
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
  ])('is nothing of %s', (text) => {
    expect(jsonFault(JSON.parse(text))).toBeNull();
  });

  it('is found in a member named like the prototype', () => {
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

  it('is found however deep it is', () => {
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
  it('is neither array nor null nor scalar', () => {
    const answers = ['{}', '[]', 'null', '1', '"{}"', 'true'].map((text) => isJsonObject(JSON.parse(text)));
    expect(answers).toEqual([true, false, false, false, false, false]);
  });
});

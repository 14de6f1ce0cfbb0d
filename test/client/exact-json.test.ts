import fc from 'fast-check';
import { expect, it } from 'vitest';
import { findJsonLosses } from '../../src/lib/exact-json';
import { findJsonLoss, parseExactJson } from '../../src/packages/client/exact-json';

const NUMBERS = [
  '1',
  '-0',
  '0.1',
  '1.50',
  '1E+2',
  '9007199254740993',
  '1e400',
  '1e-400',
  '0.1000000000000000055',
];
const NAMES = ['"a"', '"b"', '"\\u0061"', '"\\\\"', '"{,"'];

const { text } = fc.letrec<{ text: string }>((tie) => ({
  text: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(...NUMBERS, ...NAMES, 'true', 'null'),
    fc.array(tie('text'), { maxLength: 3 }).map((members) => `[${members.join(', ')}]`),
    fc
      .array(fc.tuple(fc.constantFrom(...NAMES), tie('text')), { maxLength: 3 })
      .map((members) => `{${members.map(([name, value]) => `${name} : ${value}`).join()}}`),
  ),
}));

it('finds the same first place that parsing changes as the service', () => {
  let changed = 0;
  const property = fc.property(text, (json) => {
    const [loss] = findJsonLosses(json);
    if (loss) changed += 1;
    const place = loss && (loss.path.join('.') || 'The value');
    expect([json, findJsonLoss(json)]).toEqual([
      json,
      loss ? expect.stringContaining(`${place} `) : null,
    ]);
  });
  fc.assert(property, { numRuns: 2_000 });
  expect(changed).toBeGreaterThan(200);
  expect(changed).toBeLessThan(1_800);
});

it('parses what parsing does not change, and throws for the rest', () => {
  expect(parseExactJson('{"a": [1.50, "x"]}')).toEqual({ a: [1.5, 'x'] });
  expect(() => parseExactJson('{"a": [9007199254740993]}')).toThrow(
    new SyntaxError('a.0 would be rounded to 9007199254740992.'),
  );
  expect(() => parseExactJson('{"a": 1, "a": 2}')).toThrow(new SyntaxError('a is given twice.'));
  expect(() => parseExactJson('{')).toThrow(SyntaxError);
});

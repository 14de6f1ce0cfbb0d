import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findJsonLosses, roundingFault } from '../../src/lib/exact-json';

/**
 * A decimal number as a whole number of units of 10^-800, which holds the digits of every double.
 */
function unitsOf(decimal: string): bigint {
  const [mantissa = '', exponent = '0'] = decimal.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const power = 800 + Number(exponent) - fraction.length;
  const digits = BigInt(`${whole}${fraction}`.replace(/^[+-]/, ''));
  const units = digits * 10n ** BigInt(power);
  return mantissa.startsWith('-') ? -units : units;
}

const digits = (minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength, maxLength });

/** JSON numbers of up to 25 digits, and the numbers that doubles are written as. */
const numbers = fc.oneof(
  fc
    .tuple(
      fc.boolean(),
      digits(1, 20),
      digits(0, 5),
      fc.option(fc.integer({ min: -330, max: 330 })),
      fc.boolean(),
    )
    .map(([isNegative, whole, fraction, exponent, isUpper]) => {
      const start = `${isNegative ? '-' : ''}${whole.replace(/^0+(?=.)/, '')}${fraction && `.${fraction}`}`;
      return exponent === null ? start : `${start}${isUpper ? 'E' : 'e'}${exponent}`;
    }),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((double) => JSON.stringify(double)),
);

describe('a number of a JSON text', () => {
  it('is reported exactly if the shortest decimal of its double has another value', () => {
    let taken = 0;
    const property = fc.property(numbers, (number) => {
      const double = Number(JSON.parse(number));
      const isExact = Number.isFinite(double) && unitsOf(number) === unitsOf(String(double));
      if (isExact) taken += 1;
      expect([number, [...findJsonLosses(`[${number}]`)].length]).toEqual([
        number,
        isExact ? 0 : 1,
      ]);
    });
    fc.assert(property, { numRuns: 2_000 });
    expect(taken).toBeGreaterThan(500);
    expect(taken).toBeLessThan(1_990);
  });

  it.each([
    '0.1',
    '1.50',
    '1e2',
    '1E+2',
    '-0',
    '0.0e999',
    '100e-2',
    '5e-324',
    '1.7976931348623157e308',
    '1e21',
  ])('may be %s', (number) => expect(roundingFault(number)).toBeNull());

  it.each([
    [
      '9007199254740993',
      'would be rounded to 9007199254740992: send it as text, or with fewer digits',
    ],
    ['0.1000000000000000055', 'would be rounded to 0.1: send it as text, or with fewer digits'],
    ['1e-400', 'would be rounded to 0: send it as text, or with fewer digits'],
    ['-1e400', 'is out of the range of a double: send it as text'],
    ['1e99999999999999999999', 'is out of the range of a double: send it as text'],
    ['NaN', 'is out of the range of a double: send it as text'],
  ])('may not be %s', (number, fault) => expect(roundingFault(number)).toBe(fault));

  it('is judged in linear time, however long it is', () => {
    const zeros = '0'.repeat(500_000);
    expect(roundingFault(`1${zeros}1${zeros}e-1000001`)).not.toBeNull();
    expect(roundingFault(`0.${zeros}1e500001`)).toBeNull();
  });
});

describe('the losses of a JSON text', () => {
  it.each<[string, (string | number)[][]]>([
    ['{"a": 1, "a": 2}', [['a']]],
    ['{"a": 1, "\\u0061": 2}', [['a']]],
    ['{"a": {"b": 1}, "c": {"b": 1}, "d": [{"b": 1}, {"b": 1}]}', []],
    ['[{"x": [0, {"y": 1, "z": 2, "y": 3}]}]', [[0, 'x', 1, 'y']]],
    ['{"a": {"a": {"a": 1}}, "a": 0}', [['a']]],
    ['{"__proto__": 1, "__proto__": 2}', [['__proto__']]],
    ['{"": 0, "": 9007199254740993}', [[''], ['']]],
    ['{"9007199254740993": "9007199254740993", "b": "\\"a\\":1e999,{["}', []],
    ['{"s": "a,b", "n": [1, "x,y", 9007199254740993]}', [['n', 2]]],
    ['[[], {}, [[]], 1e999]', [[3]]],
    [' 1e999 ', [[]]],
    ['[true, false, null, 1]', []],
  ])('of %s are at %j', (text, paths) => {
    JSON.parse(text);
    expect([...findJsonLosses(text)].map(({ path }) => path)).toEqual(paths);
  });

  it('are none in what JSON.stringify writes', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.boolean(), (value, isSpaced) => {
        expect([...findJsonLosses(JSON.stringify(value, null, isSpaced ? 2 : 0))]).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  it('are found without a stack overflow', () => {
    const deep = `${'['.repeat(100_000)}1e999${']'.repeat(100_000)}`;
    expect([...findJsonLosses(deep)].length).toBe(1);
    const escapes = `{"${'\\\\'.repeat(400_000)}": "${'\\"'.repeat(400_000)}"}`;
    expect([...findJsonLosses(escapes)]).toEqual([]);
  });
});

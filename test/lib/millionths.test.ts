import fc from 'fast-check';
import { expect, it } from 'vitest';
import { fromMillionths, toMillionths } from '../../src/lib/millionths';
import { depth } from '../support/depth';

it.each<[unknown, number | null]>([
  [0, 0],
  [-0, 0],
  [1, 1_000_000],
  [0.1, 100_000],
  [0.000001, 1],
  [1e2, 100_000_000],
  [1.000001, 1_000_001],
  [0.1 + 0.2, null],
  [999_999_999, 999_999_999_000_000],
  [999_999_999.999999, 999_999_999_999_999],
  [1_000_000_000, null],
  [1.0000001, null],
  [1e-7, null],
  [1e21, null],
  [1e308, null],
  [-1, null],
  [-0.000001, null],
  [Number.NaN, null],
  [Number.POSITIVE_INFINITY, null],
  ['5', null],
  [[5], null],
  [[], null],
  [{}, null],
  [true, null],
  [null, null],
  [undefined, null],
])('%j has %j millionths', (amount, millionths) => {
  expect(toMillionths(amount)).toBe(millionths);
});

it('counts the millionths of every decimal that fits, and gives the same decimal back', () => {
  const fits = fc.bigInt({ min: 0n, max: 999_999_999_999_999n });
  fc.assert(
    fc.property(fits, (millionths) => {
      const amount = Number(writeDecimal(millionths));
      expect(toMillionths(amount)).toBe(Number(millionths));
      expect(fromMillionths(Number(millionths))).toBe(amount);
    }),
    { numRuns: depth.runs(2_000, 100_000) },
  );
});

it('refuses every double whose shortest decimal has more decimals or is too great', () => {
  fc.assert(
    fc.property(fc.double(), (amount) => {
      expect(toMillionths(amount)).toBe(exactMillionths(amount));
    }),
    { numRuns: depth.runs(2_000, 100_000) },
  );
});

/** Writes a number of millionths as a decimal, by its digits. */
function writeDecimal(millionths: bigint): string {
  const digits = String(millionths).padStart(7, '0');
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`;
}

/** The millionths of the shortest decimal of a double, in whole numbers without a limit. */
function exactMillionths(amount: number): number | null {
  const [, sign, digits = '', power] =
    /^(-?)(\d(?:\.\d+)?)e([+-]\d+)$/.exec(amount.toExponential()) ?? [];
  if (power === undefined) return null;
  const significant = digits.replace('.', '');
  const exponent = Number(power) - (significant.length - 1) + 6;
  if (BigInt(significant) === 0n) return 0;
  if (sign === '-' || exponent < -20 || exponent > 20) return null;
  const scale = 10n ** BigInt(Math.abs(exponent));
  const whole = BigInt(significant);
  if (exponent < 0 && whole % scale !== 0n) return null;
  const millionths = exponent < 0 ? whole / scale : whole * scale;
  return millionths < 10n ** 15n ? Number(millionths) : null;
}

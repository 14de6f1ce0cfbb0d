import { describe, expect, it } from 'vitest';
import {
  formatInEnglish,
  localeOf,
  numberFormat,
  percentFormat,
} from '../../src/lib/number-format';

describe('the language of a reader', () => {
  it.each([
    ['de-DE,de;q=0.9,en;q=0.8', 'de-DE'],
    ['en;q=0.1, fr-CH', 'fr-CH'],
    ['*', 'en'],
    ['xx-invalid-language-tag, *;q=0.5, sv;q=0.1', 'sv'],
    ['', 'en'],
    [undefined, 'en'],
  ])('of %j is %s', (header, locale) => {
    expect(localeOf(header)).toBe(locale);
  });

  it('is looked for among the first five', () => {
    expect(localeOf('xx, xy, xz, xv, de')).toBe('de');
    expect(localeOf('xx, xy, xz, xv, xw, de')).toBe('en');
  });
});

describe('a number', () => {
  it.each([
    ['en', 1_840.5, '1,840.5'],
    ['de', 2_000, '2.000'],
    ['de', 1_840.5, '1.840,5'],
    ['es', 2_000, '2.000'],
    ['de-CH', 1_234_567, "1'234'567"],
    ['fr', 2_000, '2 000'],
    ['en-IN', 1_234_567, '12,34,567'],
    ['ar-EG', 2_000, '2,000'],
    ['he', -2_000, '-2,000'],
    ['en', 0.1, '0.1'],
    ['en', 1e-7, '1e-7'],
    ['de', 0.0000012345678901234567, '0.0000012345678901234567'],
    ['en', -0, '0'],
    ['en', 1e21, '1e+21'],
    ['en', 999_999_999.999_999, '999,999,999.999999'],
  ])('is written in %s as %d: %s', (locale, value, text) => {
    expect(numberFormat(locale)(value)).toBe(text);
  });

  it('has the same text in English without the tables of languages', () => {
    for (const value of [0, -1, 999, 1_000, -12_345.678, 0.1 + 0.2, 2 ** 53, 1e21, 5e-324])
      expect(formatInEnglish(value)).toBe(numberFormat('en')(value));
  });
});

it.each([
  ['en', 0.424, '42%'],
  ['de', 0.425, '43 %'],
  ['tr', 0, '%0'],
  ['ar-EG', 1, '100%'],
])('a share in %s of %d is %s', (locale, share, text) => {
  expect(percentFormat(locale)(share)).toBe(text);
});

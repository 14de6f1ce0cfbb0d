import { expect, it } from 'vitest';
import { valueText } from '../../src/permissions/limit-texts';

it.each([
  ['a number', 1_250, '1,250'],
  ['a text like a number', '1250', '"1250"'],
  ['a text like a number with an exponent', '1e+21', '"1e+21"'],
  ['a text in quotation marks', '"5"', String.raw`"\"5\""`],
  ['a text like another value', 'true', '"true"'],
  ['an empty text', '', '""'],
  ['a text that begins with a number', '5 invoices', '5 invoices'],
  ['a list of texts, one of them like a number', ['a', '5'], 'a, "5"'],
])('a limit reads as nothing else than it is: %s', (_, value, text) => {
  expect(valueText(value)).toBe(text);
});

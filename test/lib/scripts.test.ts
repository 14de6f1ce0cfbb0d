import { expect, it } from 'vitest';
import { findMixedWords, withScriptsMark } from '../../src/lib/scripts';
import { MIXED_TEXTS } from '../support/texts';

it.each(MIXED_TEXTS)('%j mixes the scripts: %s', (text, scripts) => {
  expect(withScriptsMark(text)).toBe(scripts === '' ? text : `${text} (mixed scripts: ${scripts})`);
});

it('finds each word once, with its end, and no more than ten', () => {
  expect(findMixedWords('a\u0430, b\u0431 a\u0430')).toEqual([
    { end: 2, scripts: ['Latin', 'Cyrillic'] },
    { end: 6, scripts: ['Latin', 'Cyrillic'] },
  ]);
  const many = Array.from(
    { length: 5_000 },
    (_, index) => `a\u0430${String.fromCodePoint(0x4e00 + index)}`,
  ).join(' ');
  expect(findMixedWords(many)).toHaveLength(10);
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasSeen, showUnseen, unseenFault } from '../../src/lib/unseen';
import { depth } from '../support/depth';
import { MISLEADING_PARTS, UNSEEN_TEXTS } from '../support/texts';

/** A text in which `{a0}` stands for the escape of U+00A0. */
function withEscapes(text: string): string {
  return text.replace(
    /\{([0-9a-f]+)\}/g,
    (_, code: string) => `U+${code.toUpperCase().padStart(4, '0')}`,
  );
}

const texts = fc
  .array(
    fc.oneof(fc.constantFrom(...MISLEADING_PARTS), fc.string({ unit: 'binary', maxLength: 2 })),
    { maxLength: 20 },
  )
  .map((parts) => parts.join(''));

it.each(UNSEEN_TEXTS)('%j is shown with its unseen characters as code points', (text, shown) => {
  expect(showUnseen(text)).toBe(withEscapes(shown));
});

it('a text of several lines keeps line feeds and tabs, and a mark stands on neither', () => {
  expect(showUnseen('a\n\tb\r\nc', { hasLines: true })).toBe('a\n\tbU+000D\nc');
  expect(showUnseen('a\n\u0301b\t\u0301', { hasLines: true })).toBe('a\nU+0301b\tU+0301');
});

it('no text is shown with a character that cannot be seen, or with more than four marks on one', () => {
  fc.assert(
    fc.property(texts, (text) => {
      const shown = showUnseen(text);
      expect(shown).not.toMatch(
        /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]|(?![\ufe0e\ufe0f])\p{DI}|(?! )\p{White_Space}/u,
      );
      expect(shown).not.toMatch(/(?<!\p{ExtPict})[\ufe0e\ufe0f]|\p{M}{5}|^\p{M}/u);
      expect(showUnseen(shown)).toBe(shown);
    }),
    { numRuns: depth.runs(300, 20_000) },
  );
});

describe('a text that people compare by eye', () => {
  it.each([
    [' a', 'must not begin or end with a blank'],
    ['a ', 'must not begin or end with a blank'],
    ['a\u00a0', 'must not begin or end with a blank'],
    ['a\u2800', 'must not begin or end with a blank'],
    ['\u3164a', 'must not begin or end with a blank'],
    ['a\n', 'must not begin or end with a blank'],
    ['a\u00a0b', 'must not contain U+00A0, which cannot be seen'],
    ['a\u200bb', 'must not contain U+200B, which cannot be seen'],
    ['a\ufe0f', 'must not contain U+FE0F, which cannot be seen'],
    ['1\ufe0f', 'must not contain U+FE0F, which cannot be seen'],
    ['a b', null],
    ['☺\ufe0f', null],
    ['☺\ufe0e/☺', null],
    ['', null],
    ['“é😀” नमस्ते', null],
  ])('%j: %s', (text, fault) => {
    expect(unseenFault(text)).toBe(fault);
  });

  it('differs in more than what cannot be seen from any other one', () => {
    const visible = (text: string) =>
      text.replace(/(?<!\p{ExtPict})(\ufe0e|\ufe0f)|(?! |\ufe0e|\ufe0f)[\p{DI}\s\u2800]/gu, '');
    fc.assert(
      fc.property(texts, (text) => {
        if (unseenFault(text) === null) expect(visible(text).trim()).toBe(text);
      }),
      { numRuns: depth.runs(300, 20_000) },
    );
  });
});

it('a blank text has no character that is seen', () => {
  for (const blank of [
    '',
    ' ',
    '\u00a0\u2003',
    '\u200b\ufe0f',
    '\u2800\u3164\u115f',
    '\u{1d159}',
  ]) {
    expect(hasSeen(blank)).toBe(false);
  }
  for (const text of ['a', ' é', '\u200b.', '😀']) expect(hasSeen(text)).toBe(true);
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchesPattern } from '../../src/lib/pattern';
import { canMatchAction, canMatchResource } from '../../src/lib/pattern-grammar';
import { permissionFields } from '../../src/permissions/permission-fields';

/** Every text over an alphabet of at most `length` characters. */
function textsOver(alphabet: string[], length: number): string[] {
  const longest = Array.from({ length }).reduce<string[][]>(
    (texts) => [
      ...texts,
      (texts.at(-1) ?? []).flatMap((text) => alphabet.map((character) => text + character)),
    ],
    [['']],
  );
  return longest.flat();
}

const isResource = (text: string) => permissionFields().resource.safeParse(text).success;

/** Every code point of the planes that have letters and symbols, and the invisible ones beyond. */
function* codePoints(): Generator<string> {
  for (let code = 0; code < 0x20000; code++) yield String.fromCodePoint(code);
  for (let code = 0xe0000; code < 0xe0200; code++) yield String.fromCodePoint(code);
}

/** Compares with a search for a match among all texts that are long enough for the patterns. */
function searchAgrees(canMatch: (pattern: string) => boolean, texts: string[], alphabet: string[]) {
  let accepted = 0;
  const patterns = fc.string({
    unit: fc.constantFrom(...alphabet, '*', '*'),
    minLength: 1,
    maxLength: 4,
  });
  const property = fc.property(patterns, (pattern) => {
    const isMatching = texts.some((text) => matchesPattern(pattern, text));
    if (isMatching) accepted += 1;
    expect([pattern, canMatch(pattern)]).toEqual([pattern, isMatching]);
  });
  fc.assert(property, { numRuns: 2_000 });
  expect(accepted).toBeGreaterThan(200);
  expect(accepted).toBeLessThan(1_900);
}

describe('a pattern for actions', () => {
  it('is accepted exactly if an action matches it', () => {
    const alphabet = ['a', '-', '.', 'A', ' ', ':'];
    const isAction = (text: string) => permissionFields().action.safeParse(text).success;
    // A pattern of 4 characters needs at most 3 more for an action.
    searchAgrees(canMatchAction, textsOver(alphabet.slice(0, 4), 7).filter(isAction), alphabet);
  });

  it.each([
    '*',
    '**',
    'email.*',
    '*.send',
    'e*d',
    'email*',
    '*email*',
    'a.b',
    `*${'a'.repeat(126)}`,
  ])('may be %j', (pattern) => expect(canMatchAction(pattern)).toBe(true));

  it.each([
    '',
    'Email.*',
    'email',
    'email.send ',
    ' *',
    'email.',
    '.*',
    'a..b',
    '*..*',
    'é.*',
    `${'a'.repeat(127)}*`,
  ])('may not be %j', (pattern) => expect(canMatchAction(pattern)).toBe(false));
});

describe('a pattern for resources', () => {
  it('is accepted exactly if a resource matches it', () => {
    const alphabet = ['a', ':', ' ', '\u00a0', '\ufe0f', '☂'];
    // A pattern of 4 characters needs at most 3 more for a resource; the blank that no resource has
    // is left out.
    const texts = textsOver(['a', ':', ' ', '\ufe0f', '☂'], 7).filter(isResource);
    searchAgrees(canMatchResource, texts, alphabet);
  });

  it('may have exactly the characters of resources', () => {
    const disagreeing = [...codePoints()].filter((character) => {
      const text = `a:x${character}y`;
      return character !== '*' && canMatchResource(text) !== isResource(text);
    });
    expect(disagreeing).toEqual([]);
  });

  it.each([
    ...[
      '*',
      'database:*',
      '*:prod',
      'data*',
      '*a b*',
      '*: b',
      'url:https://x.example/*',
      'a:é',
      'a:☂\ufe0f',
      '*\ufe0e',
    ],
    ...['*:', 'a:\ue000', 'a:\u0378', 'a:*b ☂', 'a:😀*', `${'a'.repeat(510)}:*`],
  ])('may be %j', (pattern) => expect(canMatchResource(pattern)).toBe(true));

  it.each([
    ...[
      '',
      'Database:prod',
      ' database:*',
      'database',
      'database:',
      'database:prod ',
      ':*',
      'a b:*',
      '* ',
      ' *',
      'a:x\u00a0',
    ],
    ...[
      'a: b',
      'a: *',
      'a:\ufffc',
      'a:\u200b*',
      'a:x\u2800y',
      'a:\ufe0f',
      'a:x\ufe0f',
      'a:\t',
      `${'a'.repeat(511)}:*`,
    ],
  ])('may not be %j', (pattern) => expect(canMatchResource(pattern)).toBe(false));
});

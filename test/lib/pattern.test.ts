import fc from 'fast-check';
import { expect, it } from 'vitest';
import { matchesPattern } from '../../src/lib/pattern';

it.each([
  ['*', '', true],
  ['*', 'anything', true],
  ['', '', true],
  ['', 'a', false],
  ['email.send', 'email.send', true],
  ['email.send', 'email.sends', false],
  ['email.*', 'email.send', true],
  ['email.*', 'email.', true],
  ['email.*', 'xemail.send', false],
  ['*.send', 'email.send', true],
  ['*.send', 'email.sender', false],
  ['a*a', 'a', false],
  ['a*a', 'aa', true],
  ['a**b', 'ab', true],
  ['*a*b*', 'xxbxaxxbx', true],
  ['*a*b*', 'ba', false],
  ['a*b*c', 'abbc', true],
  ['a*bc*c', 'abc', false],
  ['file:/tmp/*', 'file:/tmp/a/b', true],
  ['a.c', 'abc', false],
  ['a?c', 'abc', false],
  ['[a]*', '[a]b', true],
])('whether pattern %j matches %j: %j', (pattern, text, matches) => {
  expect(matchesPattern(pattern, text)).toBe(matches);
});

it('a pattern matches exactly if a search of all splits finds a match', () => {
  const slow = (pattern: string, text: string): boolean => {
    if (pattern === '') return text === '';
    if (pattern[0] !== '*')
      return text[0] === pattern[0] && text !== '' && slow(pattern.slice(1), text.slice(1));
    return slow(pattern.slice(1), text) || (text !== '' && slow(pattern, text.slice(1)));
  };
  const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 8 });
  const text = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 10 });
  fc.assert(
    fc.property(pattern, text, (p, t) => matchesPattern(p, t) === slow(p, t)),
    { numRuns: 5_000 },
  );
});

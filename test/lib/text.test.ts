import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isLongerThan, shorten } from '../../src/lib/text';

const texts = fc.string({
  unit: fc.constantFrom('a', '😀', '\ud800', '\udc00', 'é'),
  maxLength: 30,
});

it('isLongerThan counts code points', () => {
  fc.assert(
    fc.property(texts, fc.nat(30), (text, max) => {
      expect(isLongerThan(text, max)).toBe([...text].length > max);
    }),
  );
});

it('shorten keeps a given number of code points, well-formed, and adds an ellipsis if it omits any', () => {
  fc.assert(
    fc.property(texts, fc.nat(30), (text, max) => {
      const characters = [...text.toWellFormed()];
      const whole = characters.length <= max;
      expect(shorten(text, max)).toBe(
        whole ? text.toWellFormed() : `${characters.slice(0, max).join('')}…`,
      );
    }),
  );
});

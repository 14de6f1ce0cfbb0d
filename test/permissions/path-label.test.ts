import fc from 'fast-check';
import { expect, it } from 'vitest';
import { showUnseen } from '../../src/lib/unseen';
import { limitTexts } from '../../src/permissions/limit-texts';
import { pathLabel, shortPathLabel } from '../../src/permissions/path-label';
import { depth } from '../support/depth';
import { MISLEADING_PARTS, PATH_LABELS } from '../support/texts';

it.each(PATH_LABELS)('the limit at %j is called %s', (path, label) => {
  expect(pathLabel(path)).toBe(label);
});

it('limits that look alike have different labels', () => {
  expect(
    limitTexts({ 'payment › max': 5, 'payment.max': 6, payment: { max: 500_000 }, empty: {} }),
  ).toEqual([
    ['"payment › max"', '5'],
    ['"payment.max"', '6'],
    ['payment.max', '500,000'],
    ['empty', '{}'],
  ]);
});

it('two paths never have one label, whole or cut, and every character of it is seen', () => {
  const key = fc
    .array(fc.constantFrom(...MISLEADING_PARTS), { maxLength: 3 })
    .map((parts) => parts.join(''));
  const path = fc.array(key, { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(path, path, (one, other) => {
      const [a, b] = [pathLabel(one), pathLabel(other)];
      expect(a.normalize() === b.normalize()).toBe(JSON.stringify(one) === JSON.stringify(other));
      if (a !== b) expect(shortPathLabel(a, 1, 5)).not.toBe(shortPathLabel(b, 2, 5));
      expect(showUnseen(a)).toBe(a);
      // Words of the service have blanks, and no quotation marks.
      expect(a).toMatch(/^([\w-]+|".*")(\.([\w-]+|".*"))*$/);
    }),
    { numRuns: depth.runs(500, 20_000) },
  );
});

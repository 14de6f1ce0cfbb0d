import { describe, expect, it } from 'vitest';
import { findSelfComparisons } from '../support/self-comparisons';

describe('the check of the statements that the tests run', () => {
  it.each([
    [
      'select 1 from accounts where (select n from accounts where number = "accounts"."number")',
      'number = accounts.number',
    ],
    ['select 1 from a where "a"."b" = "a"."b"', 'a.b = a.b'],
    ['delete from a where exists (select 1 from b, a where a.x = x)', 'a.x = x'],
    [
      'update a set x = 1 where (select max(y) from c join a on c.y = 1 where z = a.z) > 0',
      'z = a.z',
    ],
  ])('finds what compares a column with itself: %s', (statement, found) => {
    expect(findSelfComparisons(statement)).toEqual([found]);
  });

  it.each([
    'select 1 from accounts where (select n from accounts as owner where owner.number = accounts.number)',
    'select 1 from a join b on a.x = b.x where a.y = ?',
    'update a set attempts = a.attempts + 1, x = "a"."x" where a.id = ?',
    "select 1 from a where x = 'a.x'",
    'select (select 1 from b where x = a.x) from a',
  ])('accepts %s', (statement) => {
    expect(findSelfComparisons(statement)).toEqual([]);
  });
});

import type { Random } from '../../bench/random.ts';

/** The key of the scope that budgets sum. Its values are tenths. */
export const SUMMED = 'limit';
export const TENTHS = 10;
/** The greatest budget that a policy gets. */
export const MOST_APPROVED = { requests: 30, tenths: 20_007 };

/** A budget for all time, so that its count never starts again. */
export function drawBudget(random: Random) {
  return {
    per: 'total',
    requests: MOST_APPROVED.requests - random.below(25),
    sum: { key: SUMMED, max: (MOST_APPROVED.tenths - random.below(10_000)) / TENTHS },
  };
}

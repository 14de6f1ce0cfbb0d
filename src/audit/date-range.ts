import { invalidRequest } from '../errors';
import { type DateBound, endDate, startDate } from '../http/fields';
import { lazy } from '../lib/lazy';

/** The query parameters of a range of time, both required. */
export const requiredDateRange = lazy(() => ({
  start_date: startDate().meta({
    description: 'Only from this time on. A date means the midnight in UTC that begins it.',
    examples: ['2026-01-01'],
  }),
  end_date: endDate().meta({
    description:
      'Only before this time. A date means the midnight in UTC that ends it. Not before `start_date`.',
    examples: ['2026-01-31'],
  }),
}));

/**
 * The query parameters of a range of time, both optional: without one of them that end of the range
 * is open.
 */
export const dateRange = lazy(() => ({
  start_date: requiredDateRange().start_date.optional(),
  end_date: requiredDateRange().end_date.optional(),
}));

/**
 * Refuses a range that starts after it ends.
 *
 * The same date twice is that whole day. The same time twice is an empty range, which is allowed. A
 * start of `2026-02-01` with an end of `2026-01-31` is empty too, but refused as a mistake.
 * @param place which part of the request has the dates
 * @throws Problem `invalid_request`
 */
export function requireDateOrder(
  place: 'query' | 'body',
  {
    start_date: start,
    end_date: end,
  }: { start_date?: DateBound | undefined; end_date?: DateBound | undefined },
): void {
  if (start && end && start.bound >= end.bound && start.written > end.written) {
    throw invalidRequest([{ path: `${place}.start_date`, message: 'must not be after the end' }]);
  }
}

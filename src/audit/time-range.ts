import { rangeEnd } from '../http/fields';
import { lazy } from '../lib/lazy';
import { DAY } from '../lib/time';

/** The query parameters of a range of time. */
export const timeRange = lazy(() => ({
  start_date: rangeEnd(0).optional().meta({ description: 'From then on. A date is its midnight in UTC.' }),
  end_date: rangeEnd(DAY)
    .optional()
    .meta({ description: 'Before then. A date is the end of that day in UTC. Not before `start_date`.' }),
}));

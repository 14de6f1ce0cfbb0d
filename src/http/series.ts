import * as z from 'zod';
import { lazy } from '../lib/lazy';
import { countField } from './response-fields';

export const exampleSeries = { requests: 20, expires_in: 3_600, varies: ['max_amount'] };

/** A run of like acts, as a request asked for it or an approval gave it. */
export const Series = lazy(() =>
  z
    .object({
      requests: countField.meta({ description: 'The number of requests, the first one included.' }),
      expires_in: countField.meta({
        description: 'Seconds after the approval in which it approves requests.',
      }),
      varies: z.array(z.string()).meta({
        description: 'Keys of `scope` whose values may be lower or narrower.',
      }),
    })
    .meta({ id: 'Series', examples: [exampleSeries] }),
);

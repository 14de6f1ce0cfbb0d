import * as z from 'zod';
import type { SeriesTerms } from '../../db/schema';
import { type FieldError, invalidRequest } from '../../errors';
import { listOf, plainText, wholeNumber } from '../../http/fields';
import { exampleSeries } from '../../http/series';
import type { JsonObject } from '../../lib/json';
import { lazy } from '../../lib/lazy';
import { MAX_DURATION_SECONDS } from '../permission-fields';

const MAX_VARYING_KEYS = 100;
const MAX_SCOPE_KEY_LENGTH = 2_048;

/** The series that a request asks for, or that an approval gives. */
export const SeriesInput = lazy(() =>
  z
    .strictObject({
      requests: wholeNumber(2, 1_000).meta({
        description: 'The number of requests, the first one included.',
      }),
      expires_in: wholeNumber(60, MAX_DURATION_SECONDS).meta({
        description: 'Seconds after the approval in which it approves requests.',
      }),
      varies: listOf(plainText(MAX_SCOPE_KEY_LENGTH), MAX_VARYING_KEYS, 0)
        .refine((keys) => new Set(keys).size === keys.length, 'must not name a key twice')
        .default([])
        .meta({
          description:
            'Keys of `scope` whose values may be lower or narrower than those of the first ' +
            'permission. All others have to be equal.',
        }),
    })
    .meta({
      id: 'SeriesInput',
      description:
        'A run of like acts: requests of the same agent for the same action, resource and scope. ' +
        'Nobody sees the arguments of the later ones before they are approved.',
      examples: [exampleSeries],
    }),
);

/**
 * Refuses a request that asks for a series which it cannot have.
 * @throws Problem `invalid_request` with `max_uses` other than 1, or for a key that the scope lacks
 */
export function requireSeriesFits({
  series,
  max_uses,
  scope,
}: {
  series?: SeriesTerms | undefined;
  max_uses: number;
  scope: JsonObject;
}): void {
  if (!series) return;
  const errors: FieldError[] = [];
  if (max_uses !== 1)
    errors.push({ path: 'body.series', message: 'is only for requests with `max_uses` 1' });
  for (const [index, key] of series.varies.entries()) {
    if (!Object.hasOwn(scope, key))
      errors.push({ path: `body.series.varies.${index}`, message: 'is no key of `scope`' });
  }
  if (errors.length > 0) throw invalidRequest(errors);
}

/**
 * Lists the places where a series allows more than another one.
 * @param source what the other one is, in words
 */
export function findSeriesWidenings(
  base: SeriesTerms | null,
  given: SeriesTerms,
  source: string,
): FieldError[] {
  if (!base) return [{ path: 'body.series', message: `is not ${source}` }];
  const errors: FieldError[] = [];
  const atMost = (field: string, most: number) =>
    errors.push({ path: `body.series.${field}`, message: `must be at most the ${source} ${most}` });
  if (given.requests > base.requests) atMost('requests', base.requests);
  if (given.expires_in > base.expires_in) atMost('expires_in', base.expires_in);
  for (const [index, key] of given.varies.entries()) {
    if (!base.varies.includes(key))
      errors.push({ path: `body.series.varies.${index}`, message: `is not ${source}` });
  }
  return errors;
}

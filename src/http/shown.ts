import { z } from 'zod';
import type { JsonObject } from '../lib/json';
import type { Id, Prefix } from '../lib/typeid';

// What answers are made of. Answers are not validated as they go out: these are their types and their description.

/** An identifier. */
export function shownId<P extends Prefix>(prefix: P) {
  return z.custom<Id<P>>().meta({ override: { type: 'string', pattern: `^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$` } });
}

/** A moment, ISO 8601 in UTC with milliseconds. */
export const shownTime = z.iso.datetime({ precision: 3 });

/** Free-form data, as the client sent it. */
export const shownObject = z.custom<JsonObject>().meta({ override: { type: 'object' } });

/** A page of a list. */
export function pageOf<T extends z.ZodType>(item: T) {
  return z.object({ data: z.array(item), has_more: z.boolean(), next_cursor: z.string().nullable() });
}

import * as z from 'zod';
import type { JsonObject } from '../lib/json';
import { lazy } from '../lib/lazy';
import { type Id, idPattern, type Prefix } from '../lib/typeid';
import { EXAMPLE, exampleId } from './examples';

// What answers are made of. Answers are not validated as they go out: these are their types and their description.

/** An identifier. */
export function idField<P extends Prefix>(prefix: P) {
  return z.custom<Id<P>>().meta({ type: 'string', pattern: idPattern(prefix), examples: [exampleId(prefix)] });
}

/** A moment, ISO 8601 in UTC with milliseconds. */
export const timeField = z.string().meta({ format: 'date-time', pattern: '\\.\\d{3}Z$', examples: [EXAMPLE.time] });

/** A whole number. */
export const integerField = z.number().meta({ type: 'integer' });

/** A number of things. */
export const countField = integerField.meta({ minimum: 0 });

/** Free-form data, as the client sent it. */
export const objectField = z.custom<JsonObject>().meta({ type: 'object', additionalProperties: true });

/** JSON of a known form, which its type does not tell. */
export function jsonField<T = JsonObject>(form: z.ZodType): z.ZodType<T> {
  return form as unknown as z.ZodType<T>;
}

/** A page of a list. */
export function pageOf<T extends z.ZodType>(itemLater: () => T) {
  return lazy(() => describePage(itemLater()));
}

function describePage<T extends z.ZodType>(item: T) {
  return z
    .object({
      data: z.array(item),
      has_more: z.boolean().meta({ description: 'Whether there is another page. A page may hold fewer than `limit`.' }),
      next_cursor: z.string().nullable().meta({ description: 'The `cursor` of the next page; null on the last.' }),
    })
    .meta({ examples: [{ data: item.meta()?.examples ?? [], has_more: true, next_cursor: EXAMPLE.cursor }] });
}

import * as z from 'zod';
import type { JsonObject } from '../lib/json';
import { lazy } from '../lib/lazy';
import { type Id, idPattern, type Prefix } from '../lib/typeid';
import { EXAMPLE, exampleId } from './examples';

// The fields of responses. They give a response its type and its description; responses are not validated.

/** An identifier. */
export function idField<P extends Prefix>(prefix: P) {
  return z.custom<Id<P>>().meta({ type: 'string', pattern: idPattern(prefix), examples: [exampleId(prefix)] });
}

/** A time in ISO 8601, in UTC with milliseconds. */
export const timeField = z.string().meta({ format: 'date-time', pattern: '\\.\\d{3}Z$', examples: [EXAMPLE.time] });

/** A whole number. */
export const integerField = z.number().meta({ type: 'integer' });

/** A whole number from 0 on. */
export const countField = integerField.meta({ minimum: 0 });

/** A JSON object as the client sent it. */
export const objectField = z.custom<JsonObject>().meta({ type: 'object', additionalProperties: true });

/** A field whose TypeScript type is looser than its schema. */
export function jsonField<T = JsonObject>(form: z.ZodType): z.ZodType<T> {
  return form as unknown as z.ZodType<T>;
}

/** A page of a list. */
export function pageOf<T extends z.ZodType>(item: () => T) {
  return lazy(() => makePage(item()));
}

function makePage<T extends z.ZodType>(item: T) {
  return z
    .object({
      data: z.array(item),
      has_more: z.boolean().meta({ description: 'Whether there is another page. A page may hold fewer than `limit`.' }),
      next_cursor: z.string().nullable().meta({ description: 'The `cursor` of the next page; null on the last.' }),
    })
    .meta({ examples: [{ data: item.meta()?.examples ?? [], has_more: true, next_cursor: EXAMPLE.cursor }] });
}

import * as z from 'zod';
import type { JsonObject } from '../lib/json';
import { lazy } from '../lib/lazy';
import { type Id, idPattern, type Prefix } from '../lib/typeid';
import { EXAMPLE, exampleId } from './examples';

// The fields of responses. They give a response its type and its OpenAPI schema; responses are not
// validated.

export function idField<P extends Prefix>(prefix: P) {
  return z
    .custom<Id<P>>()
    .meta({ type: 'string', pattern: idPattern(prefix), examples: [exampleId(prefix)] });
}

/** A time in ISO 8601, in UTC with milliseconds. */
export const timeField = z
  .string()
  .meta({ format: 'date-time', pattern: '\\.\\d{3}Z$', examples: [EXAMPLE.time] });

export const integerField = z.number().meta({ type: 'integer' });

/** A whole number of at least 0. */
export const countField = integerField.meta({ minimum: 0 });

/** Who made a record. */
export const creatorField = z
  .string()
  .nullable()
  .meta({
    description:
      'Who made it: the id of a member, the id of the account for a token of the account itself, ' +
      'or `operator`; null if it was made before this was recorded.',
    examples: [exampleId('member')],
  });

/** Free-form data: a JSON object with any members. */
export const objectField = z
  .custom<JsonObject>()
  .meta({ type: 'object', additionalProperties: true });

/**
 * A field with the schema `form`, whose TypeScript type is T: for data whose exact type the code
 * does not need.
 */
export function jsonField<T = JsonObject>(form: z.ZodType): z.ZodType<T> {
  return form as unknown as z.ZodType<T>;
}

/** A page of a list. */
export function pageOf<T extends z.ZodType>(item: () => T) {
  return lazy(() =>
    z
      .object({
        data: z.array(item()),
        has_more: z.boolean().meta({
          description: 'Whether there is another page. A page may hold fewer than `limit`.',
        }),
        next_cursor: z
          .string()
          .nullable()
          .meta({ description: 'The `cursor` of the next page; null on the last.' }),
      })
      .meta({
        examples: [
          { data: item().meta()?.examples ?? [], has_more: true, next_cursor: EXAMPLE.cursor },
        ],
      }),
  );
}

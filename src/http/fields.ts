import * as z from 'zod';
import { EMAIL_ADDRESS, MAX_EMAIL_LENGTH, normalizeEmailAddress } from '../lib/email-address';
import { roundingFault } from '../lib/exact-json';
import {
  isJsonObject,
  type Json,
  type JsonObject,
  jsonDepth,
  jsonFault,
  jsonSize,
  surrogateFault,
  textFault,
} from '../lib/json';
import { isLongerThan } from '../lib/text';
import { DAY, parseDate, parseDateTime } from '../lib/time';
import { type Id, idPattern, type Prefix, parseId } from '../lib/typeid';
import { unseenFault } from '../lib/unseen';
import { exampleId } from './examples';

// The fields of requests. A field states what it accepts in its Zod checks; `meta` describes to the
// OpenAPI document what Zod cannot. The checks of a field stop at the first failure.

const NO_NUL = '^[^\\u0000]*$';
const NO_NUL_NOT_BLANK = '^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$';

/** A text, which is trimmed and then has `min` to `max` Unicode code points. */
export function text(min: 0 | 1, max: number) {
  return z
    .string()
    .superRefine((value, refinement) => refuse(refinement, textFault(value)))
    .trim()
    .superRefine((value, refinement) => {
      if (value.length < min || isLongerThan(value, max)) {
        refuse(refinement, `must be ${min} to ${max} characters long`);
      }
    })
    .meta({
      maxLength: max,
      ...(min > 0 && { minLength: min }),
      pattern: min > 0 ? NO_NUL_NOT_BLANK : NO_NUL,
    });
}

/** A text of at most `max` Unicode code points, which is not trimmed. */
export function plainText(max: number) {
  return z
    .string()
    .superRefine((value, refinement) => {
      if (isLongerThan(value, max)) refuse(refinement, `must be at most ${max} characters long`);
    })
    .superRefine((value, refinement) => refuse(refinement, textFault(value)))
    .meta({ maxLength: max, pattern: NO_NUL });
}

/**
 * A text of at most `max` Unicode code points that people compare by eye: every character of it is
 * seen.
 */
export function seenText(max: number) {
  return plainText(max).superRefine((value, refinement) => refuse(refinement, unseenFault(value)));
}

export function choice<const W extends readonly [string, ...string[]]>(words: W) {
  return z.enum(words, `must be one of ${words.join(', ')}`);
}

/** A list of `min` to `max` members. */
export function listOf<M extends z.ZodType>(member: M, max: number, min: 0 | 1 = 1) {
  const message = `must have at most ${max} members`;
  // The length is checked before the members, so that a long list of invalid members gives one
  // error.
  const refuseMany = (value: unknown, refinement: z.core.$RefinementCtx) => {
    if (Array.isArray(value) && value.length > max) refuse(refinement, message);
    return value;
  };
  return z.preprocess(refuseMany, z.array(member).min(min, 'must not be empty').max(max, message));
}

/** The object itself is level 1. */
const MAX_LEVELS = 10;

/**
 * Free-form data: a JSON object of at most `maxBytes` bytes of compact JSON and 10 levels of
 * nesting.
 */
export function jsonObject(description: string, maxBytes: number) {
  return z
    .custom<JsonObject>(isJsonObject, 'must be a JSON object')
    .meta({
      type: 'object',
      additionalProperties: true,
      description:
        `${description} At most ${maxBytes / 1024} KiB of compact JSON and ${MAX_LEVELS} ` +
        'levels, including itself.',
    })
    .superRefine((value, refinement) => {
      if (jsonDepth(value) > MAX_LEVELS)
        refuse(refinement, `must be at most ${MAX_LEVELS} levels deep`);
      else if (jsonSize(value) > maxBytes)
        refuse(refinement, `must be at most ${maxBytes} bytes of JSON`);
      else refuse(refinement, jsonFault(value));
    });
}

/** Any JSON value of at most `maxBytes` bytes, unchanged. */
export function jsonValue(maxBytes: number) {
  const field = z.unknown().superRefine((value, refinement) => {
    if (jsonSize(value) > maxBytes) refuse(refinement, `must be at most ${maxBytes} bytes of JSON`);
    // The value is stored as JSON text, in which NUL is escaped.
    else refuse(refinement, jsonFault(value, surrogateFault));
  });
  return field as unknown as z.ZodType<Json>;
}

/** A whole number from `min` to `max`. */
export function wholeNumber(min: number, max: number) {
  const message = `must be a whole number from ${min} to ${max}`;
  return z.int({ error: message, abort: true }).min(min, message).max(max, message);
}

/** A whole number from `min` to `max` in a query string. */
export function queryNumber(min: number, max: number) {
  const read = (value: unknown) => {
    if (typeof value !== 'string' || !/^\d{1,15}$/.test(value)) return value;
    return Number(value);
  };
  return z.preprocess(read, wholeNumber(min, max));
}

/** The form of a number in JSON. */
const JSON_NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/** A number in a query string, written as in JSON, that a double holds exactly as it is written. */
export const queryDecimal = z.preprocess((value, refinement) => {
  if (typeof value !== 'string') return value;
  if (!JSON_NUMBER.test(value)) return value;
  refuse(refinement, roundingFault(value));
  return Number(value);
}, z.number('must be a JSON number'));

/** An e-mail address, which is trimmed. U-labels of its host name become A-labels. */
export const emailAddress = z
  .string()
  .trim()
  .transform((value, refinement) => {
    const address = normalizeEmailAddress(value);
    if (address === null) refuse(refinement, 'must be an e-mail address, such as ada@example.com');
    return address ?? '';
  })
  .meta({
    format: 'idn-email',
    maxLength: MAX_EMAIL_LENGTH,
    pattern: `^\\s*${EMAIL_ADDRESS.source.slice(1, -1)}\\s*$`,
  });

/** `true` or `false` in a query string. */
export const queryBoolean = z.preprocess((value) => {
  if (value === 'true') return true;
  if (value === 'false') return false;
  return value;
}, z.boolean('must be true or false'));

/** A text of any length in a query string, which is not trimmed. */
export const queryText = z
  .string()
  .superRefine((value, refinement) => refuse(refinement, textFault(value)))
  .meta({ pattern: NO_NUL });

/** An identifier with the given prefix. */
export function idText<P extends Prefix>(prefix: P, message: string): z.ZodType<Id<P>> {
  const field = z
    .string()
    .refine((id) => parseId(prefix, id) !== null, message)
    .meta({ pattern: idPattern(prefix), examples: [exampleId(prefix)] });
  return field as unknown as z.ZodType<Id<P>>;
}

/** An RFC 3339 date-time, which becomes milliseconds since the epoch. */
export const dateTime = z
  .string()
  .transform((value, refinement) => {
    const time = parseDateTime(value);
    if (time === null)
      refuse(
        refinement,
        'must be an RFC 3339 date-time with an offset, such as 2026-01-31T12:00:00Z',
      );
    return time ?? Number.NaN;
  })
  .meta({ format: 'date-time' });

/**
 * The start or the end of a range of time. A cursor covers the parsed filters of its list, so the
 * members and their order must not change.
 */
export interface DateBound {
  /** The text as the client wrote it. */
  text: string;
  /**
   * The date-time, or the midnight in UTC that begins the date, in milliseconds since the epoch.
   */
  written: number;
  /**
   * As `written`, except for an end that is a date: then the midnight that ends it. The end is not
   * in the range.
   */
  bound: number;
}

/**
 * The start of a range: an RFC 3339 date-time, or a date, which means the midnight that begins it.
 */
export function startDate() {
  return dateBound(0);
}

/** The end of a range: an RFC 3339 date-time, or a date, which means the midnight that ends it. */
export function endDate() {
  return dateBound(DAY);
}

function dateBound(dayLength: number) {
  return z
    .string()
    .transform((value, refinement): DateBound => {
      const date = parseDate(value);
      const time = date ?? parseDateTime(value);
      if (time === null) {
        refuse(
          refinement,
          'must be a date such as 2026-01-31, or an RFC 3339 date-time such as ' +
            '2026-01-31T12:00:00Z (write + as %2B)',
        );
      }
      const written = time ?? 0;
      const length = date === null ? 0 : dayLength;
      return { text: value, written, bound: written + length };
    })
    .meta({ anyOf: ['date', 'date-time'].map((format) => ({ type: 'string', format })) });
}

/** A date, which becomes the text as the client wrote it and the midnight in UTC that begins it. */
export const day = z
  .string()
  .transform((value, refinement) => {
    const time = parseDate(value);
    if (time === null) refuse(refinement, 'must be a date such as 2026-01-31');
    return { text: value, time: time ?? 0 };
  })
  .meta({ format: 'date' });

/** Reports the message, if there is one, and skips the remaining checks. */
function refuse(refinement: z.core.$RefinementCtx, message: string | null): void {
  if (message) refinement.addIssue({ code: 'custom', message, continue: false });
}

import { z } from 'zod';
import { isJsonObject, type JsonObject, jsonDepth, jsonFault, jsonSize, textFault } from '../lib/json';
import { parseDate, parseDateTime } from '../lib/time';

/** A text, trimmed, of `min` to `max` Unicode code points. */
export function text(min: number, max: number) {
  return z
    .string()
    .superRefine((value, refinement) => refuse(refinement, textFault(value)))
    .trim()
    .superRefine((value, refinement) => {
      const length = [...value].length;
      if (length < min || length > max) refuse(refinement, `must be ${min} to ${max} characters long`);
    });
}

/** Free-form data: a JSON object of at most `maxBytes` bytes and `maxDepth` levels; by default as many as fit. */
export function jsonObject(maxBytes: number, maxDepth = maxBytes / 2) {
  const object = z.custom<JsonObject>(isJsonObject, 'must be a JSON object').meta({ override: { type: 'object' } });
  return object.superRefine((value, refinement) => {
    if (jsonDepth(value) > maxDepth) refuse(refinement, `must be at most ${maxDepth} levels deep`);
    else if (jsonSize(value) > maxBytes) refuse(refinement, `must be at most ${maxBytes} bytes of JSON`);
    else refuse(refinement, jsonFault(value));
  });
}

/** A whole number within bounds, of a JSON body. */
export function wholeNumber(min: number, max: number) {
  const message = `must be a whole number from ${min} to ${max}`;
  return z.int(message).min(min, message).max(max, message);
}

/** A whole number within bounds, of a query string. */
export function queryNumber(min: number, max: number) {
  return z
    .string()
    .regex(/^\d{1,15}$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .pipe(wholeNumber(min, max));
}

/** `true` or `false`, of a query string. */
export const queryBoolean = z.enum(['true', 'false'], 'must be true or false').transform((value) => value === 'true');

/** A text of a query string that is matched as it stands. */
export const queryText = z.string().superRefine((value, refinement) => refuse(refinement, textFault(value)));

/** An RFC 3339 date-time, as milliseconds since the epoch. */
export const dateTime = z.string().transform((value, refinement) => {
  const time = parseDateTime(value);
  if (time === null) refuse(refinement, 'must be an RFC 3339 date-time with an offset, such as 2026-01-31T12:00:00Z');
  return time ?? Number.NaN;
});

/** One end of a range of time, as written and as an instant. */
export interface RangeEnd {
  text: string;
  /** Milliseconds since the epoch of what was written: for a bare date, its midnight in UTC. */
  written: number;
  /** The bound itself: for a bare date as the range's end, the end of that day. */
  bound: number;
}

/** An end of a range of time: an RFC 3339 date-time, or a bare date, `dayLength` of which belongs to the range. */
export function rangeEnd(dayLength: number) {
  return z.string().transform((value, refinement): RangeEnd => {
    const date = parseDate(value);
    const time = date ?? parseDateTime(value);
    if (time === null) {
      refuse(
        refinement,
        'must be a date such as 2026-01-31, or an RFC 3339 date-time such as 2026-01-31T12:00:00Z (write + as %2B)',
      );
    }
    return { text: value, written: time ?? 0, bound: (time ?? 0) + (date === null ? 0 : dayLength) };
  });
}

function refuse(refinement: z.core.$RefinementCtx, message: string | null): void {
  if (message) refinement.addIssue({ code: 'custom', message });
}

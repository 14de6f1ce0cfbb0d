import * as z from 'zod';
import { EXAMPLE } from '../http/examples';
import { jsonObject, seenText, text, wholeNumber } from '../http/fields';
import { lazy } from '../lib/lazy';

export const MAX_ACTION_LENGTH = 128;
export const MAX_RESOURCE_LENGTH = 512;

/** The maximum of the lengths of time in requests, decisions and reviews: a week. */
export const MAX_DURATION_SECONDS = 604_800;

const ACTION = /^[a-z0-9_-]+(\.[a-z0-9_-]+)+$/;
const RESOURCE = '^[a-z0-9_-]+:[^\\s\\u0000]([^\\u0000]*[^\\s\\u0000])?$';

/** The fields that clients may set when they request or decide a permission. */
export const permissionFields = lazy(() => ({
  action: z
    .string()
    .max(MAX_ACTION_LENGTH, {
      error: `must be at most ${MAX_ACTION_LENGTH} characters long`,
      abort: true,
    })
    .regex(ACTION, 'must be dotted, such as email.send')
    .meta({ description: 'What the agent wants to do: dotted words.', examples: [EXAMPLE.action] }),
  resource: seenText(MAX_RESOURCE_LENGTH)
    .regex(new RegExp(RESOURCE), 'must be of the form <kind>:<identifier>, such as mailbox:support')
    .meta({
      pattern: RESOURCE,
      description:
        'The resource it wants to do this to: `<kind>:<identifier>`. The identifier has no blank at an end, and no ' +
        'invisible or blank character but the space.',
      examples: [EXAMPLE.resource],
    }),
  scope: jsonObject(
    'Upper limits: the largest number allowed, or the list of members allowed.',
    2 * 1024,
  ),
  reason: text(0, 1_000),
  expires_in: wholeNumber(60, MAX_DURATION_SECONDS).meta({
    description: 'Seconds after which it expires if nobody decides.',
  }),
  token_ttl: wholeNumber(30, MAX_DURATION_SECONDS).meta({
    description: 'The greatest lifetime of the token, in seconds.',
  }),
  max_uses: wholeNumber(1, 1_000).meta({
    description: 'The greatest number of uses of the token.',
  }),
}));

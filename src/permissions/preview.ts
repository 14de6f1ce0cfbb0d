import * as z from 'zod';
import { choice, listOf, plainText } from '../http/fields';
import { jsonSize } from '../lib/json';
import { type LazyOutput, lazy } from '../lib/lazy';
import { hasSeen } from '../lib/unseen';
import { JSON_POINTER } from './restated-argument';

/** Maximum size of an input, and of a preview, as compact JSON in bytes. */
export const MAX_CONTENT_BYTES = 16 * 1024;
const MAX_FIELDS = 50;
const MAX_BLOCKS = 10;

const FIELD_KINDS = ['text', 'money', 'email', 'url', 'count', 'time'] as const;
const BLOCK_KINDS = ['text', 'code', 'json', 'diff'] as const;

const EXAMPLE_PREVIEW = {
  title: 'Reply to ticket 4711',
  fields: [{ label: 'To', value: 'ada@example.com', kind: 'email' as const, of: '/to' }],
  blocks: [{ kind: 'text' as const, text: 'Dear Ada, your invoice is attached.' }],
};

/** The text that a person reads before they decide, in the agent's own words. */
export const Preview = lazy(() =>
  z
    .strictObject({
      title: plainText(MAX_CONTENT_BYTES)
        .refine(hasSeen, 'must not be blank')
        .meta({ pattern: '^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$' }),
      summary: plainText(MAX_CONTENT_BYTES).optional(),
      fields: listOf(
        z.strictObject({
          label: plainText(MAX_CONTENT_BYTES),
          value: plainText(MAX_CONTENT_BYTES),
          kind: choice(FIELD_KINDS).optional(),
          of: plainText(MAX_CONTENT_BYTES)
            .regex(JSON_POINTER, 'must be a JSON Pointer, such as /amount')
            .optional()
            .meta({
              description:
                'The argument that the field restates, as a JSON Pointer (RFC 6901) into `input`. Who decides sees whether it does.',
            }),
        }),
        MAX_FIELDS,
        0,
      ).optional(),
      blocks: listOf(
        z.strictObject({
          title: plainText(MAX_CONTENT_BYTES).optional(),
          kind: choice(BLOCK_KINDS),
          text: plainText(MAX_CONTENT_BYTES),
        }),
        MAX_BLOCKS,
        0,
      ).optional(),
    })
    .refine(
      (preview) => jsonSize(preview) <= MAX_CONTENT_BYTES,
      `must be at most ${MAX_CONTENT_BYTES} bytes of JSON`,
    )
    .meta({
      id: 'Preview',
      description:
        "What a person reads before deciding: plain text in the agent's own words. At most 16 KiB of compact JSON.",
      examples: [EXAMPLE_PREVIEW],
    }),
);

export type Preview = LazyOutput<typeof Preview>;

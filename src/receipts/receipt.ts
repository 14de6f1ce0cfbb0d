import * as z from 'zod';
import { Checkpoint, exampleCheckpoint, hashField } from '../audit/tree/checkpoint';
import { exampleId } from '../http/examples';
import { idField, integerField, jsonField } from '../http/response-fields';
import type { Json } from '../lib/json';
import { type LazyOutput, lazy } from '../lib/lazy';
import { Preview } from '../permissions/preview';

/** The type of a receipt: its form, and the version of the form. */
export const RECEIPT_TYPE = 'countersign/receipt/v1';

/** Maximum number of entries in a receipt. */
export const MAX_RECEIPT_ENTRIES = 100;

/** A receipt as the API shows it. */
export const Receipt = lazy(() =>
  z
    .object({
      type: z.literal(RECEIPT_TYPE),
      permission_id: idField('perm'),
      entries: z
        .array(
          z.object({
            sequence: integerField.meta({
              minimum: 1,
              description: 'Of the entry: it is leaf `sequence` − 1.',
            }),
            leaf_input: z.string().meta({
              description:
                'As in the proof of one entry: the sealed entry with its salt, in base64.',
            }),
            inclusion_path: z
              .array(hashField)
              .meta({ description: 'From the leaf to the root of the checkpoint.' }),
          }),
        )
        .max(MAX_RECEIPT_ENTRIES)
        .meta({ description: 'In the order of the log.' }),
      checkpoint: Checkpoint(),
      complete: z.boolean().meta({
        description:
          'Whether these are all entries of the permission, and the approval of the series if it was approved as ' +
          'part of one. False if some are too old, or they are more than 100.',
      }),
      input: jsonField<Json>(z.unknown()).meta({
        description:
          'The arguments of the act; null if the service does not have them, or no longer the entry with their digest.',
      }),
      preview: Preview().nullable(),
    })
    .meta({
      id: 'Receipt',
      examples: [
        {
          type: RECEIPT_TYPE,
          permission_id: exampleId('perm'),
          entries: [
            {
              sequence: 2,
              leaf_input: 'AHsiY3JlYXRlZF9hdCI6IjIwMjYtMDEtMzFUMTI6MDA6MDAuMDAwWiIs4oCmfQ==',
              inclusion_path: [exampleCheckpoint.root_hash],
            },
          ],
          checkpoint: exampleCheckpoint,
          complete: false,
          input: null,
          preview: null,
        },
      ],
    }),
);

export type Receipt = LazyOutput<typeof Receipt>;

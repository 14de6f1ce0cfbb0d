import * as z from 'zod';
import { EXAMPLE } from '../../http/examples';
import { type LazyOutput, lazy } from '../../lib/lazy';
import type { Id } from '../../lib/typeid';
import { actFields, type describeAct } from '../contents';
import type { EntrySubject } from '../draft-entry';
import { permissionFields } from '../permission-fields';
import { SeriesInput } from '../series/terms';

export const PermissionRequest = lazy(() => {
  const { scope, reason, expires_in, token_ttl, max_uses, ...target } = permissionFields();
  const { input, input_digest, preview, external_id } = actFields();
  return z
    .strictObject({
      ...target,
      scope: scope.default({}),
      reason: reason.optional(),
      expires_in: expires_in.default(3_600),
      token_ttl: token_ttl.default(900),
      max_uses: max_uses.default(1),
      series: SeriesInput().optional(),
      input: input.optional(),
      input_digest: input_digest.optional(),
      preview: preview.optional(),
      external_id: external_id.optional(),
      reports_outcome: z.boolean().default(false).meta({
        description:
          'Whether the program will report what happened after the use. Only with a `max_uses` of 1.',
      }),
    })
    .meta({
      id: 'PermissionRequest',
      examples: [
        {
          action: EXAMPLE.action,
          resource: EXAMPLE.resource,
          scope: EXAMPLE.scope,
          reason: 'Reply to ticket 4711',
        },
      ],
    });
});

/** A valid request, with the defaults of what it left out. */
export type RequestInput = LazyOutput<typeof PermissionRequest>;

/** A new request before it is weighed. */
export interface DraftRequest {
  subject: EntrySubject;
  input: RequestInput;
  /** The columns of its title, digests and external id. */
  act: Awaited<ReturnType<typeof describeAct>>;
  /** The connection that makes it; null if the agent asks itself. */
  connectionId: Id<'conn'> | null;
}

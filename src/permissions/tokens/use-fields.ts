import * as z from 'zod';
import { EXAMPLE, exampleId } from '../../http/examples';
import { seenText } from '../../http/fields';
import { countField, idField, objectField, timeField } from '../../http/response-fields';
import type { JsonObject } from '../../lib/json';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { formatTime } from '../../lib/time';
import { type Id, withPrefix } from '../../lib/typeid';
import { MAX_ACTION_LENGTH, MAX_RESOURCE_LENGTH } from '../permission-fields';
import { shortText, tokenText } from './token-input';

export const TokenUse = lazy(() =>
  z
    .strictObject({
      token: tokenText(),
      // Only compared, so any other form is a mismatch. What looks like another value is an invalid
      // field.
      action: seenText(MAX_ACTION_LENGTH)
        .optional()
        .meta({ description: "If given, must be the token's." }),
      resource: seenText(MAX_RESOURCE_LENGTH)
        .optional()
        .meta({ description: "If given, must be the token's." }),
      input_digest: shortText().optional().meta({
        description:
          'The digest of what is about to run. Must be given if the token has one, and only then.',
      }),
    })
    .meta({
      id: 'TokenUse',
      examples: [{ token: EXAMPLE.token, action: EXAMPLE.action, resource: EXAMPLE.resource }],
    }),
);

export type TokenUse = LazyOutput<typeof TokenUse>;

export const UsedToken = lazy(() =>
  z
    .object({
      active: z.literal(true),
      token_id: idField('token'),
      permission_id: idField('perm'),
      agent_id: idField('agent'),
      action: z.string(),
      resource: z.string(),
      scope: objectField.meta({ description: 'The limits to respect.' }),
      uses: countField.meta({ description: 'The uses so far, including this one.' }),
      remaining_uses: countField,
      expires_at: timeField,
    })
    .meta({
      id: 'UsedToken',
      description: 'What a use of the token allows.',
      examples: [
        {
          active: true,
          token_id: exampleId('token'),
          permission_id: exampleId('perm'),
          agent_id: exampleId('agent'),
          action: EXAMPLE.action,
          resource: EXAMPLE.resource,
          scope: EXAMPLE.narrowedScope,
          uses: 1,
          remaining_uses: 0,
          expires_at: EXAMPLE.laterTime,
        },
      ],
    }),
);

export type UsedToken = LazyOutput<typeof UsedToken>;

/** The grant that a token carries. */
export interface Grant {
  /** The permission. */
  id: Id<'perm'>;
  agentId: Id<'agent'>;
  action: string;
  resource: string;
  scope: JsonObject;
  /** When the token expires, in milliseconds since the epoch. */
  expiresAt: number;
}

/** Shows a use to its caller. */
export function presentUse(
  { id, agentId, action, resource, scope, expiresAt }: Grant,
  { uses, maxUses }: { uses: number; maxUses: number },
): UsedToken {
  return {
    active: true,
    token_id: withPrefix('token', id),
    permission_id: id,
    agent_id: agentId,
    action,
    resource,
    scope,
    uses,
    remaining_uses: maxUses - uses,
    expires_at: formatTime(expiresAt),
  };
}

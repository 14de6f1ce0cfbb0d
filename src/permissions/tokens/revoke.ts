import { and, eq, gt } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { permissions } from '../../db/schema';
import { sharedAccess } from '../../http/access';
import type { Context } from '../../http/context';
import { EXAMPLE, exampleId } from '../../http/examples';
import { noQuery, oauthBody, readJsonOrForm } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { appendedSequence } from '../../ledger/append';
import { lazy } from '../../lib/lazy';
import { deciderOf, draftPermissionEntry } from '../draft-entry';
import { isPermissionWithId, visiblePermission } from '../find-permission';
import { type PermissionRow, tokenAt } from '../permission';
import { permissionFields } from '../permission-fields';
import type { DecisionSource } from '../reviews/review';
import { preloadPermissionOfToken, shortText, tokenText, tokenTypeHint } from './token-input';

const TokenRevocation = lazy(() =>
  z
    .strictObject({
      token: tokenText().optional(),
      token_type_hint: tokenTypeHint().optional(),
      token_id: shortText()
        .optional()
        .meta({ description: 'Id of the token.', examples: [exampleId('token')] }),
      reason: permissionFields().reason.optional(),
    })
    .refine(({ token, token_id }) => (token === undefined) !== (token_id === undefined), {
      path: ['token'],
      message: 'either token or token_id must be given',
    })
    .meta({
      id: 'TokenRevocation',
      oneOf: [{ required: ['token'] }, { required: ['token_id'] }],
      examples: [
        { token: EXAMPLE.token },
        { token_id: exampleId('token'), reason: 'No longer needed' },
      ],
    }),
);

/** The empty answer. It does not say whether there was such a token. */
export const Revocation = lazy(() => z.strictObject({}).meta({ id: 'Revocation', examples: [{}] }));

interface Revoking {
  permission: PermissionRow | undefined;
  reason?: string | undefined;
  via: DecisionSource;
}

/**
 * Revokes a token. Does nothing for a token that is unknown, not active or another agent's (RFC
 * 7009 section 2.2).
 */
export async function revokeToken(
  context: Context,
  { permission, reason, via }: Revoking,
): Promise<void> {
  const { principal, runtime, ledger } = context;
  const row = visiblePermission(principal, permission);
  const now = runtime.now();
  const token = row && tokenAt(row, now);
  if (!row || token?.status !== 'active') return;
  const entry = draftPermissionEntry(context, row, 'revoke', {
    scope: token.scope,
    decided_by: principal.kind === 'agent' ? principal.agent.id : deciderOf(principal),
    decided_via: via,
    decision_reason: reason || null,
    policy_id: row.policyId,
    token_id: token.id,
  });
  // Null if the token was used up, revoked or expired, or its agent deleted, meanwhile: then it has
  // ended too.
  await ledger.commit({
    changes: (write) => [
      write
        .update(permissions)
        .set({
          tokenStatus: 'revoked',
          lastEntry: appendedSequence(row.account),
          updatedAt: now,
        })
        .where(
          and(
            isPermissionWithId(row.account, row.id),
            eq(permissions.tokenStatus, 'active'),
            gt(permissions.tokenExpiresAt, now),
          ),
        ),
    ],
    entries: [entry],
    answer: { value: {}, subject: row.agentId },
  });
}

export const revokeTokenRoute = new Hono().post(
  '/v1/tokens/revoke',
  operation({
    id: 'revokeToken',
    tag: 'Tokens',
    summary: 'Revoke a token',
    description:
      'The token ends at once (RFC 7009). The answer is the same for an unknown or inactive token.',
    success: ok(Revocation),
  }),
  sharedAccess('permissions:decide', preloadPermissionOfToken(readJsonOrForm)),
  noQuery(),
  oauthBody(TokenRevocation),
  async (c) => {
    const { reason } = c.req.valid('json');
    await revokeToken(c.var.context, {
      permission: c.var.loaded.permission?.[0],
      reason,
      via: 'api',
    });
    return answer(c, {});
  },
);

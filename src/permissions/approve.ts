import { Hono } from 'hono';
import * as z from 'zod';
import { userAccess } from '../http/access';
import { EXAMPLE } from '../http/examples';
import { body, noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { lazy } from '../lib/lazy';
import { decidePermission } from './decide';
import { Permission } from './permission';
import { permissionFields } from './permission-fields';
import { decidingContext, decisionState, preloadDecision } from './reviews/preload-decision';
import { signatureFields } from './reviews/signature';
import { SeriesInput } from './series/terms';

export const Approval = lazy(() => {
  const { reason, scope, token_ttl, max_uses } = permissionFields();
  return z
    .strictObject({
      reason,
      scope,
      token_ttl,
      max_uses,
      series: SeriesInput(),
      ...signatureFields(),
    })
    .partial()
    .meta({
      id: 'Approval',
      examples: [{ scope: EXAMPLE.narrowedScope, reason: 'Ten are enough' }],
    });
});

export const approvePermissionRoute = new Hono().post(
  '/v1/permissions/:id/approve',
  operation({
    id: 'approvePermission',
    tag: 'Permissions',
    summary: 'Approve a permission',
    description:
      'The approval may narrow the request, but never widen it. In `scope`, a number may be lower, a list may have fewer ' +
      'members (at least one), and the top level may have additional limits; everything else must be as requested. ' +
      '`token_ttl` and `max_uses` may be lower. If several people decide at the same time, one decision wins. In a ' +
      'review that needs several approvals, the permission stays `pending` until enough people have approved; each may ' +
      'narrow what the ones before have left.',
    success: ok(Permission),
    pathId: 'perm',
    problems: [
      'not_pending',
      'account_stopped',
      'person_required',
      'not_a_reviewer',
      'self_approval',
      'already_voted',
      'passkey_required',
      'scope_widened',
      'invalid_assertion',
      'conflict',
    ],
  }),
  userAccess('permissions:decide', preloadDecision),
  noQuery(),
  body(Approval),
  async (c) => {
    const { reason, scope, token_ttl, max_uses, series, ...signed } = c.req.valid('json');
    const decision = {
      kind: 'approve' as const,
      narrowed: { scope, token_ttl, max_uses, series },
      reason: reason || null,
      via: 'api' as const,
    };
    const context = decidingContext(c.var.context, c.var.reload, decision, signed);
    return answer(c, await decidePermission(context, decisionState(c.var.loaded), decision));
  },
);

import { Hono } from 'hono';
import * as z from 'zod';
import { userAccess } from '../http/access';
import { body, noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { lazy } from '../lib/lazy';
import { decidePermission } from './decide';
import { Permission } from './permission';
import { permissionFields } from './permission-fields';
import { decidingContext, decisionState, preloadDecision } from './reviews/preload-decision';
import { signatureFields } from './reviews/signature';

export const Denial = lazy(() =>
  z
    .strictObject({ reason: permissionFields().reason.optional(), ...signatureFields() })
    .meta({ id: 'Denial', examples: [{ reason: 'Not to this customer' }] }),
);

export const denyPermissionRoute = new Hono().post(
  '/v1/permissions/:id/deny',
  operation({
    id: 'denyPermission',
    tag: 'Permissions',
    summary: 'Deny a permission',
    description:
      "One denial is enough, also in a review. The agent's owner can deny without being a reviewer, if the role may decide.",
    success: ok(Permission),
    pathId: 'perm',
    problems: ['not_pending', 'person_required', 'not_a_reviewer', 'invalid_assertion'],
  }),
  userAccess('permissions:decide', preloadDecision),
  noQuery(),
  body(Denial),
  async (c) => {
    const { reason, ...signed } = c.req.valid('json');
    const decision = {
      kind: 'deny' as const,
      narrowed: {},
      reason: reason || null,
      via: 'api' as const,
    };
    const context = decidingContext(c.var.context, c.var.reload, decision, signed);
    return answer(c, await decidePermission(context, decisionState(c.var.loaded), decision));
  },
);

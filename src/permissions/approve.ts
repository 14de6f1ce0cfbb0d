import { Hono } from 'hono';
import * as z from 'zod';
import { type FieldError, Problem } from '../errors';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { EXAMPLE } from '../http/examples';
import { body, noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { lazy } from '../lib/lazy';
import { withPrefix } from '../lib/typeid';
import { decidePermission, requirePending } from './decide';
import { findWidenings } from './find-widenings';
import { Permission, type PermissionRow, permissionOfPath } from './permission';
import { permissionFields } from './permission-fields';
import { issueToken } from './tokens/issue';

const Approval = lazy(() =>
  z
    .strictObject({
      reason: permissionFields().reason.optional(),
      scope: permissionFields().scope.optional(),
      token_ttl: permissionFields().token_ttl.optional(),
      max_uses: permissionFields().max_uses.optional(),
    })
    .meta({ id: 'Approval', examples: [{ scope: EXAMPLE.narrowedScope, reason: 'Ten are enough' }] }),
);

/**
 * Approves a permission, as requested or narrowed, which issues its token.
 * @throws Problem `not_found`, `not_pending`, `scope_widened`
 */
export async function approvePermission(
  context: UserContext,
  loaded: PermissionRow[] | undefined,
  input: z.output<ReturnType<typeof Approval>>,
): Promise<Permission> {
  const now = context.runtime.now();
  const row = requirePending(context, loaded, now);
  refuseWidening(row, input);
  const scope = input.scope ?? row.scope;
  const tokenTtl = input.token_ttl ?? row.tokenTtl;
  const maxUses = input.max_uses ?? row.maxUses;
  return decidePermission(context, row, now, {
    event: 'approve',
    reason: input.reason,
    details: { scope, token_id: withPrefix('token', row.id) },
    columns: { status: 'approved', ...(await issueToken(context.config, { scope, tokenTtl, maxUses }, now)) },
  });
}

function refuseWidening(row: PermissionRow, input: z.output<ReturnType<typeof Approval>>): void {
  const errors: FieldError[] = input.scope ? findWidenings(row.scope, input.scope) : [];
  if ((input.token_ttl ?? 0) > row.tokenTtl) {
    errors.push({ path: 'body.token_ttl', message: `must be at most the requested ${row.tokenTtl}` });
  }
  if ((input.max_uses ?? 0) > row.maxUses) {
    errors.push({ path: 'body.max_uses', message: `must be at most the requested ${row.maxUses}` });
  }
  if (errors.length === 0) return;
  throw new Problem('scope_widened', 'An approval may narrow what was requested, never widen it.', { errors });
}

export const approvePermissionRoute = new Hono().post(
  '/v1/permissions/:id/approve',
  operation({
    id: 'approvePermission',
    tag: 'Permissions',
    summary: 'Approve a permission',
    description:
      'As it was requested, or narrowed, never widened: in `scope` a number may fall, a list may lose members (not all), ' +
      'a limit may be added at the top and none left out; everything else stays. `token_ttl` and `max_uses` may fall. ' +
      'Of several decisions at the same time one wins.',
    success: ok(Permission),
    pathId: 'perm',
    problems: ['not_pending', 'scope_widened'],
  }),
  userAccess('permissions:decide', permissionOfPath),
  noQuery(),
  body(Approval),
  async (c) => answer(c, await approvePermission(c.var.context, c.var.loaded, c.req.valid('json'))),
);

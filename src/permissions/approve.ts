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
import { Permission, type PermissionRow, permissionInPath } from './permission';
import { permissionFields } from './permission-fields';
import { newTokenColumns } from './tokens/new-token-columns';

const Approval = lazy(() => {
  const { reason, scope, token_ttl, max_uses } = permissionFields();
  return z
    .strictObject({ reason, scope, token_ttl, max_uses })
    .partial()
    .meta({ id: 'Approval', examples: [{ scope: EXAMPLE.narrowedScope, reason: 'Ten are enough' }] });
});

type ApprovalInput = z.output<ReturnType<typeof Approval>>;

/**
 * Approves a permission, as requested or narrowed, and issues its token.
 * @returns the approved permission, without the token itself, which only the agent can read
 * @throws Problem `not_found`, `not_pending`, `scope_widened`
 */
export async function approvePermission(
  context: UserContext,
  { permission, ...input }: { permission: PermissionRow | undefined } & ApprovalInput,
): Promise<Permission> {
  const row = requirePending(context, permission);
  refuseWidening(row, input);
  const scope = input.scope ?? row.scope;
  const tokenTtl = input.token_ttl ?? row.tokenTtl;
  const maxUses = input.max_uses ?? row.maxUses;
  return decidePermission(context, row, {
    event: 'approve',
    reason: input.reason,
    details: { scope, token_id: withPrefix('token', row.id) },
    columns: { status: 'approved', ...(await newTokenColumns(context, { scope, tokenTtl, maxUses })) },
  });
}

function refuseWidening(row: PermissionRow, input: ApprovalInput): void {
  const errors: FieldError[] = input.scope ? findWidenings(row.scope, input.scope) : [];
  if ((input.token_ttl ?? 0) > row.tokenTtl) {
    errors.push({ path: 'body.token_ttl', message: `must be at most the requested ${row.tokenTtl}` });
  }
  if ((input.max_uses ?? 0) > row.maxUses) {
    errors.push({ path: 'body.max_uses', message: `must be at most the requested ${row.maxUses}` });
  }
  if (errors.length === 0) return;
  throw new Problem('scope_widened', 'An approval may narrow the request, but never widen it.', { errors });
}

export const approvePermissionRoute = new Hono().post(
  '/v1/permissions/:id/approve',
  operation({
    id: 'approvePermission',
    tag: 'Permissions',
    summary: 'Approve a permission',
    description:
      'The approval may narrow the request, but never widen it. In `scope`, a number may be lower, a list may have fewer ' +
      'members (at least one), and the top level may have additional limits; everything else must be as requested. ' +
      '`token_ttl` and `max_uses` may be lower. If several people decide at the same time, one decision wins.',
    success: ok(Permission),
    pathId: 'perm',
    problems: ['not_pending', 'scope_widened'],
  }),
  userAccess('permissions:decide', permissionInPath),
  noQuery(),
  body(Approval),
  async (c) => {
    const input = { permission: c.var.loaded.permission?.[0], ...c.req.valid('json') };
    return answer(c, await approvePermission(c.var.context, input));
  },
);

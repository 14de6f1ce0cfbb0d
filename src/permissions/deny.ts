import { Hono } from 'hono';
import * as z from 'zod';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { body, noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { lazy } from '../lib/lazy';
import { decidePermission, requirePending } from './decide';
import { Permission, type PermissionRow, permissionInPath } from './permission';
import { permissionFields } from './permission-fields';

const Denial = lazy(() =>
  z
    .strictObject({ reason: permissionFields().reason.optional() })
    .meta({ id: 'Denial', examples: [{ reason: 'Not to this customer' }] }),
);

/**
 * Denies a permission.
 * @throws Problem `not_found`, `not_pending`
 */
export async function denyPermission(
  context: UserContext,
  { permission, reason }: { permission: PermissionRow | undefined } & z.output<ReturnType<typeof Denial>>,
): Promise<Permission> {
  const row = requirePending(context, permission);
  const details = { scope: row.scope };
  return decidePermission(context, row, { event: 'deny', reason, details, columns: { status: 'denied' } });
}

export const denyPermissionRoute = new Hono().post(
  '/v1/permissions/:id/deny',
  operation({
    id: 'denyPermission',
    tag: 'Permissions',
    summary: 'Deny a permission',
    success: ok(Permission),
    pathId: 'perm',
    problems: ['not_pending'],
  }),
  userAccess('permissions:decide', permissionInPath),
  noQuery(),
  body(Denial),
  async (c) => {
    const input = { permission: c.var.loaded.permission?.[0], ...c.req.valid('json') };
    return answer(c, await denyPermission(c.var.context, input));
  },
);

import { Hono } from 'hono';
import { agentAccess } from '../http/access';
import type { AgentContext } from '../http/context';
import { body, NoFields, noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { requirePending, settlePermission } from './decide';
import { draftPermissionEntry } from './draft-entry';
import { Permission, type PermissionRow, permissionInPath } from './permission';

/**
 * Withdraws a pending request of the agent: it expires at once, with an `expire` entry that says so.
 * @throws Problem `not_found`, `not_pending`
 */
export async function withdrawPermission(
  context: AgentContext,
  { permission }: { permission: PermissionRow | undefined },
): Promise<Permission> {
  const row = requirePending(context, permission);
  const entry = draftPermissionEntry(context, row, 'expire', { scope: row.scope, expired: 'withdrawn' });
  return settlePermission(context, row, { entry, columns: { status: 'expired' } });
}

export const withdrawPermissionRoute = new Hono().post(
  '/v1/permissions/:id/withdraw',
  operation({
    id: 'withdrawPermission',
    tag: 'Permissions',
    summary: 'Withdraw a request',
    description: 'The agent takes back its pending request, which expires at once.',
    success: ok(Permission),
    pathId: 'perm',
    problems: ['not_pending'],
  }),
  agentAccess(permissionInPath),
  noQuery(),
  body(NoFields),
  async (c) => answer(c, await withdrawPermission(c.var.context, { permission: c.var.loaded.permission?.[0] })),
);

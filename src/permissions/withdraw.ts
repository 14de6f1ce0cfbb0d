import { Hono } from 'hono';
import { permissions } from '../db/schema';
import { agentAccess } from '../http/access';
import type { AgentContext } from '../http/context';
import { body, NoFields, noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { isStillPending, notPending, requirePending } from './decide';
import { draftPermissionEntry } from './draft-entry';
import { Permission, type PermissionRow, permissionInPath, presentPermission } from './permission';

/**
 * Withdraws a pending request of the agent: it expires at once, with an `expire` entry that says so.
 * @throws Problem `not_found`, `not_pending`
 */
export async function withdrawPermission(
  context: AgentContext,
  { permission }: { permission: PermissionRow | undefined },
): Promise<Permission> {
  const row = requirePending(context, permission);
  const now = context.runtime.now();
  const entry = draftPermissionEntry(context, row, 'expire', { scope: row.scope, expired: 'withdrawn' });
  const expired = { status: 'expired' as const, lastEntry: entry.id, updatedAt: now };
  const withdrawn = presentPermission({ ...row, ...expired }, now);
  const committed = await context.ledger.commit({
    changes: (write) => [write.update(permissions).set(expired).where(isStillPending(row, now))],
    entries: [entry],
    answer: { value: withdrawn, subject: row.agentId },
  });
  if (!committed) throw notPending('was decided at the same time; read it to see how');
  return withdrawn;
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
  async (c) => answer(c, await withdrawPermission(c.var.context, { permission: c.var.loaded?.[0] })),
);

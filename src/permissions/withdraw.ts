import { Hono } from 'hono';
import { agentAccess } from '../http/access';
import type { AgentContext } from '../http/context';
import { body, NoFields, noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { endWait, untilUnchanged } from './decide';
import { draftPermissionEntry } from './draft-entry';
import { preloadPermission, requirePending } from './find-permission';
import { Permission, type ReviewedPermission } from './permission';
import { reviewDetails } from './reviews/review';

interface WithdrawalContext extends AgentContext {
  /** Reads the permission again, after authenticating the agent again. */
  reload: () => Promise<ReviewedPermission | undefined>;
}

/**
 * Withdraws a pending request of the agent: it expires at once, with an `expire` entry that says so
 * and has the votes so far.
 * @throws Problem `not_found`, `not_pending`
 */
export function withdrawPermission(
  context: WithdrawalContext,
  preloaded: { permission: ReviewedPermission | undefined },
): Promise<Permission> {
  return untilUnchanged(context, preloaded.permission, (permission) => {
    const row = requirePending(context, permission);
    const details = { scope: row.scope, expired: 'withdrawn' as const, ...reviewDetails(row) };
    const entry = draftPermissionEntry(context, row, 'expire', details);
    return endWait(context, row, { entry, columns: { status: 'expired' } });
  });
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
  agentAccess(preloadPermission),
  noQuery(),
  body(NoFields),
  async (c) => {
    const { loaded, reload } = c.var;
    const context = { ...c.var.context, reload: async () => (await reload()).permission?.[0] };
    return answer(c, await withdrawPermission(context, { permission: loaded.permission?.[0] }));
  },
);

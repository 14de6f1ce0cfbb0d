import { Hono } from 'hono';
import { z } from 'zod';
import { permissions } from '../db/schema';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { body, noQuery } from '../http/input';
import { draftEntry } from '../ledger/entry';
import { isPending, notPending, requirePending } from './decision';
import {
  type Permission,
  type PermissionRow,
  permissionFields,
  permissionOfPath,
  presentPermission,
  visiblePermission,
} from './permission';

const Denial = z.strictObject({ reason: permissionFields.reason.optional() });

/**
 * Denies a permission.
 * @throws Problem `not_found`, `not_pending`
 */
export async function denyPermission(
  { principal, runtime, ledger, origin }: UserContext,
  loaded: PermissionRow[] | undefined,
  input: z.output<typeof Denial>,
): Promise<Permission> {
  const row = visiblePermission(loaded, principal);
  const now = runtime.now();
  requirePending(row, now);
  const { action, resource, scope } = row;
  const decision = { decided_by: principal.account.id, decision_reason: input.reason || null, policy_id: null };
  const entry = draftEntry(runtime, {
    event: 'deny',
    at: now,
    account: row.account,
    permission: row.id,
    details: { action, resource, scope, ...decision },
    origin,
  });
  const denied = {
    status: 'denied',
    decidedBy: decision.decided_by,
    decidedAt: now,
    decisionReason: decision.decision_reason,
    lastEntry: entry.id,
    updatedAt: now,
  } as const;
  const committed = await ledger.commit({
    changes: (write) => [write.update(permissions).set(denied).where(isPending(row, now))],
    entries: [entry],
  });
  if (!committed) throw notPending();
  return presentPermission({ ...row, ...denied }, now);
}

export const permissionDenial = new Hono().post(
  '/v1/permissions/:id/deny',
  userAccess('permissions:decide', permissionOfPath),
  noQuery(),
  body(Denial),
  async (c) => c.json(await denyPermission(c.var.context, c.var.loaded, c.req.valid('json'))),
);

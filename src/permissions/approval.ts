import { Hono } from 'hono';
import { z } from 'zod';
import { permissions } from '../db/schema';
import { type FieldError, Problem } from '../errors';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { body, noQuery } from '../http/input';
import { draftEntry } from '../ledger/entry';
import { SECOND } from '../lib/time';
import { withPrefix } from '../lib/typeid';
import { isPending, notPending, requirePending } from './decision';
import { findWidening } from './narrowing';
import {
  type Permission,
  type PermissionRow,
  permissionFields,
  permissionOfPath,
  presentPermission,
  visiblePermission,
} from './permission';
import { TokenSigner } from './token-signing';

const Approval = z.strictObject({
  reason: permissionFields.reason.optional(),
  scope: permissionFields.scope.optional(),
  token_ttl: permissionFields.token_ttl.optional(),
  max_uses: permissionFields.max_uses.optional(),
});

/**
 * Approves a permission, as requested or narrowed, which issues its token.
 * @throws Problem `not_found`, `scope_widened`, `not_pending` when it is decided or ran out, or when another decision
 *   was faster
 */
export async function approvePermission(
  context: UserContext,
  loaded: PermissionRow[] | undefined,
  input: z.output<typeof Approval>,
): Promise<Permission> {
  const { principal, runtime, config, ledger, origin } = context;
  const row = visiblePermission(loaded, principal);
  const now = runtime.now();
  requirePending(row, now);
  refuseWidening(row, input);
  const scope = input.scope ?? row.scope;
  const entry = draftEntry(runtime, {
    event: 'approve',
    at: now,
    account: row.account,
    permission: row.id,
    details: {
      action: row.action,
      resource: row.resource,
      scope,
      decided_by: principal.account.id,
      decision_reason: input.reason || null,
      policy_id: null,
      token_id: withPrefix('token', row.id),
    },
    origin,
  });
  // A JWT counts in whole seconds; cut off, so that the token never outlives what was asked for.
  const issuedAt = Math.floor(now / SECOND) * SECOND;
  const signer = await TokenSigner.open(config.keyring, config.publicUrl);
  const approved = {
    status: 'approved',
    grantedScope: scope,
    decidedBy: principal.account.id,
    decidedAt: now,
    decisionReason: input.reason || null,
    tokenStatus: 'active',
    tokenMaxUses: input.max_uses ?? row.maxUses,
    tokenUses: 0,
    tokenIssuedAt: issuedAt,
    tokenExpiresAt: issuedAt + (input.token_ttl ?? row.tokenTtl) * SECOND,
    tokenKeyId: signer.newestKeyId,
    lastEntry: entry.id,
    updatedAt: now,
  } as const;
  const committed = await ledger.commit({
    changes: (write) => [write.update(permissions).set(approved).where(isPending(row, now))],
    entries: [entry],
  });
  if (!committed) throw notPending();
  return presentPermission({ ...row, ...approved }, now);
}

function refuseWidening(row: PermissionRow, input: z.output<typeof Approval>): void {
  const errors: FieldError[] = [];
  const wider = input.scope && findWidening(row.scope, input.scope);
  if (wider) errors.push({ path: wider, message: 'goes beyond the scope that was requested' });
  if ((input.token_ttl ?? 0) > row.tokenTtl) {
    errors.push({ path: 'body.token_ttl', message: `must be at most the requested ${row.tokenTtl}` });
  }
  if ((input.max_uses ?? 0) > row.maxUses) {
    errors.push({ path: 'body.max_uses', message: `must be at most the requested ${row.maxUses}` });
  }
  if (errors.length === 0) return;
  throw new Problem('scope_widened', 'An approval may narrow what was requested, never widen it.', { errors });
}

export const permissionApproval = new Hono().post(
  '/v1/permissions/:id/approve',
  userAccess('permissions:decide', permissionOfPath),
  noQuery(),
  body(Approval),
  async (c) => c.json(await approvePermission(c.var.context, c.var.loaded, c.req.valid('json'))),
);

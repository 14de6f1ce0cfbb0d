import { sql } from 'drizzle-orm';
import { Hono } from 'hono';
import { z } from 'zod';
import { agents, permissions } from '../db/schema';
import { Problem } from '../errors';
import { agentAccess } from '../http/access';
import { type AgentContext, newId } from '../http/context';
import { body, noQuery } from '../http/input';
import { SECOND } from '../lib/time';
import { draftEvent } from './event';
import { type Permission, permissionFields, presentPermission } from './permission';

const PermissionRequest = z.strictObject({
  action: permissionFields.action,
  resource: permissionFields.resource,
  scope: permissionFields.scope.default({}),
  reason: permissionFields.reason.optional(),
  expires_in: permissionFields.expires_in.default(3_600),
  token_ttl: permissionFields.token_ttl.default(900),
  max_uses: permissionFields.max_uses.default(1),
});

/** Asks for permission to do one thing. It then waits for a decision until it runs out. */
export async function requestPermission(
  context: AgentContext,
  input: z.output<typeof PermissionRequest>,
): Promise<Permission> {
  const { principal, runtime, ledger } = context;
  const { account, agent } = principal;
  const now = runtime.now();
  const id = newId(runtime, 'perm');
  const { action, resource, scope } = input;
  const permission = { account: account.number, id, action, resource };
  const entry = draftEvent(context, permission, 'request', now, { scope });
  const row = {
    ...permission,
    scope,
    reason: input.reason || null,
    tokenTtl: input.token_ttl,
    maxUses: input.max_uses,
    status: 'pending',
    lastEntry: entry.id,
    expiresAt: now + input.expires_in * SECOND,
    createdAt: now,
    updatedAt: now,
  } as const;
  // NOT NULL: finds no agent when it was deleted or switched off since it was authenticated, and nothing is written.
  const requester = sql`(select number from ${agents} where number = ${agent.number} and is_active = 1)`;
  const committed = await ledger.commit({
    changes: (write) => [
      write
        .insert(permissions)
        .values({ ...row, agent: requester })
        .returning(),
    ],
    entries: [entry],
  });
  const [[inserted]] = committed ?? [[]];
  if (!inserted) throw new Problem('agent_inactive', 'The agent was switched off or deleted.');
  return presentPermission({ ...inserted, agentId: agent.id, agentIsActive: true }, now);
}

export const permissionRequest = new Hono().post(
  '/v1/permissions',
  agentAccess(),
  noQuery(),
  body(PermissionRequest),
  async (c) => {
    const permission = await requestPermission(c.var.context, c.req.valid('json'));
    return c.json(permission, 201, { Location: `/v1/permissions/${permission.id}` });
  },
);

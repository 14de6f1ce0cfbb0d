import { and, eq, type InferSelectModel, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import { aliased } from '../db/columns';
import type { Reader } from '../db/database';
import { agents, PERMISSION_STATUSES, permissions, TOKEN_STATUSES } from '../db/schema';
import { notFound } from '../errors';
import type { Principal, RequestContext } from '../http/context';
import { EXAMPLE, exampleId } from '../http/examples';
import { choice } from '../http/fields';
import { countField, idField, objectField, timeField } from '../http/response-fields';
import type { JsonObject } from '../lib/json';
import { lazy } from '../lib/lazy';
import { formatTime, formatTimeOrNull } from '../lib/time';
import { type Id, idPattern, parseId, withPrefix } from '../lib/typeid';

const examplePermission = {
  id: exampleId('perm'),
  agent_id: exampleId('agent'),
  action: EXAMPLE.action,
  resource: EXAMPLE.resource,
  scope: EXAMPLE.scope,
  granted_scope: EXAMPLE.narrowedScope,
  reason: 'Reply to ticket 4711',
  status: 'approved',
  decided_by: exampleId('user'),
  decided_at: EXAMPLE.time,
  decision_reason: 'Ten are enough',
  policy_id: null,
  token: { id: exampleId('token'), status: 'active', max_uses: 1, uses: 0, expires_at: EXAMPLE.laterTime },
  expires_at: '2026-01-31T13:00:00.000Z',
  created_at: EXAMPLE.time,
  updated_at: EXAMPLE.time,
};

/** A permission's row with its agent: of a deleted agent there is none. */
export type PermissionRow = InferSelectModel<typeof permissions> & { agentId: Id<'agent'>; agentIsActive: boolean };

export const TokenStatus = lazy(() => choice(TOKEN_STATUSES).meta({ id: 'TokenStatus' }));

export type TokenStatus = z.output<ReturnType<typeof TokenStatus>>;

export const PermissionStatus = lazy(() => choice(PERMISSION_STATUSES).meta({ id: 'PermissionStatus' }));

export type PermissionStatus = z.output<ReturnType<typeof PermissionStatus>>;

/** A token as it is shown with its permission; `value`, the token itself, to its agent alone, while it is active. */
export const TokenSummary = lazy(() =>
  z
    .object({
      id: idField('token'),
      status: TokenStatus(),
      max_uses: countField,
      uses: countField,
      expires_at: timeField,
      value: z.string().optional().meta({
        description: 'The token itself, a JWT: for its agent alone, while it is active.',
      }),
    })
    .meta({ id: 'TokenSummary', description: 'The token that an approved permission yields.' }),
);

/** A permission as the API shows it. */
export const Permission = lazy(() =>
  z
    .object({
      id: idField('perm'),
      agent_id: idField('agent'),
      action: z.string(),
      resource: z.string(),
      scope: objectField.meta({ description: 'The limits that were asked for.' }),
      granted_scope: objectField.nullable().meta({ description: 'The limits that were granted.' }),
      reason: z.string().nullable().meta({ description: 'Why the agent asks.' }),
      status: PermissionStatus(),
      decided_by: z.string().nullable().meta({ description: 'Id of the account, or of the policy that decided.' }),
      decided_at: timeField.nullable(),
      decision_reason: z.string().nullable(),
      policy_id: z
        .string()
        .nullable()
        .meta({
          pattern: idPattern('policy'),
          description: 'The policy that decided; null where a person did, or nobody yet.',
        }),
      token: TokenSummary().nullable().meta({ description: 'Once it is approved.' }),
      expires_at: timeField.meta({ description: 'When it expires where nobody decides.' }),
      created_at: timeField,
      updated_at: timeField,
    })
    .meta({
      id: 'Permission',
      description: "An agent's request to do one thing, and what was decided.",
      examples: [examplePermission],
    }),
);

export type Permission = z.output<ReturnType<typeof Permission>>;

/** The token of a permission that was approved. */
export interface GrantedToken {
  id: Id<'token'>;
  status: TokenStatus;
  maxUses: number;
  uses: number;
  issuedAt: number;
  expiresAt: number;
  keyId: string;
  scope: JsonObject;
}

/** A permission's state at a moment: overdue requests are expired, also before the sweep has written so. */
export function statusAt(row: PermissionRow, now: number): PermissionStatus {
  return row.status === 'pending' && row.expiresAt <= now ? 'expired' : row.status;
}

/** A permission's token at a moment, expired when its time is over; null where none was issued. */
export function tokenAt(row: PermissionRow, now: number): GrantedToken | null {
  const { tokenStatus, tokenMaxUses, tokenUses, tokenIssuedAt, tokenExpiresAt, tokenKeyId, grantedScope } = row;
  if (tokenStatus === null || tokenMaxUses === null || tokenUses === null || tokenIssuedAt === null) return null;
  if (tokenExpiresAt === null || tokenKeyId === null || grantedScope === null) return null;
  return {
    id: withPrefix('token', row.id),
    status: tokenStatus === 'active' && tokenExpiresAt <= now ? 'expired' : tokenStatus,
    maxUses: tokenMaxUses,
    uses: tokenUses,
    issuedAt: tokenIssuedAt,
    expiresAt: tokenExpiresAt,
    keyId: tokenKeyId,
    scope: grantedScope,
  };
}

/** A permission as it is at a moment. */
export function presentPermission(row: PermissionRow, now: number, tokenValue?: string): Permission {
  const token = tokenAt(row, now);
  return {
    id: row.id,
    agent_id: row.agentId,
    action: row.action,
    resource: row.resource,
    scope: row.scope,
    granted_scope: row.grantedScope,
    reason: row.reason,
    status: statusAt(row, now),
    decided_by: row.decidedBy,
    decided_at: formatTimeOrNull(row.decidedAt),
    decision_reason: row.decisionReason,
    policy_id: row.policyId,
    token: token && {
      id: token.id,
      status: token.status,
      max_uses: token.maxUses,
      uses: token.uses,
      expires_at: formatTime(token.expiresAt),
      ...(tokenValue !== undefined && { value: tokenValue }),
    },
    expires_at: formatTime(row.expiresAt),
    created_at: formatTime(row.createdAt),
    updated_at: formatTime(row.updatedAt),
  };
}

/** The columns of a {@link PermissionRow}. */
export const permissionColumns = {
  account: permissions.account,
  id: permissions.id,
  agent: permissions.agent,
  action: permissions.action,
  resource: permissions.resource,
  scope: permissions.scope,
  reason: permissions.reason,
  tokenTtl: permissions.tokenTtl,
  maxUses: permissions.maxUses,
  status: permissions.status,
  grantedScope: permissions.grantedScope,
  decidedBy: permissions.decidedBy,
  decidedAt: permissions.decidedAt,
  decisionReason: permissions.decisionReason,
  policyId: permissions.policyId,
  tokenStatus: permissions.tokenStatus,
  tokenMaxUses: permissions.tokenMaxUses,
  tokenUses: permissions.tokenUses,
  tokenIssuedAt: permissions.tokenIssuedAt,
  tokenExpiresAt: permissions.tokenExpiresAt,
  tokenKeyId: permissions.tokenKeyId,
  lastEntry: permissions.lastEntry,
  expiresAt: permissions.expiresAt,
  createdAt: permissions.createdAt,
  updatedAt: permissions.updatedAt,
  agentId: aliased(agents.id, 'agent_id'),
  agentIsActive: aliased(agents.isActive, 'agent_is_active'),
};

/** Finds a permission of an account. */
export function findPermission(reader: Reader, account: number | SQL<number>, id: Id<'perm'>) {
  return reader
    .select(permissionColumns)
    .from(permissions)
    .innerJoin(agents, eq(agents.number, permissions.agent))
    .where(isPermission(account, id));
}

/** The condition that finds a permission of an account. */
export function isPermission(account: number | SQL<number>, id: Id<'perm'>) {
  return and(eq(permissions.account, account), eq(permissions.id, id));
}

/** A preload of the permission that the path names. */
export async function permissionOfPath(c: RequestContext, reader: Reader, owner: SQL<number>) {
  const id = parseId('perm', c.req.param('id') ?? '');
  return id && { query: findPermission(reader, owner, id) };
}

/**
 * The permission that was loaded, if the caller may see it: an agent sees its own.
 * @throws Problem `not_found`
 */
export function visiblePermission(loaded: PermissionRow[] | undefined, principal: Principal): PermissionRow {
  const row = loaded?.[0];
  if (!row || (principal.kind === 'agent' && row.agent !== principal.agent.number)) throw notFound('permission');
  return row;
}

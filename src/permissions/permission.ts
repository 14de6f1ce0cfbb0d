import { and, eq, type InferSelectModel, type SQL } from 'drizzle-orm';
import { z } from 'zod';
import { named } from '../db/columns';
import type { Reader } from '../db/database';
import {
  agents,
  PERMISSION_STATUSES,
  type PermissionStatus,
  permissions,
  TOKEN_STATUSES,
  type TokenStatus,
} from '../db/schema';
import { notFound } from '../errors';
import type { Incoming, Principal } from '../http/context';
import { jsonObject, text, wholeNumber } from '../http/fields';
import { shownId, shownObject, shownTime } from '../http/shown';
import { type JsonObject, textFault } from '../lib/json';
import { formatTime, formatTimeOrNull } from '../lib/time';
import { type Id, parseId, withPrefix } from '../lib/typeid';

const ACTION = /^[a-z0-9_-]+(\.[a-z0-9_-]+)+$/;
const RESOURCE = /^[a-z0-9_-]+:[\s\S]+$/;

/** The fields of a permission that clients may set, in requests and decisions. */
export const permissionFields = {
  action: z
    .string()
    .max(128, 'must be at most 128 characters long')
    .regex(ACTION, 'must be dotted, such as email.send'),
  resource: z
    .string()
    .regex(RESOURCE, 'must be of the form <kind>:<identifier>, such as mailbox:support')
    .refine((value) => [...value].length <= 512, 'must be at most 512 characters long')
    .refine((value) => textFault(value) === null, 'must contain neither NUL nor a lone surrogate'),
  scope: jsonObject(2 * 1024),
  reason: text(0, 1_000),
  expires_in: wholeNumber(60, 604_800),
  token_ttl: wholeNumber(30, 86_400),
  max_uses: wholeNumber(1, 1_000),
};

/** A permission's row with its agent: of a deleted agent there is none. */
export type PermissionRow = InferSelectModel<typeof permissions> & { agentId: Id<'agent'>; agentIsActive: boolean };

/** A token as it is shown with its permission; `value`, the token itself, to its agent alone, while it is active. */
export const TokenSummary = z.object({
  id: shownId('token'),
  status: z.enum(TOKEN_STATUSES),
  max_uses: z.number(),
  uses: z.number(),
  expires_at: shownTime,
  value: z.string().optional(),
});

/** A permission as the API shows it. */
export const Permission = z.object({
  id: shownId('perm'),
  agent_id: shownId('agent'),
  action: z.string(),
  resource: z.string(),
  scope: shownObject,
  granted_scope: shownObject.nullable(),
  reason: z.string().nullable(),
  status: z.enum(PERMISSION_STATUSES),
  decided_by: z.string().nullable(),
  decided_at: shownTime.nullable(),
  decision_reason: z.string().nullable(),
  policy_id: z.string().nullable(),
  token: TokenSummary.nullable(),
  expires_at: shownTime,
  created_at: shownTime,
  updated_at: shownTime,
});

export type Permission = z.output<typeof Permission>;

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
  agentId: named(agents.id, 'agent_id'),
  agentIsActive: named(agents.isActive, 'agent_is_active'),
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
export async function permissionOfPath(c: Incoming, reader: Reader, owner: SQL<number>) {
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

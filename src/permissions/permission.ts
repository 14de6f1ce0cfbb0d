import type { InferSelectModel } from 'drizzle-orm';
import * as z from 'zod';
import { PERMISSION_STATUSES, type permissions, TOKEN_STATUSES } from '../db/schema';
import type { Principal } from '../http/context';
import { EXAMPLE, exampleId } from '../http/examples';
import { choice } from '../http/fields';
import { countField, idField, jsonField, objectField, timeField } from '../http/response-fields';
import { Series } from '../http/series';
import type { Json, JsonObject } from '../lib/json';
import { type LazyOutput, lazy } from '../lib/lazy';
import { formatTime, formatTimeOrNull } from '../lib/time';
import { type Id, idPattern, withPrefix } from '../lib/typeid';
import { Outcome, presentOutcome } from './outcomes/outcome';
import { Preview } from './preview';
import { presentReview, Review, type ReviewState } from './reviews/review';
import { SeriesUsage } from './series/usage';

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
  token: {
    id: exampleId('token'),
    status: 'active',
    max_uses: 1,
    uses: 0,
    expires_at: EXAMPLE.laterTime,
  },
  expires_at: '2026-01-31T13:00:00.000Z',
  created_at: EXAMPLE.time,
  updated_at: EXAMPLE.time,
  title: 'Reply to ticket 4711',
  input_digest: null,
  preview_digest: 'sha-256:vEwZ3m5w4oMZuWJlIrW3ZXK2n6NcHHYx1hNhWkCVYlM',
  external_id: null,
  connection_id: null,
  series: null,
  granted_series: null,
  review: null,
  outcome: null,
};

/** A permission's row, with the id and the state of its agent. */
export type PermissionRow = Omit<
  InferSelectModel<typeof permissions>,
  'lastEntry' | 'requestEntry'
> & {
  agentId: Id<'agent'>;
  agentIsActive: boolean;
};

/** A permission's row with its review; null if no review policy routed it. */
export type ReviewedPermission = PermissionRow & { review: ReviewState | null };

export const TokenStatus = lazy(() => choice(TOKEN_STATUSES).meta({ id: 'TokenStatus' }));

export type TokenStatus = LazyOutput<typeof TokenStatus>;

export const PermissionStatus = lazy(() =>
  choice(PERMISSION_STATUSES).meta({ id: 'PermissionStatus' }),
);

export type PermissionStatus = LazyOutput<typeof PermissionStatus>;

export const TokenSummary = lazy(() =>
  z
    .object({
      id: idField('token'),
      status: TokenStatus(),
      max_uses: countField,
      uses: countField,
      expires_at: timeField,
      value: z.string().optional().meta({
        description:
          'The token itself, a JWT: only for its agent, while it is active and the account is not stopped.',
      }),
    })
    .meta({ id: 'TokenSummary', description: 'The token of an approved permission.' }),
);

export const Permission = lazy(() =>
  z
    .object({
      id: idField('perm'),
      agent_id: idField('agent'),
      action: z.string(),
      resource: z.string(),
      scope: objectField.meta({ description: 'The limits that the agent requested.' }),
      granted_scope: objectField
        .nullable()
        .meta({ description: 'The limits that the approval granted.' }),
      reason: z.string().nullable().meta({ description: 'Why the agent asks.' }),
      status: PermissionStatus(),
      decided_by: z
        .string()
        .nullable()
        .meta({
          description:
            'Id of the member or policy that decided, of the account for its own user tokens, or of the first permission ' +
            'of the series that approved it; null if nobody did.',
        }),
      decided_at: timeField.nullable(),
      decision_reason: z.string().nullable(),
      policy_id: z
        .string()
        .nullable()
        .meta({
          pattern: idPattern('policy'),
          description: 'The policy that decided; null if a person or nobody decided.',
        }),
      token: TokenSummary().nullable().meta({ description: 'Null unless it was approved.' }),
      expires_at: timeField.meta({ description: 'When it expires if nobody decides.' }),
      created_at: timeField,
      updated_at: timeField,
      title: z.string().nullable().meta({ description: 'The title of the preview.' }),
      input_digest: z
        .string()
        .nullable()
        .meta({ description: 'The digest of the arguments of the act.' }),
      preview_digest: z.string().nullable().meta({ description: 'The digest of the preview.' }),
      external_id: z
        .string()
        .nullable()
        .meta({ description: "The agent's own name for the request." }),
      connection_id: z
        .string()
        .nullable()
        .meta({
          pattern: idPattern('conn'),
          description:
            'The connection that made the request for the agent, and sends it once it is approved; null for a request of ' +
            'the agent itself.',
        }),
      series: Series()
        .nullable()
        .meta({ description: 'The run of like acts that the agent asked for.' }),
      granted_series: Series().nullable().meta({
        description:
          'The series that the approval gave: it approves the next requests that are like this one.',
      }),
      review: Review().nullable().meta({
        description:
          'How it is reviewed; null if no review policy applied: then one approval is enough.',
      }),
      outcome: Outcome().nullable().meta({
        description: 'Null before the use, and if the request did not say `reports_outcome`.',
      }),
      input: jsonField<Json>(z.unknown())
        .optional()
        .meta({
          description:
            'The arguments of the act; null if the request has none, or only their digest. Only in the answers that ' +
            'create or get one permission.',
        }),
      preview: Preview().nullable().optional().meta({
        description: 'What the agent wrote for the person who decides. Present as `input` is.',
      }),
      series_usage: SeriesUsage().optional().meta({
        description:
          'How far the given series is; absent if none was given. Only in the answers that create or get one permission.',
      }),
    })
    .meta({
      id: 'Permission',
      description: "An agent's request to do one thing, and the decision.",
      examples: [examplePermission],
    }),
);

export type Permission = LazyOutput<typeof Permission>;

/** The token of an approved permission. What it allows is fixed when it is issued. */
export interface GrantedToken {
  id: Id<'token'>;
  status: TokenStatus;
  maxUses: number;
  uses: number;
  /** In milliseconds since the epoch, as is `expiresAt`; both are whole seconds. */
  issuedAt: number;
  expiresAt: number;
  /** The key that was the newest when the token was issued. */
  keyId: string;
  scope: JsonObject;
}

/**
 * The status of a permission at a time. An overdue request is expired, even before the background
 * task stores this.
 */
export function statusAt(row: PermissionRow, now: number): PermissionStatus {
  if (row.status === 'pending' && row.expiresAt <= now) return 'expired';
  return row.status;
}

/**
 * The token of a permission at a time; null if none was issued. An active token becomes expired
 * when it is overdue.
 */
export function tokenAt(row: PermissionRow, now: number): GrantedToken | null {
  const {
    tokenStatus,
    tokenMaxUses,
    tokenUses,
    tokenIssuedAt,
    tokenExpiresAt,
    tokenKeyId,
    grantedScope,
  } = row;
  if (tokenStatus === null || tokenMaxUses === null || tokenUses === null || tokenIssuedAt === null)
    return null;
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

/**
 * Shows a permission to a caller as it is at a time. `tokenValue`, the token itself, is given for
 * its agent only.
 */
export function presentPermission(
  row: ReviewedPermission,
  now: number,
  { kind }: Pick<Principal, 'kind'>,
  tokenValue?: string,
): Permission {
  const token = tokenAt(row, now);
  const status = statusAt(row, now);
  return {
    id: row.id,
    agent_id: row.agentId,
    action: row.action,
    resource: row.resource,
    scope: row.scope,
    granted_scope: row.grantedScope,
    reason: row.reason,
    status,
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
    title: row.title,
    input_digest: row.inputDigest,
    preview_digest: row.previewDigest,
    external_id: row.externalId,
    connection_id: row.connectionId,
    series: row.series,
    granted_series: row.grantedSeries,
    review:
      row.review &&
      presentReview(row.review, {
        isPending: status === 'pending',
        asksSeries: row.series !== null,
        toAgent: kind === 'agent',
      }),
    outcome: presentOutcome(row, now),
  };
}

/**
 * Whether the request was taken back: it ended undecided before it expired. (A request that has
 * just expired was never updated, until the sweep stores that.) That of a connection which was
 * switched off or deleted expired when it was made: no other request lives less than a minute.
 */
export function isWithdrawn({ status, created_at, updated_at, expires_at }: Permission): boolean {
  if (status !== 'expired') return false;
  return expires_at === created_at || (created_at < updated_at && updated_at < expires_at);
}

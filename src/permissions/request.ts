import { sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { pendingPermissions, permissions } from '../db/schema';
import { Problem } from '../errors';
import { agentAccess } from '../http/access';
import { type AgentContext, newId } from '../http/context';
import { EXAMPLE } from '../http/examples';
import { body, noQuery } from '../http/input';
import { answer, created, operation } from '../http/operation';
import type { Entry } from '../ledger/entry';
import { lazy } from '../lib/lazy';
import { SECOND } from '../lib/time';
import { withPrefix } from '../lib/typeid';
import { draftPermissionEntry, type EntrySubject } from './draft-entry';
import { Permission, type PermissionRow, presentPermission } from './permission';
import { permissionFields } from './permission-fields';
import { evaluatePolicies } from './policies/evaluate';
import { activePolicies, type PolicyRow } from './policies/policy';
import { newTokenColumns } from './tokens/new-token-columns';
import { signActiveTokens } from './tokens/sign-active-tokens';

const PermissionRequest = lazy(() => {
  const { scope, reason, expires_in, token_ttl, max_uses, ...target } = permissionFields();
  return z
    .strictObject({
      ...target,
      scope: scope.default({}),
      reason: reason.optional(),
      expires_in: expires_in.default(3_600),
      token_ttl: token_ttl.default(900),
      max_uses: max_uses.default(1),
    })
    .meta({
      id: 'PermissionRequest',
      examples: [
        { action: EXAMPLE.action, resource: EXAMPLE.resource, scope: EXAMPLE.scope, reason: 'Reply to ticket 4711' },
      ],
    });
});

type RequestInput = z.output<ReturnType<typeof PermissionRequest>>;

/** The greatest number of pending requests of an account. */
export const MAX_PENDING_REQUESTS = 10_000;
/** The greatest number of pending requests of one agent, so that no agent uses up the account's quota. */
export const MAX_PENDING_REQUESTS_OF_AGENT = 1_000;

/**
 * Creates a permission. If an active policy applies, it decides at once, and an approved permission is returned with
 * its token; otherwise the permission waits for a person until it expires.
 * @throws Problem `conflict` if the agent or the account has the maximum number of pending requests, or the log is full
 */
export async function requestPermission(
  context: AgentContext,
  { policies, ...input }: { policies: PolicyRow[] } & RequestInput,
): Promise<Permission> {
  const { principal, runtime, ledger } = context;
  const { account, agent } = principal;
  const now = runtime.now();
  const { action, resource, scope } = input;
  const subject = { account: account.number, id: newId(runtime, 'perm'), action, resource };
  const request = draftPermissionEntry(context, subject, 'request', { scope });
  const { policy } = evaluatePolicies(policies, { agentId: agent.id, action, resource, scope });
  const decision = policy && (await decideByPolicy(context, { subject, policy, input }));
  const row: PermissionRow = {
    ...UNDECIDED,
    ...subject,
    agent: agent.number,
    agentId: agent.id,
    agentIsActive: true,
    scope,
    reason: input.reason || null,
    tokenTtl: input.token_ttl,
    maxUses: input.max_uses,
    status: 'pending',
    expiresAt: now + input.expires_in * SECOND,
    createdAt: now,
    updatedAt: now,
    ...decision?.columns,
    lastEntry: (decision?.entry ?? request).id,
  };
  const tokens = await signActiveTokens(context, [row], now);
  const permission = presentPermission(row, now, tokens.get(row.id));
  // NULL, which the column refuses, if the quota of pending requests is reached.
  const requester = row.status === 'pending' ? agentUnlessQuotaReached(agent.number, account.number) : agent.number;
  const committed = await ledger.commit({
    changes: (write) => [write.insert(permissions).values({ ...row, agent: requester })],
    entries: decision ? [request, decision.entry] : [request],
    answer: { value: permission, subject: agent.id },
  });
  // Only the quota refuses the agent's number: the ledger has checked the credential before.
  if (!committed) {
    throw new Problem(
      'conflict',
      `The agent has ${MAX_PENDING_REQUESTS_OF_AGENT} pending requests, or the account ${MAX_PENDING_REQUESTS}: the maximum. Decide some, or ` +
        'wait until they expire.',
    );
  }
  return permission;
}

function agentUnlessQuotaReached(agent: number, account: number) {
  const pending = (of: number) => sql`coalesce((
    select count from ${pendingPermissions} where account = ${account} and agent = ${of}
  ), 0)`;
  return sql<number>`iif(
    ${pending(agent)} < ${MAX_PENDING_REQUESTS_OF_AGENT} and ${pending(0)} < ${MAX_PENDING_REQUESTS}, ${agent}, null
  )`;
}

const UNDECIDED = {
  grantedScope: null,
  decidedBy: null,
  decidedAt: null,
  decisionReason: null,
  policyId: null,
  tokenStatus: null,
  tokenMaxUses: null,
  tokenUses: null,
  tokenIssuedAt: null,
  tokenExpiresAt: null,
  tokenKeyId: null,
} as const;

/** Makes the audit entry of a policy's decision on a request, and the columns that the decision sets. */
async function decideByPolicy(
  context: AgentContext,
  { subject, policy, input }: { subject: EntrySubject; policy: PolicyRow; input: RequestInput },
): Promise<{ entry: Entry; columns: Partial<PermissionRow> & Pick<PermissionRow, 'status'> }> {
  const { scope } = input;
  const decision = { decided_by: policy.id, decision_reason: policy.reason, policy_id: policy.id };
  const decided = {
    decidedBy: policy.id,
    decidedAt: context.runtime.now(),
    decisionReason: policy.reason,
    policyId: policy.id,
  };
  if (policy.effect === 'deny') {
    const entry = draftPermissionEntry(context, subject, 'deny', { scope, ...decision });
    return { entry, columns: { status: 'denied', ...decided } };
  }
  const token = await newTokenColumns(context, {
    scope,
    tokenTtl: Math.min(input.token_ttl, policy.tokenTtl ?? input.token_ttl),
    maxUses: Math.min(input.max_uses, policy.maxUses ?? input.max_uses),
  });
  const token_id = withPrefix('token', subject.id);
  const entry = draftPermissionEntry(context, subject, 'approve', { scope, ...decision, token_id });
  return { entry, columns: { status: 'approved', ...decided, ...token } };
}

export const requestPermissionRoute = new Hono().post(
  '/v1/permissions',
  operation({
    id: 'requestPermission',
    tag: 'Permissions',
    summary: 'Request a permission',
    description: 'A policy may decide it at once; otherwise it waits for a person.',
    success: created(Permission),
    problems: ['conflict'],
  }),
  agentAccess(activePolicies),
  noQuery(),
  body(PermissionRequest),
  async (c) => {
    const input = { policies: c.var.loaded ?? [], ...c.req.valid('json') };
    return answer(c, await requestPermission(c.var.context, input));
  },
);

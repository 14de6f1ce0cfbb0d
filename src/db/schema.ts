import { sql } from 'drizzle-orm';
import {
  check,
  index,
  integer,
  primaryKey,
  sqliteTable,
  text,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core';
import type { JSONWebKeySet } from 'jose';
import type { JsonObject } from '../lib/json';
import { PLANS } from '../lib/plans';
import type { Id } from '../lib/typeid';
import { ACTIVITY_ACTIONS } from './activity-actions';
import { bytesColumn, codeColumn, idColumn } from './columns';
import { reviewRuleColumn, type StoredReviewRule } from './review-rule';
import { eventColumn } from './stored-events';

export { EVENT_TYPES, type EventType } from './stored-events';

// Times are milliseconds since the epoch. Integer columns `account`, `agent` and `receiver` contain
// the numbers of rows, which are internal to one shard; the API shows identifiers only.

export const PERMISSION_STATUSES = ['pending', 'approved', 'denied', 'expired'] as const;
export const TOKEN_STATUSES = ['active', 'used', 'expired', 'revoked'] as const;

export type PermissionStatus = (typeof PERMISSION_STATUSES)[number];
export type TokenStatus = (typeof TOKEN_STATUSES)[number];

/**
 * Accounts. Numbers are never reused, because the log positions of an erased account contain its
 * number.
 */
export const accounts = sqliteTable(
  'accounts',
  {
    number: integer().primaryKey({ autoIncrement: true }),
    id: idColumn('user')().notNull().unique('accounts_by_id'),
    email: text().notNull(),
    name: text(),
    plan: codeColumn(PLANS)().notNull(),
    /** The setting of an enterprise account in days; null if the plan decides. */
    auditRetentionDays: integer('audit_retention_days'),
    isActive: integer('is_active', { mode: 'boolean' }).notNull(),
    /** Since when the account is stopped; null if it is not, and then the next two are null. */
    stoppedAt: integer('stopped_at'),
    /** The member who stopped it; null for a user token of the account. */
    stoppedBy: idColumn('member')('stopped_by'),
    stopReason: text('stop_reason'),
    /** Whether the heads of its log are sent to the witnesses. */
    isWitnessed: integer('is_witnessed', { mode: 'boolean' }).notNull().default(false),
    /**
     * The highest sequence that was ever erased from the log, and the latest `created_at` of an
     * erased entry: new entries get a higher sequence, and no earlier time. Both are 0 at first.
     */
    erasedSequence: integer('erased_sequence').notNull().default(0),
    erasedAt: integer('erased_at').notNull().default(0),
    /**
     * When to look for audit entries and activity records to erase; null if the account has none.
     */
    retentionDueAt: integer('retention_due_at'),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  (table) => [
    index('accounts_by_email').on(table.email),
    index('accounts_retention_due')
      .on(table.retentionDueAt)
      .where(sql`retention_due_at is not null`),
    index('accounts_witnessed').on(table.number).where(sql`is_witnessed`),
  ],
);

/**
 * The roles of members, and their statuses. The database stores their places in these lists:
 * append, never reorder.
 */
export const MEMBER_ROLES = ['owner', 'admin', 'approver', 'developer', 'auditor'] as const;
export const MEMBER_STATUSES = ['invited', 'active', 'suspended', 'removed'] as const;

export type MemberRole = (typeof MEMBER_ROLES)[number];
export type MemberStatus = (typeof MEMBER_STATUSES)[number];

/** The people of accounts. A removed member stays as long as the audit log may name them. */
export const members = sqliteTable(
  'members',
  {
    account: integer().notNull(),
    id: idColumn('member')().notNull(),
    /** Null for a person whose identity provider gives no address. */
    email: text(),
    /**
     * Since when it is known that mail to the address reaches the member; null if that was never
     * proven.
     */
    emailProvenAt: integer('email_proven_at'),
    name: text(),
    role: codeColumn(MEMBER_ROLES)().notNull(),
    status: codeColumn(MEMBER_STATUSES)().notNull(),
    /** The key in `identities` of the identity with which the member signs in; null without one. */
    identity: bytesColumn(),
    /**
     * HMAC-SHA-256 of the invitation's secret, and when it expires; null unless the member is
     * invited.
     */
    invitationHash: bytesColumn('invitation_hash'),
    invitationExpiresAt: integer('invitation_expires_at'),
    /** The member who made the last invitation; null if no member did. */
    invitedBy: idColumn('member')('invited_by'),
    lastSeenAt: integer('last_seen_at'),
    /** Since when the member has been active with this role; null unless active. */
    activeSince: integer('active_since'),
    /** When to erase the row of a removed member; null for others. */
    eraseAt: integer('erase_at'),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.account, table.id] }),
    uniqueIndex('members_by_email')
      .on(sql`email collate nocase`, table.account)
      .where(sql`status <> 3`),
    uniqueIndex('members_by_identity').on(table.identity, table.account).where(sql`status <> 3`),
    uniqueIndex('members_by_invitation')
      .on(table.invitationHash)
      .where(sql`invitation_hash is not null`),
    index('members_by_status').on(table.account, table.status, table.id),
    index('members_by_role')
      .on(table.account, table.role, table.activeSince)
      .where(sql`status = 1`),
    index('members_to_erase').on(table.eraseAt).where(sql`erase_at is not null`),
  ],
);

/**
 * The passkeys of members (WebAuthn credentials). A removed one stays as long as its member: it has
 * signed decisions.
 */
export const passkeys = sqliteTable(
  'passkeys',
  {
    account: integer().notNull(),
    /** The credential id. */
    id: bytesColumn().notNull(),
    member: idColumn('member')().notNull(),
    name: text().notNull(),
    /** The public key as a COSE_Key (RFC 9052 section 7). */
    publicKey: bytesColumn('public_key').notNull(),
    /** The signature counter at its last use; 0 for an authenticator that does not count. */
    counter: integer().notNull(),
    /** The signature counter when it was added; null if that is not known. */
    firstCounter: integer('first_counter'),
    addedAt: integer('added_at').notNull(),
    removedAt: integer('removed_at'),
    /**
     * Shows that the service stored the passkey for this member: see `passkeyContent`. Without it
     * nobody can use it.
     */
    mac: bytesColumn(),
  },
  (table) => [
    primaryKey({ columns: [table.account, table.id] }),
    index('passkeys_by_member').on(table.account, table.member),
  ],
);

/**
 * Sessions of the console: those of members, and those of user tokens. Exactly one of `member` and
 * `token` is set, so a query that expects a member never takes a session of a token for one of its
 * member.
 */
export const sessions = sqliteTable(
  'sessions',
  {
    /** HMAC-SHA-256 of the secret in the cookie. */
    hash: bytesColumn().primaryKey(),
    id: idColumn('session')().notNull(),
    account: integer().notNull(),
    /** The member who signed in with a passkey or the identity provider. */
    member: idColumn('member')(),
    /** The user token with which somebody signed in. */
    token: idColumn('utok')(),
    ipAddress: text('ip_address').notNull(),
    userAgent: text('user_agent').notNull(),
    lastSeenAt: integer('last_seen_at').notNull(),
    createdAt: integer('created_at').notNull(),
    /**
     * When the person proved who they are, if that was before the session began: at the identity
     * provider.
     */
    authenticatedAt: integer('authenticated_at'),
  },
  (table) => [
    uniqueIndex('sessions_by_account').on(table.account, table.id),
    index('sessions_by_member').on(table.account, table.member),
    index('sessions_by_token').on(table.account, table.token).where(sql`token is not null`),
    index('sessions_by_age').on(table.createdAt),
  ],
);

/**
 * WebAuthn challenges and states of OIDC sign-ins that began a session, until they expire: each
 * works once. Those of all accounts are on the first shard, because they are made before it is
 * known who signs in.
 */
export const signInChallenges = sqliteTable(
  'sign_in_challenges',
  {
    challenge: bytesColumn().primaryKey(),
    expiresAt: integer('expires_at').notNull(),
  },
  (table) => [index('sign_in_challenges_by_expiry').on(table.expiresAt)],
);

/**
 * The secrets that work once in one account, until they expire: WebAuthn challenges and states of
 * OIDC sign-ins that a member joined or added a passkey with, and hashes of pairing codes that were
 * exchanged.
 */
export const usedChallenges = sqliteTable(
  'used_challenges',
  {
    account: integer().notNull(),
    challenge: bytesColumn().notNull(),
    expiresAt: integer('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.account, table.challenge] }),
    index('used_challenges_by_expiry').on(table.expiresAt),
  ],
);

export const userTokens = sqliteTable(
  'user_tokens',
  {
    /** HMAC-SHA-256 of the token. */
    hash: bytesColumn().primaryKey(),
    id: idColumn('utok')().notNull(),
    account: integer().notNull(),
    /** The member whom the token belongs to; null if it belongs to the account. */
    member: idColumn('member')(),
    name: text(),
    /** The first characters of the token. */
    prefix: text().notNull(),
    scopes: text({ mode: 'json' }).notNull().$type<string[]>(),
    expiresAt: integer('expires_at'),
    lastUsedAt: integer('last_used_at'),
    createdAt: integer('created_at').notNull(),
    /**
     * Who made it: the id of a member or of the account, or `operator`; null if that is not known.
     */
    createdBy: text('created_by'),
  },
  (table) => [
    uniqueIndex('user_tokens_by_account').on(table.account, table.id),
    index('user_tokens_by_member').on(table.account, table.member),
    index('user_tokens_by_expiry').on(table.expiresAt).where(sql`expires_at is not null`),
  ],
);

/**
 * People who sign in with the identity provider, and the shards of their accounts. On the first
 * shard only, because a JWT does not name a shard.
 */
export const identities = sqliteTable(
  'identities',
  {
    /** SHA-256 of issuer and subject. */
    key: bytesColumn().primaryKey(),
    account: idColumn('user')().notNull(),
    shard: text().notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [index('identities_by_account').on(table.account)],
);

/** The public keys of the identity provider as they were last fetched. */
export const providerKeys = sqliteTable('provider_keys', {
  issuer: text().primaryKey(),
  /** A JWK set; null if the provider has never answered. */
  keys: text({ mode: 'json' }).$type<JSONWebKeySet>(),
  fetchedAt: integer('fetched_at').notNull(),
  /**
   * When a request last claimed the right to fetch the keys, so that others do not fetch them too.
   */
  claimedAt: integer('claimed_at').notNull(),
  /** Whether that request has not finished yet. Stays true after a crash. */
  isClaimed: integer('is_claimed', { mode: 'boolean' }).notNull().default(false),
});

/**
 * Agents. Numbers are never reused, because rows of a deleted agent remain until they are erased.
 */
export const agents = sqliteTable(
  'agents',
  {
    number: integer().primaryKey({ autoIncrement: true }),
    account: integer().notNull(),
    id: idColumn('agent')().notNull(),
    name: text().notNull(),
    description: text(),
    keyPrefix: text('key_prefix').notNull(),
    metadata: text({ mode: 'json' }).notNull().$type<JsonObject>(),
    isActive: integer('is_active', { mode: 'boolean' }).notNull(),
    lastActivityAt: integer('last_activity_at'),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
    /**
     * The member who is responsible for the agent; null if nobody is. The member may have been
     * removed.
     */
    owner: idColumn('member')(),
  },
  (table) => [
    uniqueIndex('agents_by_account').on(table.account, table.id),
    index('agents_by_activity').on(table.account, table.isActive, table.id),
  ],
);

export const agentKeys = sqliteTable(
  'agent_keys',
  {
    /** HMAC-SHA-256 of the key. */
    hash: bytesColumn().primaryKey(),
    agent: integer().notNull(),
    /** When a replaced key expires; null for the current key. */
    expiresAt: integer('expires_at'),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [
    index('agent_keys_by_agent').on(table.agent),
    index('agent_keys_by_expiry').on(table.expiresAt).where(sql`expires_at is not null`),
  ],
);

/** A run of like acts: how many, within how many seconds, and which keys of the scope may vary. */
export type SeriesTerms = {
  /** The number of acts, the first one included. */
  requests: number;
  expires_in: number;
  varies: string[];
};

/**
 * The states of the outcome that a request promised to report. `promised` until the use. The
 * database stores places in this list: append, never reorder.
 */
export const OUTCOME_STATES = ['promised', 'awaited', 'unknown', 'succeeded', 'failed'] as const;

/**
 * Permission requests and, once approved, their tokens. The identifiers of both have the same 128
 * bits.
 */
export const permissions = sqliteTable(
  'permissions',
  // Each column has its name: Drizzle looks up any other by the name of the table, which the tables
  // of `permission-outcomes.ts` and `connection-requests.ts` share.
  {
    account: integer('account').notNull(),
    id: idColumn('perm')('id').notNull(),
    agent: integer('agent').notNull(),
    action: text('action').notNull(),
    resource: text('resource').notNull(),
    scope: text('scope', { mode: 'json' }).notNull().$type<JsonObject>(),
    reason: text('reason'),
    /** The requested lifetime in seconds and number of uses. An approver may narrow both. */
    tokenTtl: integer('token_ttl').notNull(),
    maxUses: integer('max_uses').notNull(),
    status: codeColumn(PERMISSION_STATUSES)('status').notNull(),
    grantedScope: text('granted_scope', { mode: 'json' }).$type<JsonObject>(),
    decidedBy: text('decided_by'),
    decidedAt: integer('decided_at'),
    decisionReason: text('decision_reason'),
    policyId: text('policy_id'),
    tokenStatus: codeColumn(TOKEN_STATUSES)('token_status'),
    tokenMaxUses: integer('token_max_uses'),
    tokenUses: integer('token_uses'),
    tokenIssuedAt: integer('token_issued_at'),
    tokenExpiresAt: integer('token_expires_at'),
    /** The thumbprint (RFC 7638) of the key that signs the token. */
    tokenKeyId: text('token_key_id'),
    /** The sequence of the newest audit entry about the permission or its token. */
    lastEntry: integer('last_entry').notNull(),
    expiresAt: integer('expires_at').notNull(),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
    /** The title of the preview. */
    title: text('title'),
    /** The digests of the input and of the preview (see `digestOf` in `permissions/digest.ts`). */
    inputDigest: text('input_digest'),
    previewDigest: text('preview_digest'),
    /**
     * The agent's own name for the request. An index refuses a second permission of the agent with
     * the same name.
     */
    externalId: text('external_id'),
    /**
     * When the request or the token ends, for a permission that outlives its last audit entry. Then
     * the permission is erased, unless it has a new entry. Null as long as no last entry was
     * erased.
     */
    eraseAt: integer('erase_at'),
    /**
     * Shows what was requested and how it is reviewed: see `requestContent`. Without it nobody can
     * approve it.
     */
    mac: bytesColumn('mac'),
    /** The series that the agent asked for with the request; null if it asked for none. */
    series: text('series', { mode: 'json' }).$type<SeriesTerms>(),
    /** The series that the approval gave: see `series`; null if it gave none. */
    grantedSeries: text('granted_series', { mode: 'json' }).$type<SeriesTerms>(),
    /** The sequence of the entry of the request; null if it promised no outcome. */
    requestEntry: integer('request_entry'),
    /**
     * The outcome after the use; null if none was promised. A report changes it: see
     * `permissionOutcomes`.
     */
    outcomeState: codeColumn(OUTCOME_STATES)('outcome_state'),
    /** Who took the use, and so reports: the id of the agent, the member or the account. */
    usedBy: text('used_by'),
    /**
     * When the outcome becomes unknown unless it is reported; null before the use. The state stays
     * `awaited` until the sweep.
     */
    outcomeDueAt: integer('outcome_due_at'),
    outcomeReportedAt: integer('outcome_reported_at'),
    /** The connection that made the request and sends the act; null for a program's own request. */
    connectionId: idColumn('conn')('connection_id'),
    /** The last column, because it may be long: reading the others does not read it. */
    outcomeSummary: text('outcome_summary'),
  },
  (table) => [
    primaryKey({ columns: [table.account, table.id] }),
    check('token_uses_left', sql`token_uses <= token_max_uses`),
    // The external id first, so that a refusal names it.
    uniqueIndex('permissions_by_external_id')
      .on(table.externalId, table.account, table.agent)
      .where(sql`external_id is not null`),
    // What members decided. GET /v1/permissions reads what was decided otherwise from the log.
    index('permissions_by_decider')
      .on(table.account, table.decidedBy, table.decidedAt)
      .where(sql`decided_by glob 'member_*'`),
    // What is pending, in the order of the log: the only entry of a pending permission is its
    // request. The further columns are what lists filter by.
    index('permissions_pending')
      .on(
        table.account,
        table.lastEntry,
        table.agent,
        table.action,
        table.expiresAt,
        table.createdAt,
      )
      .where(sql`status = 0`),
    index('permissions_pending_by_agent')
      .on(table.agent, table.lastEntry, table.action, table.expiresAt, table.createdAt)
      .where(sql`status = 0`),
    index('permissions_due').on(table.expiresAt).where(sql`status = 0`),
    index('permissions_waiting')
      .on(table.account, table.expiresAt, table.id, table.agent, table.createdAt)
      .where(sql`status = 0`),
    index('permissions_to_erase').on(table.eraseAt).where(sql`erase_at is not null`),
    index('permissions_to_erase_by_agent')
      .on(table.agent, table.eraseAt)
      .where(sql`erase_at is not null`),
    index('tokens_due').on(table.tokenExpiresAt).where(sql`token_status = 0 and token_uses = 0`),
    // By the minute, so that both the sweep of all accounts and a list of one find what is overdue.
    index('outcomes_awaited')
      .on(sql`(outcome_due_at / 60000)`, table.account, table.outcomeDueAt)
      .where(sql`outcome_state = 1`),
    // The unknown and failed ones in the order of their requests in the log.
    index('permissions_by_outcome')
      .on(
        table.account,
        table.outcomeState,
        table.requestEntry,
        table.agent,
        table.action,
        table.createdAt,
      )
      .where(sql`outcome_state in (2, 4)`),
    // The same ones in the order of their decisions.
    index('permissions_by_decision_and_outcome')
      .on(
        table.account,
        table.outcomeState,
        table.decidedAt,
        table.id,
        table.agent,
        table.action,
        table.createdAt,
      )
      .where(sql`outcome_state in (2, 4)`),
    // The calls of a connection in the order of their requests.
    index('permissions_by_connection')
      .on(table.account, table.connectionId, table.id)
      .where(sql`connection_id is not null`),
    // The calls that wait, which are withdrawn when their connection is switched off or deleted.
    index('permissions_waiting_by_connection')
      .on(table.account, table.connectionId)
      .where(sql`status = 0 and connection_id is not null`),
  ],
);

/**
 * The input and the preview of permissions that have one. A trigger deletes them with their
 * permission.
 */
export const permissionContents = sqliteTable(
  'permission_contents',
  {
    account: integer().notNull(),
    id: idColumn('perm')().notNull(),
    /** As compact JSON; null if the permission has no input, or only its digest. */
    input: text(),
    /** As compact JSON. */
    preview: text(),
  },
  (table) => [primaryKey({ columns: [table.account, table.id] })],
);

/**
 * The series that approvals gave. A request that is like the first permission is approved by the
 * series, as long as that is live. A trigger deletes a series with its first permission.
 */
export const series = sqliteTable(
  'series',
  {
    account: integer().notNull(),
    agent: integer().notNull(),
    /** When it expires; 0 once it has ended for another reason, and that is recorded. */
    liveUntil: integer('live_until').notNull(),
    /** The first permission. */
    permission: idColumn('perm')().notNull(),
    action: text().notNull(),
    resource: text().notNull(),
    /** The scope that the first permission was granted. */
    scope: text({ mode: 'json' }).notNull().$type<JsonObject>(),
    /** The keys of the scope whose values may be narrower. */
    varies: text({ mode: 'json' }).notNull().$type<string[]>(),
    /** The lifetime of tokens, in seconds. */
    tokenTtl: integer('token_ttl').notNull(),
    /** The number of acts that it approves, and of those that it has approved: the first is one. */
    requests: integer().notNull(),
    used: integer().notNull(),
    expiresAt: integer('expires_at').notNull(),
    /** When it ended before it expired; null if it did not. */
    endedAt: integer('ended_at'),
    /**
     * The review policy that routed the first permission, and the policy's `updated_at`; null if
     * none did.
     */
    policyId: text('policy_id').$type<Id<'policy'>>(),
    policyUpdatedAt: integer('policy_updated_at'),
    /** The connection whose acts it approves; null for acts that the agent takes itself. */
    connectionId: idColumn('conn')('connection_id'),
    /**
     * The members whose votes gave it, in hexadecimal, each with the `active_since` of the member
     * at that time.
     */
    givenBy: text('given_by', { mode: 'json' })
      .notNull()
      .$type<[member: string, since: number][]>(),
    /** Shows that people gave it: see `seriesContent`. Without it the series approves nothing. */
    mac: bytesColumn().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.account, table.agent, table.liveUntil, table.permission] }),
  ],
);

/**
 * Accounts in which a series may have ended without a record of it: an agent has another owner, or
 * a member another role or status.
 */
export const seriesChecks = sqliteTable('series_checks', {
  account: integer().primaryKey(),
  /** When the first such change was, and how many there were. */
  since: integer().notNull(),
  changes: integer().notNull(),
});

/** The number of pending permissions of each account. Triggers on `permissions` maintain it. */
export const pendingPermissions = sqliteTable('pending_permissions', {
  account: integer().primaryKey(),
  count: integer().notNull(),
});

export const POLICY_EFFECTS = ['approve', 'deny', 'review'] as const;

/** Who reviews a request, and how many have to approve. */
export type ReviewRule = StoredReviewRule<MemberRole>;

/** The times that a budget may be for: all time, or a calendar window in UTC. */
export const BUDGET_PERIODS = ['total', 'hour', 'day', 'month'] as const;

/** How much a policy approves in each window: a number of requests, a sum, or both. */
export interface PolicyBudget {
  per: (typeof BUDGET_PERIODS)[number];
  requests?: number | undefined;
  /** The sum of the granted values of a key of the scope. */
  sum?: { key: string; max: number } | undefined;
}

export const CONNECTION_AUTH_TYPES = ['none', 'basic', 'header'] as const;
export const CONNECTION_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export const CONNECTION_EFFECTS = ['ask', 'allow', 'deny'] as const;

/** How a connection treats the calls that a rule fits: see `ConnectionRule` of the API. */
export interface StoredConnectionRule {
  methods?: (typeof CONNECTION_METHODS)[number][] | undefined;
  paths?: string[] | undefined;
  effect: (typeof CONNECTION_EFFECTS)[number];
  action?: string | undefined;
  resource?: string | undefined;
  scope?: Record<string, string> | undefined;
  title?: string | undefined;
  series?: SeriesTerms | undefined;
  whole_input: boolean;
}

/** Connections: other services to which the service itself sends what agents may do there. */
export const connections = sqliteTable(
  'connections',
  {
    account: integer().notNull(),
    id: idColumn('conn')().notNull(),
    name: text().notNull(),
    slug: text().notNull(),
    baseUrl: text('base_url').notNull(),
    authType: codeColumn(CONNECTION_AUTH_TYPES)('auth_type').notNull(),
    /** The header of the credential and what stands before it; both null for the type `none`. */
    authHeader: text('auth_header'),
    authPrefix: text('auth_prefix'),
    /** The credential, encrypted: see `connections/secret.ts`; null for the type `none`. */
    secret: bytesColumn(),
    rules: text({ mode: 'json' }).notNull().$type<StoredConnectionRule[]>(),
    agentIds: text('agent_ids', { mode: 'json' }).notNull().$type<Id<'agent'>[]>(),
    forwardHeaders: text('forward_headers', { mode: 'json' }).notNull().$type<string[]>(),
    /** In seconds. */
    wait: integer().notNull(),
    timeout: integer().notNull(),
    repeatAfter: integer('repeat_after').notNull(),
    isActive: integer('is_active', { mode: 'boolean' }).notNull(),
    /** Who made it, as for a user token. */
    createdBy: text('created_by'),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.account, table.id] }),
    uniqueIndex('connections_by_slug').on(table.account, table.slug),
  ],
);

/**
 * The permission that a call of an agent to a connection leads to, by the call's name. A trigger
 * deletes the calls of a permission together with it.
 */
export const connectionCalls = sqliteTable(
  'connection_calls',
  {
    account: integer().notNull(),
    connection: idColumn('conn')().notNull(),
    agent: integer().notNull(),
    /** A byte that says which, and the SHA-256 of the call's idempotency key or of its input. */
    name: bytesColumn().notNull(),
    permission: idColumn('perm')().notNull(),
    /** The same as that of the permission. */
    inputDigest: text('input_digest').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.account, table.connection, table.agent, table.name] }),
    index('connection_calls_by_input').on(
      table.account,
      table.connection,
      table.agent,
      table.inputDigest,
      table.permission,
    ),
  ],
);

/** The number of calls that a rule of a connection allowed without asking, per UTC day. */
export const connectionReads = sqliteTable(
  'connection_reads',
  {
    account: integer().notNull(),
    connection: idColumn('conn')().notNull(),
    agent: integer().notNull(),
    /** Days since the epoch. */
    day: integer().notNull(),
    count: integer().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.account, table.connection, table.agent, table.day] }),
    index('connection_reads_by_age').on(table.day),
  ],
);

/** Rules that decide permission requests immediately, or say who reviews them. */
export const policies = sqliteTable(
  'policies',
  {
    account: integer().notNull(),
    id: idColumn('policy')().notNull(),
    name: text().notNull(),
    effect: codeColumn(POLICY_EFFECTS)().notNull(),
    /** Patterns. At least one of `actions` and one of `resources` must match. */
    actions: text({ mode: 'json' }).notNull().$type<string[]>(),
    resources: text({ mode: 'json' }).notNull().$type<string[]>(),
    /** Null for every agent. */
    agentIds: text('agent_ids', { mode: 'json' }).$type<string[]>(),
    conditions: text({ mode: 'json' }).notNull().$type<JsonObject>(),
    tokenTtl: integer('token_ttl'),
    maxUses: integer('max_uses'),
    reason: text(),
    priority: integer().notNull(),
    isActive: integer('is_active', { mode: 'boolean' }).notNull(),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
    /** Null unless the effect is `review`. */
    review: reviewRuleColumn(MEMBER_ROLES)(),
    /** Who made it, as for a user token. */
    createdBy: text('created_by'),
    /** Null for no limit. Only for the effect `approve`, as `expires_at`. */
    budget: text({ mode: 'json' }).$type<PolicyBudget>(),
    expiresAt: integer('expires_at'),
    /**
     * The approvals of the policy since the start of the newest window that it was counted in.
     * Every approval that a budget counts writes them, so no index has them.
     */
    usageWindowStart: integer('usage_window_start').notNull(),
    usageRequests: integer('usage_requests').notNull(),
    usageSumMillionths: integer('usage_sum_millionths').notNull(),
  },
  (table) => [primaryKey({ columns: [table.account, table.id] })],
);

/**
 * The reviews of the permissions that a review policy routed: the policy's rule as it was at the
 * request, and what the votes so far have left. A trigger deletes a review and its votes with the
 * permission.
 */
export const reviews = sqliteTable(
  'reviews',
  {
    account: integer().notNull(),
    /** The id of the permission. */
    id: idColumn('perm')().notNull(),
    policyId: text('policy_id').notNull().$type<Id<'policy'>>(),
    /** The `updated_at` of the policy when it routed the request. */
    policyUpdatedAt: integer('policy_updated_at').notNull(),
    rule: reviewRuleColumn(MEMBER_ROLES)().notNull(),
    /** The member who owned the agent when it made the request; null if nobody did. */
    owner: idColumn('member')(),
    /** The limits that the last approval will grant. A vote may only narrow them. */
    proposedScope: text('proposed_scope', { mode: 'json' }).notNull().$type<JsonObject>(),
    proposedTokenTtl: integer('proposed_token_ttl').notNull(),
    proposedMaxUses: integer('proposed_max_uses').notNull(),
    proposedSeries: text('proposed_series', { mode: 'json' }).$type<SeriesTerms>(),
    /**
     * From when on the escalation's members and roles are reviewers too; null without an
     * escalation.
     */
    escalatesAt: integer('escalates_at'),
    /** When the escalation was recorded. */
    escalatedAt: integer('escalated_at'),
    /**
     * When to record the escalation; null if that is done, or the permission is no longer pending.
     */
    escalationDueAt: integer('escalation_due_at'),
  },
  (table) => [
    primaryKey({ columns: [table.account, table.id] }),
    index('reviews_to_escalate')
      .on(table.escalationDueAt)
      .where(sql`escalation_due_at is not null`),
  ],
);

export const VOTE_DECISIONS = ['approve', 'deny'] as const;
/** The ways in which a person decides. */
export const DECISION_SOURCES = ['api', 'console', 'slack'] as const;

/** A signature by a passkey: what the authenticator gave, in base64url. */
export interface VoteSignature {
  credential_id: string;
  signed_at: string;
  authenticator_data: string;
  client_data_json: string;
  signature: string;
}

/** The votes in reviews, numbered from 1 within each review. */
export const votes = sqliteTable(
  'votes',
  {
    account: integer().notNull(),
    permission: idColumn('perm')().notNull(),
    ordinal: integer().notNull(),
    member: idColumn('member')().notNull(),
    decision: codeColumn(VOTE_DECISIONS)().notNull(),
    scope: text({ mode: 'json' }).notNull().$type<JsonObject>(),
    tokenTtl: integer('token_ttl').notNull(),
    maxUses: integer('max_uses').notNull(),
    /** The series that the vote gives; null if it gives none. */
    series: text({ mode: 'json' }).$type<SeriesTerms>(),
    reason: text(),
    via: codeColumn(DECISION_SOURCES)().notNull(),
    signature: text({ mode: 'json' }).$type<VoteSignature>(),
    createdAt: integer('created_at').notNull(),
    /**
     * Shows that the service took the vote: see `voteContent`. Without it the vote counts only if
     * its signature is valid.
     */
    mac: bytesColumn(),
  },
  (table) => [
    primaryKey({ columns: [table.account, table.permission, table.ordinal] }),
    index('votes_by_member').on(table.account, table.member, table.createdAt, table.permission),
  ],
);

/**
 * The audit logs of all accounts. `pos`, the position, is account number × 2³² + sequence, where
 * sequence counts the entries of the account from 1: one integer orders the entries of every
 * account, and no index needs an account column.
 */
export const auditEntries = sqliteTable(
  'audit_entries',
  {
    pos: integer().primaryKey(),
    agent: integer().notNull(),
    permission: idColumn('perm')().notNull(),
    /** The sequence of the permission's entry before this one; null for its first. */
    previous: integer(),
    event: eventColumn().notNull(),
    action: text().notNull(),
    createdAt: integer('created_at').notNull(),
    ipAddress: text('ip_address').notNull(),
    userAgent: text('user_agent').notNull(),
    /** JSON in a short form: see `ledger/stored-details.ts`. */
    details: text().notNull(),
    /** The salt and the random part of the id: see `ledger/entry-id.ts`. */
    random: bytesColumn().notNull(),
  },
  (table) => [
    // Each ends with `pos`, the rowid, by itself. Naming it would store it twice.
    index('audit_by_event').on(table.event),
    index('audit_by_agent').on(table.agent, table.event),
    index('audit_by_action').on(table.action, table.event),
    index('audit_by_agent_action').on(table.agent, table.action, table.event),
  ],
);

/**
 * The Merkle tree over each account's log. The entries up to sequence `size` are sealed, which
 * means hashed into the tree: sequence n is leaf n − 1. R2 has the full tiles of 256 hashes; the
 * partial tiles, the frontier, are here. The row also has how far the log is counted, which does
 * not depend on the tree.
 */
export const trees = sqliteTable(
  'trees',
  {
    account: integer().primaryKey(),
    /** The number of leaves under the newest head, the signed root. */
    size: integer().notNull().default(0),
    /** The root hash of the newest head; null before the first. */
    root: bytesColumn(),
    /**
     * The time of the newest head. Only for people who read the table: the service reads the time
     * from the note.
     */
    sealedAt: integer('sealed_at'),
    /** The partial tiles, level by level from the leaves: 32 bytes per hash. */
    frontier: bytesColumn().notNull().default(sql`x''`),
    /**
     * The newest head as a signed note, which the columns above must agree with; null before the
     * first.
     */
    note: text(),
    /**
     * The size of the newest head that was written to R2, and when (only for people who read the
     * table); 0 before.
     */
    publishedSize: integer('published_size').notNull().default(0),
    publishedAt: integer('published_at').notNull().default(0),
    /**
     * The size of the newest published head that every witness has cosigned or refused, and of the
     * newest one that any has cosigned; 0 before.
     */
    witnessedSize: integer('witnessed_size').notNull().default(0),
    cosignedSize: integer('cosigned_size').notNull().default(0),
    /** Before when no head is sent to the witnesses again; 0 if a new one is published. */
    witnessDueAt: integer('witness_due_at').notNull().default(0),
    /** When to seal or publish next; null if there is nothing to do. */
    dueAt: integer('due_at'),
    /**
     * Until when nothing is sealed, because a restoration moves objects of the tree in R2; 0 before
     * the first. No two holds of a tree have the same time.
     */
    heldUntil: integer('held_until').notNull().default(0),
    /** The sequence up to which the entries are in the statistics of their agents. */
    counted: integer().notNull().default(0),
    /** When to count next; null if there is nothing to count. */
    countDueAt: integer('count_due_at'),
  },
  (table) => [
    index('trees_due').on(table.dueAt).where(sql`due_at is not null`),
    index('trees_to_count').on(table.countDueAt).where(sql`count_due_at is not null`),
  ],
);

export const ERASURE_REASONS = ['agent_deleted', 'retention'] as const;

/**
 * Records of the sealed entries that were erased, and why. Their leaves stay in the tree. Each
 * account has at most one row for retention, which covers the beginning of the log and grows; rows
 * of deleted agents within it are deleted.
 */
export const erasedEntries = sqliteTable(
  'erased_entries',
  {
    /**
     * The position of the last entry that it covers; for retention, the position before the first
     * of the log.
     */
    id: integer().primaryKey(),
    account: integer().notNull(),
    reason: codeColumn(ERASURE_REASONS)().notNull(),
    /** Ranges of sequences, with their first and last, in ascending order. */
    ranges: text({ mode: 'json' }).notNull().$type<[first: number, last: number][]>(),
    erasedAt: integer('erased_at').notNull(),
    /** The same record as a signed note, made at the time of the erasure. */
    note: text().notNull().default(''),
  },
  (table) => [index('erased_entries_by_account').on(table.account)],
);

/**
 * Activity records: the changes that users and the operator made, and downloads of files.
 * Identifiers begin with the time, so that one index serves order and time range.
 */
export const activity = sqliteTable(
  'activity',
  {
    account: integer().notNull(),
    id: idColumn('act')().notNull(),
    /**
     * The id of the member or, for a credential of the account itself, of the user token;
     * `operator`; null for a download by signed address and for what the service itself does.
     */
    actor: text(),
    action: codeColumn(ACTIVITY_ACTIONS)().notNull(),
    /** The id of the object that was changed or downloaded. */
    target: text().notNull(),
    /** The names of the changed fields, never their values. */
    changes: text({ mode: 'json' }).notNull().$type<string[]>(),
    ipAddress: text('ip_address').notNull(),
    userAgent: text('user_agent').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.account, table.id] }),
    index('activity_by_action').on(table.account, table.action, table.id),
    index('activity_by_target').on(table.account, table.target, table.id),
    index('activity_by_actor').on(table.account, table.actor, table.id),
  ],
);

export const STATISTICS_UNITS = ['day', 'hour'] as const;

/**
 * Counters per agent and UTC hour and, once the hours are folded, per UTC day: an event is in one
 * of both. They are deleted by their age, whatever the retention of audit entries.
 */
export const agentStatistics = sqliteTable(
  'agent_statistics',
  {
    agent: integer().notNull(),
    unit: codeColumn(STATISTICS_UNITS)().notNull(),
    /** Days or hours since the epoch. */
    bucket: integer().notNull(),
    /** Requests made in this bucket, and their outcomes. */
    requests: integer().notNull(),
    approved: integer().notNull(),
    denied: integer().notNull(),
    expired: integer().notNull(),
    /** The sum of the milliseconds from request to approval of the approved requests. */
    approvalTime: integer('approval_time').notNull(),
    /** Tokens issued, first used and revoked in this bucket. */
    tokensIssued: integer('tokens_issued').notNull(),
    tokensUsed: integer('tokens_used').notNull(),
    tokensRevoked: integer('tokens_revoked').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.agent, table.unit, table.bucket] }),
    index('agent_statistics_by_age').on(table.unit, table.bucket),
  ],
);

export const ERASURE_KINDS = ['agent', 'account', 'receiver', 'tree', 'connection'] as const;

/**
 * Agents, accounts, receivers, trees and connections that were deleted or moved away, and whose
 * data is still to be erased.
 */
export const erasures = sqliteTable('erasures', {
  id: integer().primaryKey(),
  kind: codeColumn(ERASURE_KINDS)().notNull(),
  /** The number of the account: nothing of an account is erased while it moves. */
  account: integer().notNull(),
  /** The number of the agent or receiver; for the other kinds, of the account. */
  number: integer().notNull(),
  /** The identifier of the agent, account or connection; empty where it is not needed. */
  subject: bytesColumn().notNull().default(sql`x''`),
  /**
   * When the erasure of a tree may start: from then on no sealer can still write to it. 0 for the
   * other kinds.
   */
  dueAt: integer('due_at').notNull().default(0),
});

/** Answers to requests with an idempotency key. A repeated request gets the stored answer. */
export const storedAnswers = sqliteTable(
  'stored_answers',
  {
    /**
     * The caller who sent the key: the identifier of a member, a user token or an agent, or
     * `operator`.
     */
    principal: bytesColumn().notNull(),
    /** SHA-256 of the idempotency key, or of a form of the console that creates something. */
    key: bytesColumn().notNull(),
    /**
     * SHA-256 of the request's method, path, query and body, and of the scopes of a member's
     * credential; the same as `key` for a form.
     */
    request: bytesColumn().notNull(),
    /** The answer, encrypted. */
    answer: bytesColumn().notNull(),
    /**
     * The values that the transaction itself computed, by the field of the answer's body that they
     * replace.
     */
    computed: text({ mode: 'json' }).$type<JsonObject>(),
    /**
     * The identifier of the agent that the answer is about, or else of the account. The answer is
     * erased together with it.
     */
    subject: bytesColumn().notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.principal, table.key] }),
    index('stored_answers_by_subject').on(table.subject),
    index('stored_answers_by_age').on(table.createdAt),
  ],
);

/**
 * Always empty. A batch inserts the name of a guard whose condition does not hold; a trigger then
 * aborts the batch with the message "guard: " and the name.
 */
export const guards = sqliteTable('guards', { name: text().primaryKey() });

export const FILE_KINDS = ['export', 'report'] as const;
export const FILE_STATUSES = ['processing', 'completed', 'failed', 'expired'] as const;
const FILE_FORMATS = ['csv', 'json', 'parquet', 'pdf'] as const;

export type FileKind = (typeof FILE_KINDS)[number];
export type FileStatus = (typeof FILE_STATUSES)[number];
export type FileFormat = (typeof FILE_FORMATS)[number];

/** Exports and reports, which are made in the background, and their progress. */
export const files = sqliteTable(
  'files',
  {
    account: integer().notNull(),
    kind: codeColumn(FILE_KINDS)().notNull(),
    /** The identifier. A report has the same 128 bits under its own prefix. */
    id: idColumn('export')().notNull(),
    format: codeColumn(FILE_FORMATS)().notNull(),
    /**
     * The request: the parameters as the client sent them, with defaults, and the range that its
     * dates mean.
     */
    request: text({ mode: 'json' }).notNull().$type<JsonObject>(),
    /**
     * The agent to which the file is restricted; null for all agents, 0 for an agent that does not
     * exist.
     */
    agent: integer(),
    /**
     * The account's highest sequence at the time of the request. The file has no entry after it.
     */
    snapshot: integer().notNull(),
    /**
     * The time of the request minus the account's retention period then: older entries are not in
     * the file.
     */
    keptFrom: integer('kept_from').notNull(),
    status: codeColumn(FILE_STATUSES)().notNull(),
    error: text(),
    rowCount: integer('row_count'),
    size: integer(),
    sha256: bytesColumn(),
    /** The size of the proof in bytes; null if there is none. */
    proofSize: integer('proof_size'),
    createdAt: integer('created_at').notNull(),
    completedAt: integer('completed_at'),
    expiresAt: integer('expires_at'),
    downloadedAt: integer('downloaded_at'),
    /**
     * A random value of the job that works on it; null if none does. No other job takes the file
     * before `due_at`.
     */
    lease: bytesColumn(),
    /** How many jobs have started since the last progress. */
    attempts: integer().notNull().default(0),
    /**
     * The key of the R2 object with the state of the work; null before the first slice is complete.
     */
    state: text(),
    uploadId: text('upload_id'),
    /**
     * When the sweep has to handle it: to continue the work, to remove its objects, or to delete
     * the row.
     */
    dueAt: integer('due_at'),
  },
  (table) => [
    primaryKey({ columns: [table.account, table.kind, table.id] }),
    index('files_by_status').on(table.account, table.status),
    index('files_due').on(table.dueAt).where(sql`due_at is not null`),
  ],
);

/**
 * The events of permissions. Their payload is in {@link permissionEvents}, once for all deliveries.
 */
export const PERMISSION_EVENTS = [
  'permission.requested',
  'permission.escalated',
  'permission.decided',
  'permission.expired',
  'permission.outcome_missing',
] as const;
/** The events that ask people to decide. */
export const ASKING_EVENTS: readonly DeliveryEvent[] = [
  'permission.requested',
  'permission.escalated',
];
/** The events that end a request. */
export const END_EVENTS: readonly DeliveryEvent[] = ['permission.decided', 'permission.expired'];

/** The events of accounts themselves. */
export const ACCOUNT_EVENTS = ['account.stopped', 'account.resumed'] as const;

/** The subjects of deliveries. The database stores places in this list: append, never reorder. */
export const DELIVERY_EVENTS = [
  'audit.created',
  'audit.export.completed',
  'audit.export.failed',
  'report.completed',
  'report.failed',
  'webhook.test',
  ...PERMISSION_EVENTS,
  'webhook.disabled',
  ...ACCOUNT_EVENTS,
] as const;
export const DELIVERY_STATUSES = ['pending', 'succeeded', 'failed'] as const;
/**
 * The kinds of receivers: a URL of the account; people, by a channel of the account; a device of a
 * member, by Web Push.
 */
export const RECEIVER_KINDS = ['webhook', 'email', 'slack', 'push'] as const;
/** The kinds of receivers that are channels of the account. */
export const CHANNEL_KINDS = ['email', 'slack'] as const satisfies readonly ReceiverKind[];

export type PermissionEventType = (typeof PERMISSION_EVENTS)[number];
export type AccountEventType = (typeof ACCOUNT_EVENTS)[number];
export type DeliveryEvent = (typeof DELIVERY_EVENTS)[number];
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];
export type ReceiverKind = (typeof RECEIVER_KINDS)[number];

/**
 * The receivers of events: webhooks, which are URLs to which events are sent, channels, which
 * notify people, and devices of members, which notify one person. Numbers are never reused:
 * deliveries of a deleted receiver still wait for erasure.
 */
export const receivers = sqliteTable(
  'receivers',
  {
    number: integer().primaryKey({ autoIncrement: true }),
    account: integer().notNull(),
    /** The identifier. A channel or a device has the same 128 bits under its own prefix. */
    id: idColumn('webhook')().notNull(),
    kind: codeColumn(RECEIVER_KINDS)().notNull().default(sql`0`),
    /** The name of a channel or a device; null for a webhook. */
    name: text(),
    /** Empty for a channel or a device. */
    url: text().notNull(),
    description: text(),
    events: text({ mode: 'json' }).notNull().$type<DeliveryEvent[]>(),
    /** Null for every agent. */
    agentIds: text('agent_ids', { mode: 'json' }).$type<string[]>(),
    /** Patterns that limit a channel to some actions; null for every action. */
    actions: text({ mode: 'json' }).$type<string[]>(),
    /** The settings of a channel or a device without their secrets; null for a webhook. */
    config: text({ mode: 'json' }).$type<JsonObject>(),
    isActive: integer('is_active', { mode: 'boolean' }).notNull(),
    disabledReason: text('disabled_reason'),
    /**
     * The signing secret, encrypted, and the one before it, which signs until it expires. For a
     * channel or a device, its secrets as encrypted JSON; no bytes if it has none.
     */
    secret: bytesColumn().notNull(),
    /**
     * HMAC-SHA-256 of the secret in the address at which Slack calls a channel; null if it has no
     * such address.
     */
    inboundHash: bytesColumn('inbound_hash'),
    oldSecret: bytesColumn('old_secret'),
    oldSecretExpiresAt: integer('old_secret_expires_at'),
    /**
     * Entries after this position in the log are delivered: those since the receiver was created or
     * last enabled.
     */
    startsAfter: integer('starts_after').notNull(),
    /** File results with a higher number than this are delivered. */
    startsAfterFileResult: integer('starts_after_file_result').notNull().default(0),
    /**
     * How often it was disabled. Pending deliveries that were created before, with a lower count,
     * are canceled.
     */
    disableCount: integer('disable_count').notNull().default(0),
    /** Whether it may have canceled deliveries that are not recorded as failed yet. */
    hasCanceled: integer('has_canceled', { mode: 'boolean' }).notNull().default(false),
    /** Whether the service disabled it, and channels have to notify people of that. */
    isNoticeDue: integer('is_notice_due', { mode: 'boolean' }).notNull().default(false),
    /**
     * Whether it is new, or its last attempt failed or was slow: such receivers have a queue of
     * their own.
     */
    isSlow: integer('is_slow', { mode: 'boolean' }).notNull().default(false),
    /** When the first attempt failed since the last success; null if none has failed since then. */
    failingSince: integer('failing_since'),
    /**
     * A random value of the worker that has claimed it; null if none has. The claim expires at
     * `due_at`.
     */
    lease: bytesColumn(),
    /** When a worker has to look at its deliveries; null if none is pending. */
    dueAt: integer('due_at'),
    /** When its oldest delivery is to be erased; null if there is none. */
    eraseAt: integer('erase_at'),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
    /** Who made it, as for a user token. */
    createdBy: text('created_by'),
    /** The member whose device it is; null for a webhook or a channel. */
    member: idColumn('member')(),
  },
  (table) => [
    uniqueIndex('receivers_by_account').on(table.account, table.id),
    index('receivers_by_member').on(table.account, table.member).where(sql`member is not null`),
    index('receivers_by_inbound').on(table.inboundHash).where(sql`inbound_hash is not null`),
    index('receivers_due').on(table.dueAt).where(sql`due_at is not null`),
    index('receivers_to_erase').on(table.eraseAt).where(sql`erase_at is not null`),
  ],
);

/**
 * How far deliveries have been created from each account's log. Only accounts with an active
 * receiver have a feed.
 */
export const eventFeeds = sqliteTable(
  'event_feeds',
  {
    account: integer().primaryKey(),
    /** The position in the log up to which all entries have their deliveries. */
    position: integer().notNull(),
    /** When deliveries have to be created; null if no event is pending. */
    dueAt: integer('due_at'),
    /** The stops and resumes of the account that have no deliveries yet; null for none. */
    accountEvents: text('account_events', { mode: 'json' }).$type<AccountEvent[]>(),
  },
  (table) => [index('event_feeds_due').on(table.dueAt).where(sql`due_at is not null`)],
);

/** A stop or resume of an account, until its deliveries are created. */
export interface AccountEvent {
  /** The id of its activity record. */
  id: Id<'act'>;
  event: AccountEventType;
  at: number;
  /** The member or the account that stopped or resumed it; `operator` for the operator. */
  by: string;
  /** Why it was stopped; null for a resume. */
  reason: string | null;
}

/**
 * Files that completed or failed, in accounts with an active receiver, until their deliveries are
 * created.
 */
export const fileResults = sqliteTable(
  'file_results',
  {
    account: integer().notNull(),
    kind: codeColumn(FILE_KINDS)().notNull(),
    id: idColumn('export')().notNull(),
    isFailure: integer('is_failure', { mode: 'boolean' }).notNull(),
    createdAt: integer('created_at').notNull(),
    /**
     * The result number: orders results within the account. Those of one transaction share it.
     */
    ordinal: integer().notNull().default(1),
  },
  (table) => [primaryKey({ columns: [table.account, table.kind, table.id] })],
);

/**
 * The events of permissions, in accounts that have a receiver for them. A trigger deletes them with
 * their permission.
 */
export const permissionEvents = sqliteTable(
  'permission_events',
  {
    account: integer().notNull(),
    permission: idColumn('perm')().notNull(),
    event: codeColumn(DELIVERY_EVENTS)().notNull().$type<PermissionEventType>(),
    /** The message that webhooks get; null until deliveries are created. */
    payload: text(),
    /** The names in messages to people. Null until deliveries are created. */
    names: text({ mode: 'json' }).$type<EventNames>(),
    /** Whether deliveries have to be created: the event is new, or a reminder is due. */
    isPending: integer('is_pending', { mode: 'boolean' }).notNull().default(false),
    /** How many reminders of the request have become due. */
    reminders: integer().notNull().default(0),
    /** When the next reminder is due; null if none is. */
    remindAt: integer('remind_at'),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.account, table.permission, table.event] }),
    index('permission_events_pending').on(table.account).where(sql`is_pending`),
    index('permission_events_to_remind').on(table.remindAt).where(sql`remind_at is not null`),
  ],
);

/**
 * The names of those in an event of a permission: of the agent, and of who decided, if somebody
 * did.
 */
export interface EventNames {
  agent: string;
  decidedBy: string | null;
}

/** One event for one webhook, or for one recipient of a channel, however many attempts it takes. */
export const deliveries = sqliteTable(
  'deliveries',
  {
    /** The number of the receiver. */
    receiver: integer().notNull(),
    id: idColumn('dlv')().notNull(),
    /**
     * The first delivery of the event, whose id is the `webhook-id` of a redelivery; null if this
     * is the first one.
     */
    original: idColumn('dlv')(),
    /** The receiver's `disableCount` when the delivery was created. */
    disableCount: integer('disable_count').notNull(),
    event: codeColumn(DELIVERY_EVENTS)().notNull(),
    /**
     * The position of the audit entry; null for other events. The payload is written from the
     * entry.
     */
    pos: integer(),
    /** The agent of the audit entry or the permission; null for other events. */
    agent: integer(),
    /** The payload of events that are neither of an audit entry nor of a permission. */
    payload: text(),
    status: codeColumn(DELIVERY_STATUSES)().notNull(),
    /** How often a worker tried to send it. */
    attempts: integer().notNull(),
    /** When the next attempt is due; null if there is none. */
    dueAt: integer('due_at'),
    lastStatusCode: integer('last_status_code'),
    lastError: text('last_error'),
    /** How long the last attempt took, in milliseconds. */
    duration: integer(),
    /** The failed attempts, the oldest first; null if there is none. */
    failures: text({ mode: 'json' }).$type<FailedAttempt[]>(),
    createdAt: integer('created_at').notNull(),
    completedAt: integer('completed_at'),
    /** The permission of an event of a permission; null for other events. */
    permission: idColumn('perm')(),
    /** Which reminder of the request this is, from 1 on; null if it is none. */
    reminder: integer(),
    /**
     * Whom a channel notifies: a member, or a Slack channel by its id there. Both are null for a
     * webhook.
     */
    member: idColumn('member')(),
    slackChannel: text('slack_channel'),
    /**
     * Where the message is in Slack, by which it can be changed: `<channel>:<ts>`. Null if it was
     * not posted there.
     */
    slackMessage: text('slack_message'),
    /**
     * Deliveries to one person or Slack channel with the same number are sent as one message, a
     * digest; null for a message of its own.
     */
    digestGroup: integer('digest_group'),
    /** How often a worker postponed it, because its recipient got too many messages. */
    postponements: integer().notNull().default(0),
  },
  (table) => [
    primaryKey({ columns: [table.receiver, table.id] }),
    index('deliveries_first_attempts')
      .on(table.receiver, table.disableCount, table.id)
      .where(sql`status = 0 and attempts + postponements = 0`),
    index('deliveries_retries')
      .on(table.receiver, table.disableCount, table.id)
      .where(sql`status = 0 and attempts + postponements > 0`),
    index('deliveries_retries_due')
      .on(table.receiver, table.disableCount, table.dueAt)
      .where(sql`due_at is not null and attempts + postponements > 0`),
    index('deliveries_failed').on(table.receiver, table.id).where(sql`status = 2`),
    index('deliveries_by_agent').on(table.agent).where(sql`agent is not null`),
    index('deliveries_by_permission')
      .on(table.permission, table.id)
      .where(sql`permission is not null`),
  ],
);

/**
 * Messages to people that wait: for the end of their quiet hours, or because they got five within a
 * minute.
 */
export const heldMessages = sqliteTable(
  'held_messages',
  {
    account: integer().notNull(),
    /** The number of the channel. */
    receiver: integer().notNull(),
    member: idColumn('member')().notNull(),
    permission: idColumn('perm')().notNull(),
    event: codeColumn(DELIVERY_EVENTS)().notNull().$type<PermissionEventType>(),
    /** As in the delivery; 0 if it is no reminder. */
    reminder: integer().notNull(),
    /** When it becomes a delivery. */
    dueAt: integer('due_at').notNull(),
  },
  (table) => [
    primaryKey({
      columns: [
        table.account,
        table.receiver,
        table.member,
        table.permission,
        table.event,
        table.reminder,
      ],
    }),
    index('held_messages_due').on(table.dueAt),
  ],
);

/**
 * How many messages were sent to one recipient within a period, over all accounts. Rows are on the
 * shard that the key names, and are deleted after a day.
 */
export const sendCounts = sqliteTable(
  'send_counts',
  {
    /** HMAC-SHA-256 of the recipient and of what is counted. */
    key: bytesColumn().primaryKey(),
    /** When the period began. */
    since: integer().notNull(),
    count: integer().notNull(),
  },
  (table) => [index('send_counts_by_age').on(table.since)],
);

/** The choices of members about messages to them. Members without a row have chosen nothing. */
export const notificationSettings = sqliteTable(
  'notification_settings',
  {
    account: integer().notNull(),
    member: idColumn('member')().notNull(),
    settings: text({ mode: 'json' }).notNull().$type<JsonObject>(),
    updatedAt: integer('updated_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.account, table.member] })],
);

/**
 * The members whom Slack users act as, by the channel for whose Slack app they confirmed it. Links
 * end with the channel, its secrets and the member's access.
 */
export const slackLinks = sqliteTable(
  'slack_links',
  {
    account: integer().notNull(),
    /** The number of the channel. */
    receiver: integer().notNull(),
    /** The ids of the workspace and of the user in Slack. */
    team: text().notNull(),
    slackUser: text('slack_user').notNull(),
    member: idColumn('member')().notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.account, table.receiver, table.team, table.slackUser] }),
  ],
);

/** A failed attempt: when it began, and how it failed. */
export interface FailedAttempt {
  at: number;
  statusCode: number | null;
  error: string;
  duration: number;
}

export const MOVE_DIRECTIONS = ['out', 'in'] as const;

/**
 * Accounts that move to another shard: the departure on the old shard (`out`) and the arrival on
 * the new one (`in`), as `accounts/move/mover.ts` describes. Nothing of them is erased meanwhile,
 * and once an account is on hold a guard refuses every change (`ledger/hold.ts`).
 */
export const moves = sqliteTable('moves', {
  /** The account's number on this shard. */
  account: integer().primaryKey(),
  id: idColumn('user')().notNull().unique('moves_by_id'),
  direction: codeColumn(MOVE_DIRECTIONS)().notNull(),
  /** The other shard. */
  shard: text().notNull(),
  /** How many turns the mover has had. */
  turns: integer().notNull().default(0),
  /**
   * How far the copy is, in the arrival: the index of the table that is being copied, or of a later
   * step once all are.
   */
  step: integer().notNull().default(0),
  /** The key of the last copied row of that table; null before its first. */
  after: text(),
  /**
   * In the arrival, the position on the old shard up to which the log is copied first: the last
   * entry that the account had when the copy began. Then the position of the last copied entry.
   */
  logPosition: integer('log_position').notNull().default(0),
  /** In the arrival, when the copy began. */
  reservedAt: integer('reserved_at').notNull().default(0),
  /**
   * In the arrival, since when the account had requests that waited, or events that were not
   * delivered, when the copy began.
   */
  openSince: integer('open_since').notNull().default(0),
  /** Since when the account, or its last part in the arrival, is on hold; null before. */
  heldAt: integer('held_at'),
  /** Whether the account has left this shard. */
  hasLeft: integer('has_left', { mode: 'boolean' }).notNull().default(false),
  /**
   * When the move was ordered, by the operator's clock. Identifies the move: both shards have it.
   */
  createdAt: integer('created_at').notNull(),
});

export const MOVED_NUMBERS = ['agent', 'receiver'] as const;

/** The new numbers of agents and receivers on this shard, while their account moves to it. */
export const moveNumbers = sqliteTable(
  'move_numbers',
  {
    /** The account's number on this shard. */
    account: integer().notNull(),
    kind: codeColumn(MOVED_NUMBERS)().notNull(),
    /** The number on the other shard, and the one on this shard. */
    number: integer().notNull(),
    becomes: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.account, table.kind, table.number] })],
);

/** The current shards of accounts that were moved away from this one, until they are deleted. */
export const movedAccounts = sqliteTable('moved_accounts', {
  id: idColumn('user')().primaryKey(),
  shard: text().notNull(),
});

/**
 * The credentials, sessions, invitations and addresses for Slack of accounts that were moved away:
 * they still name this shard.
 */
export const movedCredentials = sqliteTable(
  'moved_credentials',
  {
    /**
     * HMAC-SHA-256 of the user token, agent key, session, invitation or secret of an address for
     * Slack.
     */
    hash: bytesColumn().primaryKey(),
    account: idColumn('user')().notNull(),
  },
  (table) => [index('moved_credentials_by_account').on(table.account)],
);

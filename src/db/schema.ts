import { sql } from 'drizzle-orm';
import { check, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { JSONWebKeySet } from 'jose';
import type { JsonObject } from '../lib/json';
import { PLANS } from '../lib/plans';
import { bytesColumn, codeColumn, idColumn } from './columns';

// Times are milliseconds since the epoch. `account` and `agent` columns hold the short numbers of their rows,
// which stay inside one shard; identifiers are what the world sees.

export const PERMISSION_STATUSES = ['pending', 'approved', 'denied', 'expired'] as const;
export const TOKEN_STATUSES = ['active', 'used', 'expired', 'revoked'] as const;
export const EVENT_TYPES = ['request', 'approve', 'deny', 'use', 'expire', 'revoke'] as const;

export type PermissionStatus = (typeof PERMISSION_STATUSES)[number];
export type TokenStatus = (typeof TOKEN_STATUSES)[number];
export type EventType = (typeof EVENT_TYPES)[number];

/** Numbers are never used twice: an erased account's log positions stay its own. */
export const accounts = sqliteTable(
  'accounts',
  {
    number: integer().primaryKey({ autoIncrement: true }),
    id: idColumn('user')().notNull().unique('accounts_by_id'),
    email: text().notNull(),
    name: text(),
    plan: codeColumn(PLANS)().notNull(),
    /** Set by enterprise accounts alone; the others keep what their plan says. */
    auditRetentionDays: integer('audit_retention_days'),
    isActive: integer('is_active', { mode: 'boolean' }).notNull(),
    /** The highest sequence that was ever erased from the log, and its time: the log goes on from there. */
    erasedSequence: integer('erased_sequence').notNull().default(0),
    erasedAt: integer('erased_at').notNull().default(0),
    /** When something of its audit log or activity may have to be erased by age; null where there is nothing. */
    retentionDueAt: integer('retention_due_at'),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  (table) => [
    index('accounts_by_email').on(table.email),
    index('accounts_retention_due').on(table.retentionDueAt).where(sql`retention_due_at is not null`),
  ],
);

export const userTokens = sqliteTable(
  'user_tokens',
  {
    /** HMAC-SHA-256 of the token. */
    hash: bytesColumn().primaryKey(),
    id: idColumn('utok')().notNull(),
    account: integer().notNull(),
    name: text(),
    prefix: text().notNull(),
    scopes: text({ mode: 'json' }).notNull().$type<string[]>(),
    expiresAt: integer('expires_at'),
    lastUsedAt: integer('last_used_at'),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [
    uniqueIndex('user_tokens_by_account').on(table.account, table.id),
    index('user_tokens_by_expiry').on(table.expiresAt).where(sql`expires_at is not null`),
  ],
);

/**
 * People who sign in with the identity provider, and where their accounts are. On the first shard alone: they come
 * without a word on where they belong.
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

/** The public keys of the identity provider as it last told them. */
export const providerKeys = sqliteTable('provider_keys', {
  issuer: text().primaryKey(),
  /** A JWK set; null where it never answered. */
  keys: text({ mode: 'json' }).$type<JSONWebKeySet>(),
  fetchedAt: integer('fetched_at').notNull(),
  /** When it was last asked, with or without an answer. */
  askedAt: integer('asked_at').notNull(),
  /** Whether somebody waits for its answer, or died over it. */
  isAsked: integer('is_asked', { mode: 'boolean' }).notNull().default(false),
});

/** Numbers are never used twice: what an erased agent leaves behind for the sweep stays its own. */
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
    /** Null for the current key; a replaced key dies at this time. */
    expiresAt: integer('expires_at'),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [
    index('agent_keys_by_agent').on(table.agent),
    index('agent_keys_by_expiry').on(table.expiresAt).where(sql`expires_at is not null`),
  ],
);

/** A permission request and, once approved, its token: they share the 128 bits of their identifiers. */
export const permissions = sqliteTable(
  'permissions',
  {
    account: integer().notNull(),
    id: idColumn('perm')().notNull(),
    agent: integer().notNull(),
    action: text().notNull(),
    resource: text().notNull(),
    scope: text({ mode: 'json' }).notNull().$type<JsonObject>(),
    reason: text(),
    /** Requested; an approver may narrow them. Seconds and count. */
    tokenTtl: integer('token_ttl').notNull(),
    maxUses: integer('max_uses').notNull(),
    status: codeColumn(PERMISSION_STATUSES)().notNull(),
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
    /** Which signing key signs the token (RFC 7638 thumbprint). */
    tokenKeyId: text('token_key_id'),
    /** The audit entry of the transition that led to this state: no state without its entry. */
    lastEntry: idColumn('audit')('last_entry').notNull(),
    expiresAt: integer('expires_at').notNull(),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.account, table.id] }),
    check('token_uses_left', sql`token_uses <= token_max_uses`),
    index('permissions_by_status').on(table.account, table.status, table.id),
    index('permissions_by_agent').on(table.agent, table.status, table.id),
    index('permissions_by_action').on(table.account, table.action, table.status, table.id),
    index('permissions_by_agent_action').on(table.agent, table.action, table.status, table.id),
    index('permissions_due').on(table.expiresAt).where(sql`status = 0`),
    index('permissions_overdue').on(table.agent, table.expiresAt, table.createdAt).where(sql`status = 0`),
    index('tokens_due').on(table.tokenExpiresAt).where(sql`token_status = 0 and token_uses = 0`),
  ],
);

/** Number of pending permissions per agent and, under agent 0, per account; maintained by triggers on `permissions`. */
export const pendingPermissions = sqliteTable(
  'pending_permissions',
  {
    account: integer().notNull(),
    agent: integer().notNull(),
    count: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.agent, table.account] })],
);

export const POLICY_EFFECTS = ['approve', 'deny'] as const;

/** Rules that decide requests on the spot. */
export const policies = sqliteTable(
  'policies',
  {
    account: integer().notNull(),
    id: idColumn('policy')().notNull(),
    name: text().notNull(),
    effect: codeColumn(POLICY_EFFECTS)().notNull(),
    /** Patterns, of which one must match. */
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
  },
  (table) => [primaryKey({ columns: [table.account, table.id] })],
);

/**
 * The audit log. `pos` is account number × 2³² + sequence, so that one integer orders every account's log and no index
 * needs an account column.
 */
export const auditEntries = sqliteTable(
  'audit_entries',
  {
    pos: integer().primaryKey(),
    id: idColumn('audit')().notNull().unique('audit_by_id'),
    agent: integer().notNull(),
    permission: idColumn('perm')().notNull(),
    event: codeColumn(EVENT_TYPES)().notNull(),
    action: text().notNull(),
    createdAt: integer('created_at').notNull(),
    ipAddress: text('ip_address').notNull(),
    userAgent: text('user_agent').notNull(),
    details: text({ mode: 'json' }).notNull().$type<JsonObject>(),
    /** Random, of this entry alone; hashed with the content, so that a leaf hash tells nothing of an erased entry. */
    salt: bytesColumn().notNull(),
  },
  (table) => [
    index('audit_by_event').on(table.event, table.pos),
    index('audit_by_agent').on(table.agent, table.event, table.pos),
    index('audit_by_action').on(table.action, table.event, table.pos),
    index('audit_by_agent_action').on(table.agent, table.action, table.event, table.pos),
    index('audit_by_permission').on(table.permission, table.event, table.pos),
  ],
);

/**
 * The Merkle tree of each account's log, sealed as far as `size`: sequence n is leaf n − 1. Full tiles are in R2; what is
 * not full yet is here.
 */
export const trees = sqliteTable(
  'trees',
  {
    account: integer().primaryKey(),
    /** Leaves under the newest head. */
    size: integer().notNull().default(0),
    /** The root hash of these; null where none ever was sealed. */
    root: bytesColumn(),
    /** When they were sealed. Only for people who read the table: the service reads the time from the note. */
    sealedAt: integer('sealed_at'),
    /** The tiles on the right that are not full, level by level from the leaves: 32 bytes a hash. */
    frontier: bytesColumn('edge').notNull().default(sql`x''`),
    /** The newest head as it was signed, which the columns above have to agree with; null where none ever was. */
    note: text(),
    /** The newest head that was put into R2. */
    publishedSize: integer('published_size').notNull().default(0),
    publishedAt: integer('published_at').notNull().default(0),
    /** When there is something to seal or to publish; null while there is nothing. */
    dueAt: integer('due_at'),
    /** Until when nothing is sealed, because a restoration moves objects of the tree. No two times are the same. */
    heldUntil: integer('held_until').notNull().default(0),
  },
  (table) => [index('trees_due').on(table.dueAt).where(sql`due_at is not null`)],
);

export const ERASURE_REASONS = ['agent_deleted', 'retention'] as const;

/**
 * Which sealed entries were erased, and why: their leaves stay in the tree. What retention erased is the beginning of the
 * log, in one row an account, which grows; those of deleted agents that lie in it are told by it and go.
 */
export const erasedEntries = sqliteTable(
  'erased_entries',
  {
    /** The position of the last entry that it tells of; of retention's the position before the first of the log. */
    id: integer().primaryKey(),
    account: integer().notNull(),
    reason: codeColumn(ERASURE_REASONS)().notNull(),
    /** Sequences: pairs of a first and a last one. */
    ranges: text({ mode: 'json' }).notNull().$type<[first: number, last: number][]>(),
    erasedAt: integer('erased_at').notNull(),
    /** The same, signed as it was erased. */
    note: text().notNull().default(''),
  },
  (table) => [index('erased_entries_by_account').on(table.account)],
);

/** What people do to the account itself, in the order of the stored codes. */
export const ACTIVITY_ACTIONS = [
  'agent.created',
  'agent.updated',
  'agent.deleted',
  'agent.key_rotated',
  'policy.created',
  'policy.updated',
  'policy.deleted',
  'webhook.created',
  'webhook.updated',
  'webhook.deleted',
  'webhook.secret_rotated',
  'user_token.created',
  'user_token.deleted',
  'export.requested',
  'export.downloaded',
  'report.requested',
  'report.downloaded',
  'account.updated',
] as const;

export type ActivityAction = (typeof ACTIVITY_ACTIONS)[number];

/** The record of these. Identifiers begin with the time, so that one index serves order, time and filter. */
export const activity = sqliteTable(
  'activity',
  {
    account: integer().notNull(),
    id: idColumn('act')().notNull(),
    actor: text(),
    action: codeColumn(ACTIVITY_ACTIONS)().notNull(),
    target: text().notNull(),
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

/** Counters an agent and UTC day or hour; they outlive the audit entries that they counted. */
export const agentStatistics = sqliteTable(
  'agent_statistics',
  {
    agent: integer().notNull(),
    unit: codeColumn(STATISTICS_UNITS)().notNull(),
    /** Days or hours since the epoch. */
    bucket: integer().notNull(),
    /** Requests made in this bucket, and what has become of them. */
    requests: integer().notNull(),
    approved: integer().notNull(),
    denied: integer().notNull(),
    expired: integer().notNull(),
    /** Sum over the approved ones of the milliseconds from request to approval. */
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

export const ERASURE_KINDS = ['agent', 'account', 'webhook', 'tree'] as const;

/**
 * Deleted things whose history the sweep still has to erase, by their numbers; agents, accounts and their trees by their
 * ids too.
 */
export const erasures = sqliteTable('erasures', {
  id: integer().primaryKey(),
  kind: codeColumn(ERASURE_KINDS)().notNull(),
  number: integer().notNull(),
  subject: bytesColumn().notNull().default(sql`x''`),
  /** Not before this time: somebody may still be writing. */
  dueAt: integer('due_at').notNull().default(0),
});

/** Answers of requests that carried an idempotency key, to be given again when the request is sent again. */
export const storedAnswers = sqliteTable(
  'stored_answers',
  {
    /** Whose key it is: the identifier of a user token or an agent, or `operator`. */
    principal: bytesColumn().notNull(),
    /** SHA-256 of the idempotency key. */
    key: bytesColumn().notNull(),
    /** SHA-256 of the request's method, path and body. */
    request: bytesColumn().notNull(),
    /** The answer, encrypted. */
    answer: bytesColumn().notNull(),
    /** Numbers of the answer's body that only the change itself settled, by field. */
    settled: text({ mode: 'json' }).$type<Record<string, number>>(),
    /** The identifier of the agent that the answer tells of, or else of the account: it goes with it. */
    subject: bytesColumn().notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.principal, table.key] }),
    index('stored_answers_by_subject').on(table.subject),
    index('stored_answers_by_age').on(table.createdAt),
  ],
);

/** Always empty. A transaction aborts itself by inserting NULL here when a condition fails. */
export const guards = sqliteTable('guards', { condition: text().primaryKey() });

export const FILE_KINDS = ['export', 'report'] as const;
export const FILE_STATUSES = ['processing', 'completed', 'failed', 'expired'] as const;
export const FILE_FORMATS = ['csv', 'json', 'parquet', 'pdf'] as const;

export type FileKind = (typeof FILE_KINDS)[number];
export type FileStatus = (typeof FILE_STATUSES)[number];
export type FileFormat = (typeof FILE_FORMATS)[number];

/** Files that are made in the background, and how far each has come. */
export const files = sqliteTable(
  'files',
  {
    account: integer().notNull(),
    kind: codeColumn(FILE_KINDS)().notNull(),
    /** That of an export; a report's is the same under its own prefix. */
    id: idColumn('export')().notNull(),
    format: codeColumn(FILE_FORMATS)().notNull(),
    /** What was asked for, as it was written. */
    request: text({ mode: 'json' }).notNull().$type<JsonObject>(),
    /** The one agent that it tells of; null for every agent, 0 for one that is nobody. */
    agent: integer(),
    /** The account's highest sequence when it was asked for: later entries do not belong to it. */
    snapshot: integer().notNull(),
    /** The oldest time whose entries the plan kept when it was asked for. */
    keptFrom: integer('kept_from').notNull(),
    status: codeColumn(FILE_STATUSES)().notNull(),
    error: text(),
    rowCount: integer('row_count'),
    size: integer(),
    sha256: bytesColumn(),
    /** Bytes of the proof that goes with it; null where there is none. */
    proofSize: integer('proof_size'),
    createdAt: integer('created_at').notNull(),
    completedAt: integer('completed_at'),
    expiresAt: integer('expires_at'),
    downloadedAt: integer('downloaded_at'),
    /** Drawn by whoever works on it; nobody else does before `due_at`. */
    lease: bytesColumn(),
    /** How often work on it was begun since it last went on. */
    attempts: integer().notNull().default(0),
    /** The object that holds where the work goes on; null before its first slice is over. */
    state: text(),
    uploadId: text('upload_id'),
    /** When somebody has to look at it again: to go on with it, to remove what is left of it, or the record itself. */
    dueAt: integer('due_at'),
  },
  (table) => [
    primaryKey({ columns: [table.account, table.kind, table.id] }),
    index('files_by_status').on(table.account, table.status),
    index('files_due').on(table.dueAt).where(sql`due_at is not null`),
  ],
);

export const WEBHOOK_EVENTS = [
  'audit.created',
  'audit.export.completed',
  'audit.export.failed',
  'report.completed',
  'report.failed',
  'webhook.test',
] as const;
export const DELIVERY_STATUSES = ['pending', 'succeeded', 'failed'] as const;

export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** URLs to which events are sent. A number is never used again: deliveries of a deleted webhook still wait for erasure. */
export const webhooks = sqliteTable(
  'webhooks',
  {
    number: integer().primaryKey({ autoIncrement: true }),
    account: integer().notNull(),
    id: idColumn('webhook')().notNull(),
    url: text().notNull(),
    description: text(),
    events: text({ mode: 'json' }).notNull().$type<WebhookEvent[]>(),
    /** Null for every agent. */
    agentIds: text('agent_ids', { mode: 'json' }).$type<string[]>(),
    isActive: integer('is_active', { mode: 'boolean' }).notNull(),
    disabledReason: text('disabled_reason'),
    /** The signing secret, encrypted, and the one before it, which signs until it expires. */
    secret: bytesColumn().notNull(),
    oldSecret: bytesColumn('old_secret'),
    oldSecretExpiresAt: integer('old_secret_expires_at'),
    /** Entries after this position in the log are delivered: those since it was created or last enabled. */
    startsAfter: integer('starts_after').notNull(),
    /** File outcomes with a higher number than this are delivered. */
    startsAfterOutcome: integer('starts_after_outcome').notNull().default(0),
    /** How often it was disabled. Deliveries of a lower count are canceled. */
    disableCount: integer('generation').notNull().default(0),
    /** Whether it may have canceled deliveries that are not recorded as failed yet. */
    hasCanceled: integer('has_void', { mode: 'boolean' }).notNull().default(false),
    /** Whether it is new, or its last attempt failed or was slow: such webhooks have a queue of their own. */
    isSlow: integer('is_slow', { mode: 'boolean' }).notNull().default(false),
    /** When the first attempt failed since the last success; null if the last attempt succeeded. */
    failingSince: integer('failing_since'),
    /** Random, of the worker that has claimed it; null if none has. The claim expires at `due_at`. */
    lease: bytesColumn(),
    /** When a worker has to look at its deliveries; null if none is pending. */
    dueAt: integer('due_at'),
    /** When its oldest delivery is to be erased; null if there is none. */
    eraseAt: integer('erase_at'),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  (table) => [
    uniqueIndex('webhooks_by_account').on(table.account, table.id),
    index('webhooks_due').on(table.dueAt).where(sql`due_at is not null`),
    index('webhooks_to_erase').on(table.eraseAt).where(sql`erase_at is not null`),
  ],
);

/** How far deliveries have been created from each account's log. Only accounts with an active webhook have a feed. */
export const webhookFeeds = sqliteTable(
  'webhook_feeds',
  {
    account: integer().primaryKey(),
    /** The position in the log up to which all entries have their deliveries. */
    position: integer().notNull(),
    /** When deliveries have to be created; null if no event is pending. */
    dueAt: integer('due_at'),
  },
  (table) => [index('webhook_feeds_due').on(table.dueAt).where(sql`due_at is not null`)],
);

/** Files that completed or failed, in accounts with an active webhook, until their deliveries are created. */
export const fileOutcomes = sqliteTable(
  'file_outcomes',
  {
    account: integer().notNull(),
    kind: codeColumn(FILE_KINDS)().notNull(),
    id: idColumn('export')().notNull(),
    isFailure: integer('is_failure', { mode: 'boolean' }).notNull(),
    createdAt: integer('created_at').notNull(),
    /** The outcome number: orders outcomes within the account. Those of one transaction share it. */
    ordinal: integer().notNull().default(1),
  },
  (table) => [primaryKey({ columns: [table.account, table.kind, table.id] })],
);

/** One event for one webhook, however many attempts it takes. */
export const deliveries = sqliteTable(
  'deliveries',
  {
    /** The number of the webhook. */
    webhook: integer().notNull(),
    id: idColumn('dlv')().notNull(),
    /** The first delivery of the event, whose id is the `webhook-id` of a redelivery; null if this is the first one. */
    original: idColumn('dlv')(),
    /** That of the webhook when the delivery was created. */
    disableCount: integer('generation').notNull(),
    event: codeColumn(WEBHOOK_EVENTS)().notNull(),
    /** The audit entry and its agent; null for other events. The payload is written from the entry. */
    pos: integer(),
    agent: integer(),
    /** The payload of other events. */
    payload: text(),
    status: codeColumn(DELIVERY_STATUSES)().notNull(),
    attempts: integer().notNull(),
    /** When the next attempt is due; null if there is none. */
    dueAt: integer('due_at'),
    lastStatusCode: integer('last_status_code'),
    lastError: text('last_error'),
    /** How long the last attempt took, in milliseconds. */
    duration: integer(),
    /** The failed attempts. */
    failures: text({ mode: 'json' }).$type<FailedAttempt[]>(),
    createdAt: integer('created_at').notNull(),
    completedAt: integer('completed_at'),
  },
  (table) => [
    primaryKey({ columns: [table.webhook, table.id] }),
    index('deliveries_fresh').on(table.webhook, table.disableCount, table.id).where(sql`status = 0 and attempts = 0`),
    index('deliveries_retried').on(table.webhook, table.disableCount, table.id).where(sql`status = 0 and attempts > 0`),
    index('deliveries_due')
      .on(table.webhook, table.disableCount, table.dueAt)
      .where(sql`due_at is not null and attempts > 0`),
    index('deliveries_failed').on(table.webhook, table.id).where(sql`status = 2`),
    index('deliveries_by_agent').on(table.agent).where(sql`agent is not null`),
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
 * Accounts that are on their way to another shard: one row on either side. Until one is held, triggers note what changes
 * of it; from then on they refuse every change that is not made in the mover's turn.
 */
export const moves = sqliteTable('moves', {
  /** The account's number on this shard. */
  account: integer().primaryKey(),
  id: idColumn('user')().notNull().unique('moves_by_id'),
  direction: codeColumn(MOVE_DIRECTIONS)().notNull(),
  /** The other shard. */
  shard: text().notNull(),
  /** How many turns the mover had. */
  turns: integer().notNull().default(0),
  /** Which table is next, and the key of its last row that was copied; null before the first. */
  step: integer().notNull().default(0),
  after: text(),
  /** Since when nothing of it may change; null while the account lives on here. */
  heldAt: integer('held_at'),
  /** Whether the account is gone from here. */
  hasLeft: integer('has_left', { mode: 'boolean' }).notNull().default(false),
  /** When the move was ordered, which names it: the same on both sides. */
  createdAt: integer('created_at').notNull(),
});

/** The account in which the mover changes something just now: never seen outside of its transaction. */
export const moveTurns = sqliteTable('move_turns', {
  account: integer().primaryKey(),
  turn: integer().notNull(),
});

/** Rows of accounts on their way out that were changed since the move was ordered, and are not copied anew yet. */
export const moveChanges = sqliteTable(
  'move_changes',
  {
    /** Numbers are never used twice: a row that changes while it is copied is noted once more. */
    id: integer().primaryKey({ autoIncrement: true }),
    account: integer().notNull(),
    /** The table; `gone_agents` and `gone_webhooks` for what goes with one that is deleted. */
    name: text().notNull(),
    /** The row's key, as a JSON array. */
    key: text().notNull(),
  },
  (table) => [index('move_changes_by_account').on(table.account, table.id)],
);

export const MOVED_NUMBERS = ['agent', 'webhook'] as const;

/** What numbers of agents and webhooks become on this shard, while their account is on its way in. */
export const moveNumbers = sqliteTable(
  'move_numbers',
  {
    /** The account's number on this shard. */
    account: integer().notNull(),
    kind: codeColumn(MOVED_NUMBERS)().notNull(),
    /** On the shard from which it comes. */
    number: integer().notNull(),
    becomes: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.account, table.kind, table.number] })],
);

/** Where accounts are now that were here before. */
export const movedAccounts = sqliteTable('moved_accounts', {
  id: idColumn('user')().primaryKey(),
  shard: text().notNull(),
});

/** Their credentials, which name this shard. */
export const movedCredentials = sqliteTable(
  'moved_credentials',
  {
    /** HMAC-SHA-256 of the user token or agent key. */
    hash: bytesColumn().primaryKey(),
    account: idColumn('user')().notNull(),
  },
  (table) => [index('moved_credentials_by_account').on(table.account)],
);

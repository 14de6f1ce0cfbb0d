import { sql } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import {
  accounts,
  agentKeys,
  agentStatistics,
  agents,
  auditEntries,
  connectionReads,
  connections,
  ERASURE_KINDS,
  erasedEntries,
  erasures,
  FILE_STATUSES,
  fileOutcomes,
  files,
  heldMessages,
  MOVED_NUMBERS,
  members,
  notificationSettings,
  OUTCOME_STATES,
  PERMISSION_STATUSES,
  passkeys,
  permissionContents,
  permissions,
  policies,
  reviews,
  seriesChecks,
  sessions,
  slackLinks,
  trees,
  usedChallenges,
  userTokens,
  votes,
  webhookFeeds,
  webhooks,
} from '../../db/schema';
import { LOG_SPAN, LOG_SPAN_SQL } from '../../ledger/append';
import { divided, WRITE_DELAY } from './divided-tables';
import {
  account,
  agent,
  type MovedAccount,
  type MovedTable,
  ownAccount,
  ownAgents,
  raw,
} from './moved-table';

const processing = codeOf(FILE_STATUSES, 'processing');

const pending = codeOf(PERMISSION_STATUSES, 'pending');

const permissionsOfAll: MovedTable = {
  table: permissions,
  ownRows: ownAccount,
  key: ['id'],
  copyAs: { ...account, ...agent },
  permission: 'id',
};

const reviewsOfAll: MovedTable = {
  table: reviews,
  ownRows: ownAccount,
  key: ['id'],
  copyAs: account,
  permission: 'id',
  replaces: true,
};

const votesOfAll: MovedTable = {
  table: votes,
  ownRows: ownAccount,
  key: ['permission', 'ordinal'],
  copyAs: account,
  permission: 'permission',
  replaces: true,
};

/** The log. After {@link FIRST_TABLES} the rest of it is copied, again and again until it ends. */
export const LOG: MovedTable = {
  table: auditEntries,
  ownRows: ({ number }) => sql`pos < ${raw(number + 1)} * ${LOG_SPAN_SQL}`,
  key: ['pos'],
  firstKey: ({ number }) => `[${number * LOG_SPAN}]`,
  copyAs: { ...agent, pos: 'position' },
};

/**
 * Tables that are copied while the account is in use, because they may be large: what cannot change
 * any more, and the permissions, which change only with a new entry of the log, except for reports of
 * outcomes and requests of connections, and the reviews and votes of those that are pending.
 */
export const FIRST_TABLES: readonly MovedTable[] = [
  { ...LOG, only: ({ logPosition }) => sql`pos <= ${raw(logPosition)}` },
  {
    table: erasedEntries,
    ownRows: ownAccount,
    key: ['id'],
    copyAs: { ...account, id: 'position' },
  },
  permissionsOfAll,
  {
    table: permissionContents,
    ownRows: ownAccount,
    key: ['id'],
    copyAs: account,
    permission: 'id',
    replaces: true,
  },
  reviewsOfAll,
  votesOfAll,
  // Nothing is counted or folded while the account moves: the new shard counts its last entries.
  {
    table: agentStatistics,
    ownRows: ownAgents,
    isNested: true,
    key: ['agent', 'unit', 'bucket'],
    copyAs: agent,
  },
  ...divided.map((table): MovedTable => ({ ...table, only: table.isFinal })),
];

/** Tables of {@link FIRST_TABLES} whose rows change with a new entry. */
export const TABLES_OF_PERMISSIONS = FIRST_TABLES.filter(({ permission }) => permission);

/**
 * The permissions that may have changed without an entry since the copy began: by a report of their
 * outcome, or because their connection was switched off or deleted. There is no index for them: one
 * would cost a row with each report.
 */
const hasChangedSilently = ({ reservedAt }: MovedAccount) =>
  sql`(outcome_reported_at >= ${raw(reservedAt - WRITE_DELAY)}
    or outcome_state = ${codeOf(OUTCOME_STATES, 'unknown')}
    or (status = ${pending} and connection_id is not null))`;

const isOfPendingPermission = (column: string) => (moving: MovedAccount) =>
  sql`${sql.identifier(column)} in (
    select waiting.id from permissions as waiting
    where waiting.account = ${raw(moving.number)} and waiting.status = ${pending})`;

/**
 * Tables that are copied while the account is held: what may have changed since the copy began, in an
 * order in which a row comes before those that name it. The account's own row is the last.
 */
export const LAST_TABLES: readonly MovedTable[] = [
  { ...permissionsOfAll, only: hasChangedSilently, replaces: true },
  { ...reviewsOfAll, only: isOfPendingPermission('id') },
  { ...votesOfAll, only: isOfPendingPermission('permission') },
  ...divided.map(
    (table): MovedTable => ({ ...table, only: (moving) => sql`not ${table.isFinal(moving)}` }),
  ),
  { table: seriesChecks, ownRows: ownAccount, key: ['account'], copyAs: account },
  { table: members, ownRows: ownAccount, key: ['id'], copyAs: account },
  { table: notificationSettings, ownRows: ownAccount, key: ['member'], copyAs: account },
  { table: passkeys, ownRows: ownAccount, key: ['id'], copyAs: account },
  { table: sessions, ownRows: ownAccount, key: ['id'], copyAs: account },
  { table: usedChallenges, ownRows: ownAccount, key: ['challenge'], copyAs: account },
  { table: userTokens, ownRows: ownAccount, key: ['id'], copyAs: account },
  { table: agents, ownRows: ownAccount, key: ['id'], copyAs: { ...account, number: 'agent' } },
  { table: agentKeys, ownRows: ownAgents, isNested: true, key: ['agent', 'hash'], copyAs: agent },
  { table: policies, ownRows: ownAccount, key: ['id'], copyAs: account },
  { table: connections, ownRows: ownAccount, key: ['id'], copyAs: account },
  {
    table: connectionReads,
    ownRows: ownAccount,
    key: ['connection', 'agent', 'day'],
    copyAs: { ...account, ...agent },
  },
  { table: trees, ownRows: ownAccount, key: ['account'], copyAs: account },
  ...MOVED_NUMBERS.map((kind) => ({
    table: erasures,
    ownRows: (moving: MovedAccount) =>
      sql`${ownAccount(moving)} and kind = ${codeOf(ERASURE_KINDS, kind)}`,
    key: ['id'],
    copyAs: { ...account, id: 'left out', number: kind } as const,
  })),
  {
    table: erasures,
    ownRows: (moving) =>
      sql`${ownAccount(moving)} and kind = ${codeOf(ERASURE_KINDS, 'connection')}`,
    key: ['id'],
    copyAs: { ...account, id: 'left out' },
  },
  {
    // Files in progress start again, because their saved state contains positions. Their content
    // stays the same.
    table: files,
    ownRows: ownAccount,
    key: ['kind', 'id'],
    copyAs: {
      ...account,
      ...agent,
      state: sql`iif(status = ${processing}, null, state)`,
      upload_id: sql`iif(status = ${processing}, null, upload_id)`,
    },
  },
  { table: fileOutcomes, ownRows: ownAccount, key: ['kind', 'id'], copyAs: account },
  {
    table: webhooks,
    ownRows: ownAccount,
    key: ['id'],
    copyAs: { ...account, number: 'webhook', starts_after: 'position' },
  },
  {
    table: heldMessages,
    ownRows: ownAccount,
    key: ['webhook', 'member', 'permission', 'event', 'reminder'],
    copyAs: { ...account, webhook: 'webhook' },
  },
  {
    table: slackLinks,
    ownRows: ownAccount,
    key: ['webhook', 'team', 'slack_user'],
    copyAs: { ...account, webhook: 'webhook' },
  },
  {
    table: webhookFeeds,
    ownRows: ownAccount,
    key: ['account'],
    copyAs: { ...account, position: 'position' },
  },
  {
    table: accounts,
    ownRows: ({ number }) => sql`number = ${raw(number)}`,
    key: ['number'],
    copyAs: { number: 'account' },
  },
];

import { sql, type Table } from 'drizzle-orm';
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
  eventFeeds,
  FILE_STATUSES,
  fileResults,
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
  receivers,
  reviews,
  seriesChecks,
  sessions,
  slackLinks,
  trees,
  usedChallenges,
  userTokens,
  votes,
} from '../../db/schema';
import { LOG_SPAN } from '../../ledger/append';
import { finalRows, rowsThatMayChange, WRITE_DELAY } from './divided-tables';
import {
  type MovedAccount,
  type MovedTable,
  ofAccount,
  ofAgents,
  raw,
  renumberAccount,
  renumberAgent,
} from './moved-table';

// The tables of an account, in the order in which they are copied:
//
// 1. COPIED_WHILE_IN_USE: the large tables, as far as their rows are final. They are copied while
//    the account is in use, so that it is on hold for a short time only.
// 2. LOG: the entries that were added meanwhile. With them come the rows of PERMISSION_TABLES that
//    they changed.
// 3. COPIED_ON_HOLD: everything else, while no row can change.

const pending = codeOf(PERMISSION_STATUSES, 'pending');
const processing = codeOf(FILE_STATUSES, 'processing');

/** A table in which only the account's number depends on the shard. */
function accountTable(table: Table, ...key: string[]): MovedTable {
  return { table, ownRows: ofAccount, key, columnRules: renumberAccount };
}

const allPermissions: MovedTable = {
  table: permissions,
  ownRows: ofAccount,
  key: ['id'],
  columnRules: { ...renumberAccount, ...renumberAgent },
  permissionColumn: 'id',
};

const allContents: MovedTable = {
  ...accountTable(permissionContents, 'id'),
  permissionColumn: 'id',
  replaces: true,
};

const allReviews: MovedTable = {
  ...accountTable(reviews, 'id'),
  permissionColumn: 'id',
  replaces: true,
};

const allVotes: MovedTable = {
  ...accountTable(votes, 'permission', 'ordinal'),
  permissionColumn: 'permission',
  replaces: true,
};

/** The log. Its positions begin with the account's number. */
export const LOG: MovedTable = {
  table: auditEntries,
  ownRows: {
    keyRange: ({ number }) => ({
      after: JSON.stringify([number * LOG_SPAN]),
      before: JSON.stringify([(number + 1) * LOG_SPAN]),
    }),
  },
  key: ['pos'],
  columnRules: { ...renumberAgent, pos: 'position' },
};

/**
 * Tables that are copied while the account is in use, because they may be large. Most of these rows
 * cannot change any more. A new log entry may change a permission: its rows in
 * {@link PERMISSION_TABLES} are copied again. Other changes are copied by {@link COPIED_ON_HOLD}.
 */
export const COPIED_WHILE_IN_USE: readonly MovedTable[] = [
  { ...LOG, rowsToCopy: ({ logPosition }) => sql`pos <= ${raw(logPosition)}` },
  {
    table: erasedEntries,
    ownRows: ofAccount,
    key: ['id'],
    columnRules: { ...renumberAccount, id: 'position' },
  },
  allPermissions,
  allContents,
  allReviews,
  allVotes,
  // Nothing is counted or folded while the account moves: the new shard counts its last entries.
  {
    table: agentStatistics,
    ownRows: ofAgents,
    key: ['agent', 'unit', 'bucket'],
    columnRules: renumberAgent,
  },
  ...finalRows,
];

/**
 * Tables with rows that belong to a permission. Those of the permissions that new entries of the
 * log are about are copied with these entries.
 */
export const PERMISSION_TABLES = COPIED_WHILE_IN_USE.filter((table) => table.permissionColumn);

/**
 * The permissions that may have changed without an entry since the copy began: by a report of their
 * outcome, or because their connection was switched off or deleted. There is no index for them: one
 * would cost a row with each report.
 */
const hasChangedSilently = ({ reservedAt }: MovedAccount) =>
  sql`(outcome_reported_at >= ${raw(reservedAt - WRITE_DELAY)}
    or outcome_state = ${codeOf(OUTCOME_STATES, 'unknown')}
    or (status = ${pending} and connection_id is not null))`;

/**
 * The condition for rows of permissions that are pending: votes change them without an entry.
 * @param column the column with the id of the permission
 */
const isOfPendingPermission = (column: string) => (moving: MovedAccount) =>
  sql`${sql.identifier(column)} in (
    select waiting.id from permissions as waiting
    where waiting.account = ${raw(moving.number)} and waiting.status = ${pending})`;

/**
 * Tables that are copied while the account is on hold: what may have changed since the copy began.
 * The account's own row is last.
 */
export const COPIED_ON_HOLD: readonly MovedTable[] = [
  { ...allPermissions, rowsToCopy: hasChangedSilently, replaces: true },
  { ...allReviews, rowsToCopy: isOfPendingPermission('id') },
  { ...allVotes, rowsToCopy: isOfPendingPermission('permission') },
  ...rowsThatMayChange,
  accountTable(seriesChecks, 'account'),
  accountTable(members, 'id'),
  accountTable(notificationSettings, 'member'),
  accountTable(passkeys, 'id'),
  accountTable(sessions, 'id'),
  accountTable(usedChallenges, 'challenge'),
  accountTable(userTokens, 'id'),
  {
    table: agents,
    ownRows: ofAccount,
    key: ['id'],
    columnRules: { ...renumberAccount, number: 'agent' },
  },
  { table: agentKeys, ownRows: ofAgents, key: ['agent', 'hash'], columnRules: renumberAgent },
  accountTable(policies, 'id'),
  accountTable(connections, 'id'),
  {
    table: connectionReads,
    ownRows: ofAccount,
    key: ['connection', 'agent', 'day'],
    columnRules: { ...renumberAccount, ...renumberAgent },
  },
  accountTable(trees, 'account'),
  // The rule has the name of the erasure kind, so `kind` is both.
  ...MOVED_NUMBERS.map(
    (kind): MovedTable => ({
      table: erasures,
      ownRows: ofAccount,
      rowsToCopy: () => sql`kind = ${codeOf(ERASURE_KINDS, kind)}`,
      key: ['id'],
      columnRules: { ...renumberAccount, id: 'left out', number: kind },
    }),
  ),
  {
    table: erasures,
    ownRows: ofAccount,
    rowsToCopy: () => sql`kind = ${codeOf(ERASURE_KINDS, 'connection')}`,
    key: ['id'],
    columnRules: { ...renumberAccount, id: 'left out' },
  },
  {
    // Files in progress start again, because their saved state contains positions. Their content
    // stays the same.
    table: files,
    ownRows: ofAccount,
    key: ['kind', 'id'],
    columnRules: {
      ...renumberAccount,
      ...renumberAgent,
      state: sql`iif(status = ${processing}, null, state)`,
      upload_id: sql`iif(status = ${processing}, null, upload_id)`,
    },
  },
  accountTable(fileResults, 'kind', 'id'),
  {
    table: receivers,
    ownRows: ofAccount,
    key: ['id'],
    columnRules: { ...renumberAccount, number: 'receiver', starts_after: 'position' },
  },
  {
    table: heldMessages,
    ownRows: ofAccount,
    key: ['receiver', 'member', 'permission', 'event', 'reminder'],
    columnRules: { ...renumberAccount, receiver: 'receiver' },
  },
  {
    table: slackLinks,
    ownRows: ofAccount,
    key: ['receiver', 'team', 'slack_user'],
    columnRules: { ...renumberAccount, receiver: 'receiver' },
  },
  {
    table: eventFeeds,
    ownRows: ofAccount,
    key: ['account'],
    columnRules: { ...renumberAccount, position: 'position' },
  },
  {
    table: accounts,
    ownRows: { condition: ({ number }) => sql`number = ${raw(number)}` },
    key: ['number'],
    columnRules: { number: 'account' },
  },
];

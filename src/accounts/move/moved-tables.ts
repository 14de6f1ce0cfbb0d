import { type SQL, sql, type Table } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import {
  accounts,
  activity,
  agentKeys,
  agentStatistics,
  agents,
  auditEntries,
  connectionCalls,
  connectionReads,
  connections,
  deliveries,
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
  permissionEvents,
  permissions,
  policies,
  reviews,
  series,
  seriesChecks,
  sessions,
  slackLinks,
  storedAnswers,
  trees,
  usedChallenges,
  userTokens,
  votes,
  webhookFeeds,
  webhooks,
} from '../../db/schema';
import { LOG_SPAN, LOG_SPAN_SQL } from '../../ledger/append';
import { toHex } from '../../lib/bytes';
import { DAY, HOUR } from '../../lib/time';
import { type Id, idBytes, type Prefix, smallestIdAt } from '../../lib/typeid';

/** An account that moves, as it is on the shard that it leaves. */
export interface MovedAccount {
  number: number;
  id: Id<'user'>;
  /** The position in the log up to which entries are copied while the account is in use. */
  logPosition: number;
  /** When the copy began, by the clock of the service. */
  reservedAt: number;
  /** Since when it had requests that waited, or events that were not delivered. */
  openSince: number;
}

/** A kind of record that gets another number on each shard. */
export type NumberedKind = (typeof MOVED_NUMBERS)[number];

/**
 * How to copy a column whose value depends on the shard: renumbered as the number of the account,
 * an agent or a webhook, or as a position in the log, which contains the account's number (see
 * {@link LOG_SPAN}); not at all (`left out`); or as the value of an SQL expression.
 */
export type Kind = 'account' | NumberedKind | 'position' | 'left out' | SQL;

/** A table that is copied when an account moves. */
export interface MovedTable {
  table: Table;
  /**
   * The condition for the account's rows; for a nested table, a select of their parents. Where
   * `firstKey` is set, this is only the upper bound: it also matches rows before it, which belong
   * to other accounts.
   */
  ownRows: (account: MovedAccount) => SQL;
  /** The condition for the rows among these that are copied; without it, all are. */
  only?: (account: MovedAccount) => SQL;
  /**
   * Whether the rows belong to parents (agents, webhooks or subjects of answers), named by the
   * first key column.
   */
  isNested?: boolean;
  /** The key columns, without the account. */
  key: readonly string[];
  /**
   * The key after which the account's rows begin, for a table whose key contains the account's
   * number.
   */
  firstKey?: (account: MovedAccount) => string;
  /**
   * How to copy columns whose values depend on the shard, by column. Other columns are copied
   * unchanged.
   */
  copyAs?: Record<string, Kind>;
  /**
   * The column with the id of a permission. Rows of the permissions that new entries are about are
   * copied again.
   */
  permission?: 'id' | 'permission';
  /** Narrows the search for the rows of some permissions to an index of the table. */
  rowsOfPermissions?: (account: MovedAccount, ids: SQL) => SQL;
  /** Whether the new shard may have older copies of the rows, which are replaced. */
  replaces?: boolean;
}

const processing = codeOf(FILE_STATUSES, 'processing');
const pending = codeOf(PERMISSION_STATUSES, 'pending');
const ownAccount = ({ number }: Pick<MovedAccount, 'number'>) => sql`account = ${raw(number)}`;
const ownAgents = ({ number }: MovedAccount) =>
  sql`select number as parent from agents where account = ${raw(number)}`;
const ownWebhooks = ({ number }: MovedAccount) =>
  sql`select number as parent from webhooks where account = ${raw(number)}`;
const ownSubjects = ({ number, id }: MovedAccount) =>
  sql`select ${blob(id)} as parent union all select id from agents where account = ${raw(number)}`;
const account = { account: 'account' } as const;
const agent = { agent: 'agent' } as const;

/**
 * Milliseconds before the begin of the copy from which on a row may still be written: a call that
 * began earlier has ended long ago.
 */
const WRITE_DELAY = HOUR;
/**
 * Milliseconds after which nothing of a request changes: it waits for a week at most, and its token
 * lives for another.
 */
const REQUEST_LIFETIME = 15 * DAY;

/** A table with rows that are final when the copy begins, and others that may still change. */
interface DividedTable extends MovedTable {
  /** The condition for the final rows. */
  isFinal: (account: MovedAccount) => SQL;
}

const events: DividedTable = {
  table: permissionEvents,
  ownRows: ownAccount,
  key: ['permission', 'event'],
  copyAs: account,
  permission: 'permission',
  replaces: true,
  isFinal: ({ openSince }) =>
    sql`permission < ${blob(smallestIdAt('perm', openSince - REQUEST_LIFETIME))}`,
};

const activityRecords: DividedTable = {
  table: activity,
  ownRows: ownAccount,
  key: ['id'],
  copyAs: account,
  isFinal: ({ reservedAt }) => sql`id < ${blob(smallestIdAt('act', reservedAt - WRITE_DELAY))}`,
};

const answers: DividedTable = {
  table: storedAnswers,
  ownRows: ownSubjects,
  isNested: true,
  key: ['subject', 'principal', 'key'],
  // The new shard may still have answers from before the account left it.
  replaces: true,
  isFinal: ({ reservedAt }) => sql`created_at < ${raw(reservedAt - WRITE_DELAY)}`,
};

const sentDeliveries: DividedTable = {
  table: deliveries,
  ownRows: ownWebhooks,
  isNested: true,
  key: ['webhook', 'id'],
  copyAs: { ...agent, webhook: 'webhook', pos: 'position' },
  isFinal: ({ reservedAt }) => sql`coalesce(completed_at < ${raw(reservedAt - WRITE_DELAY)}, 0)`,
};

const expiredSeries: DividedTable = {
  table: series,
  ownRows: ownAccount,
  key: ['agent', 'live_until', 'permission'],
  copyAs: { ...account, ...agent },
  isFinal: ({ reservedAt }) => sql`expires_at < ${raw(reservedAt - WRITE_DELAY)}`,
};

/**
 * Milliseconds after which another call no longer leads to a permission: its request waits for an
 * hour, and its token lives for 15 minutes.
 */
const CALL_LIFETIME = 2 * HOUR;

const calls: DividedTable = {
  table: connectionCalls,
  ownRows: ownAccount,
  key: ['connection', 'agent', 'name'],
  copyAs: { ...account, ...agent },
  permission: 'permission',
  rowsOfPermissions: ({ number }, ids) => sql`(account, connection, agent, input_digest) in (
    select called.account, called.connection_id, called.agent, called.input_digest
    from permissions as called
    where called.account = ${raw(number)} and called.id in ${ids})`,
  // A later call of the same name replaces the row.
  replaces: true,
  isFinal: ({ reservedAt }) =>
    sql`permission < ${blob(smallestIdAt('perm', reservedAt - CALL_LIFETIME - WRITE_DELAY))}`,
};

const divided = [events, calls, expiredSeries, activityRecords, answers, sentDeliveries];

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

/** A number as part of the statement text. Bound numbers would be REAL. */
export function raw(number: number): SQL {
  return sql.raw(String(number));
}

function blob(id: Id<Prefix>): SQL {
  return sql.raw(`x'${toHex(idBytes(id))}'`);
}

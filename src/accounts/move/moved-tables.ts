import { type SQL, sql, type Table } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import {
  accounts,
  activity,
  agentKeys,
  agentStatistics,
  agents,
  auditEntries,
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
  passkeys,
  permissionContents,
  permissionEvents,
  permissions,
  policies,
  reviews,
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
import { type Id, idBytes } from '../../lib/typeid';

/** An account that moves, with its number on one shard. */
export interface MovedAccount {
  number: number;
  id: Id<'user'>;
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
}

const processing = codeOf(FILE_STATUSES, 'processing');
const ownAccount = ({ number }: MovedAccount) => sql`account = ${raw(number)}`;
const ownAgents = ({ number }: MovedAccount) =>
  sql`select number as parent from agents where account = ${raw(number)}`;
const ownWebhooks = ({ number }: MovedAccount) =>
  sql`select number as parent from webhooks where account = ${raw(number)}`;
const ownSubjects = ({ number, id }: MovedAccount) =>
  sql`select ${blob(id)} as parent union all select id from agents where account = ${raw(number)}`;
const account = { account: 'account' } as const;
const agent = { agent: 'agent' } as const;

/**
 * Tables that are copied while the account is in use, because they may be large. Triggers record
 * the changes of their rows in `move_changes`. Nothing on the new shard looks at the copies until
 * {@link LAST_TABLES} are there too.
 */
export const TRACKED_TABLES: readonly MovedTable[] = [
  { table: members, ownRows: ownAccount, key: ['id'], copyAs: account },
  { table: notificationSettings, ownRows: ownAccount, key: ['member'], copyAs: account },
  { table: passkeys, ownRows: ownAccount, key: ['id'], copyAs: account },
  { table: sessions, ownRows: ownAccount, key: ['id'], copyAs: account },
  { table: usedChallenges, ownRows: ownAccount, key: ['challenge'], copyAs: account },
  { table: userTokens, ownRows: ownAccount, key: ['id'], copyAs: account },
  { table: agents, ownRows: ownAccount, key: ['id'], copyAs: { ...account, number: 'agent' } },
  { table: agentKeys, ownRows: ownAgents, isNested: true, key: ['agent', 'hash'], copyAs: agent },
  { table: permissions, ownRows: ownAccount, key: ['id'], copyAs: { ...account, ...agent } },
  { table: permissionContents, ownRows: ownAccount, key: ['id'], copyAs: account },
  { table: reviews, ownRows: ownAccount, key: ['id'], copyAs: account },
  { table: permissionEvents, ownRows: ownAccount, key: ['permission', 'event'], copyAs: account },
  { table: votes, ownRows: ownAccount, key: ['permission', 'ordinal'], copyAs: account },
  { table: policies, ownRows: ownAccount, key: ['id'], copyAs: account },
  {
    table: auditEntries,
    ownRows: ({ number }) => sql`pos < ${raw(number + 1)} * ${LOG_SPAN_SQL}`,
    key: ['pos'],
    firstKey: ({ number }) => `[${number * LOG_SPAN}]`,
    copyAs: { ...agent, pos: 'position' },
  },
  {
    table: erasedEntries,
    ownRows: ownAccount,
    key: ['id'],
    copyAs: { ...account, id: 'position' },
  },
  { table: activity, ownRows: ownAccount, key: ['id'], copyAs: account },
  {
    table: agentStatistics,
    ownRows: ownAgents,
    isNested: true,
    key: ['agent', 'unit', 'bucket'],
    copyAs: agent,
  },
  {
    table: storedAnswers,
    ownRows: ownSubjects,
    isNested: true,
    key: ['subject', 'principal', 'key'],
  },
  {
    table: deliveries,
    ownRows: ownWebhooks,
    isNested: true,
    key: ['webhook', 'id'],
    copyAs: { ...agent, webhook: 'webhook', pos: 'position' },
  },
];

/**
 * Tables that are copied while the account is on hold, because background tasks look for work in
 * them. They are small, and the account's own row comes last.
 */
export const LAST_TABLES: readonly MovedTable[] = [
  { table: trees, ownRows: ownAccount, key: ['account'], copyAs: account },
  // These rows no longer name their account, so the rows of all accounts are copied. Those of other
  // accounts get numbers that nothing on the new shard has, and so erase nothing there.
  ...MOVED_NUMBERS.map((kind) => ({
    table: erasures,
    ownRows: () => sql`kind = ${codeOf(ERASURE_KINDS, kind)}`,
    key: ['id'],
    copyAs: { id: 'left out', number: kind } as const,
  })),
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

function blob(id: Id<'user'>): SQL {
  return sql.raw(`x'${toHex(idBytes(id))}'`);
}

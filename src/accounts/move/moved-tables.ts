import { getTableColumns, type SQL, sql, type Table } from 'drizzle-orm';
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
  MOVED_NUMBERS,
  members,
  passkeys,
  permissionContents,
  permissions,
  policies,
  reviews,
  sessions,
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
 * How to copy a column whose value depends on the shard: renumbered as the number of the account, an agent or a webhook, or
 * as a position in the log, which contains the account's number (see {@link LOG_SPAN}); not at all (`left out`); or as the
 * value of an SQL expression.
 */
type Kind = 'account' | NumberedKind | 'position' | 'left out' | SQL;

/** A table that is copied when an account moves. */
export interface MovedTable {
  table: Table;
  /**
   * The condition for the account's rows; for a nested table, a select of their parents. Where `firstKey` is set, this is
   * only the upper bound: it also matches rows before it, which belong to other accounts.
   */
  ownRows: (account: MovedAccount) => SQL;
  /** Whether the rows belong to parents (agents, webhooks or subjects of answers), named by the first key column. */
  isNested?: boolean;
  /** The key columns, without the account. */
  key: readonly string[];
  /** The key after which the account's rows begin, for a table whose key contains the account's number. */
  firstKey?: (account: MovedAccount) => string;
  /** How to copy columns whose values depend on the shard, by column. Other columns are copied unchanged. */
  copyAs?: Record<string, Kind>;
}

/** A row to copy: its columns and its key, each a JSON array, with the numbers of the old shard. */
export interface CopiedRow {
  row: string;
  key: string;
}

const processing = codeOf(FILE_STATUSES, 'processing');
const ownAccount = ({ number }: MovedAccount) => sql`account = ${raw(number)}`;
const ownAgents = ({ number }: MovedAccount) => sql`select number as parent from agents where account = ${raw(number)}`;
const ownWebhooks = ({ number }: MovedAccount) =>
  sql`select number as parent from webhooks where account = ${raw(number)}`;
const ownSubjects = ({ number, id }: MovedAccount) =>
  sql`select ${blob(id)} as parent union all select id from agents where account = ${raw(number)}`;
const account = { account: 'account' } as const;
const agent = { agent: 'agent' } as const;

/**
 * Tables that are copied while the account is in use, because they may be large. Triggers record the changes of their
 * rows in `move_changes`. Nothing on the new shard looks at the copies until {@link LAST_TABLES} are there too.
 */
export const TRACKED_TABLES: readonly MovedTable[] = [
  { table: members, ownRows: ownAccount, key: ['id'], copyAs: account },
  { table: passkeys, ownRows: ownAccount, key: ['id'], copyAs: account },
  { table: sessions, ownRows: ownAccount, key: ['id'], copyAs: account },
  { table: usedChallenges, ownRows: ownAccount, key: ['challenge'], copyAs: account },
  { table: userTokens, ownRows: ownAccount, key: ['id'], copyAs: account },
  { table: agents, ownRows: ownAccount, key: ['id'], copyAs: { ...account, number: 'agent' } },
  { table: agentKeys, ownRows: ownAgents, isNested: true, key: ['agent', 'hash'], copyAs: agent },
  { table: permissions, ownRows: ownAccount, key: ['id'], copyAs: { ...account, ...agent } },
  { table: permissionContents, ownRows: ownAccount, key: ['id'], copyAs: account },
  { table: reviews, ownRows: ownAccount, key: ['id'], copyAs: account },
  { table: votes, ownRows: ownAccount, key: ['permission', 'ordinal'], copyAs: account },
  { table: policies, ownRows: ownAccount, key: ['id'], copyAs: account },
  {
    table: auditEntries,
    ownRows: ({ number }) => sql`pos < ${raw(number + 1)} * ${LOG_SPAN_SQL}`,
    key: ['pos'],
    firstKey: ({ number }) => `[${number * LOG_SPAN}]`,
    copyAs: { ...agent, pos: 'position' },
  },
  { table: erasedEntries, ownRows: ownAccount, key: ['id'], copyAs: { ...account, id: 'position' } },
  { table: activity, ownRows: ownAccount, key: ['id'], copyAs: account },
  { table: agentStatistics, ownRows: ownAgents, isNested: true, key: ['agent', 'unit', 'bucket'], copyAs: agent },
  { table: storedAnswers, ownRows: ownSubjects, isNested: true, key: ['subject', 'principal', 'key'] },
  {
    table: deliveries,
    ownRows: ownWebhooks,
    isNested: true,
    key: ['webhook', 'id'],
    copyAs: { ...agent, webhook: 'webhook', pos: 'position' },
  },
];

/**
 * Tables that are copied while the account is on hold, because background tasks look for work in them. They are small, and
 * the account's own row comes last.
 */
export const LAST_TABLES: readonly MovedTable[] = [
  { table: trees, ownRows: ownAccount, key: ['account'], copyAs: account },
  // These rows no longer name their account, so the rows of all accounts are copied. Those of other accounts get numbers
  // that nothing on the new shard has, and so erase nothing there.
  ...MOVED_NUMBERS.map((kind) => ({
    table: erasures,
    ownRows: () => sql`kind = ${codeOf(ERASURE_KINDS, kind)}`,
    key: ['id'],
    copyAs: { id: 'left out', number: kind } as const,
  })),
  {
    // Files in progress start again, because their saved state contains positions. Their content stays the same.
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
  { table: webhookFeeds, ownRows: ownAccount, key: ['account'], copyAs: { ...account, position: 'position' } },
  {
    table: accounts,
    ownRows: ({ number }) => sql`number = ${raw(number)}`,
    key: ['number'],
    copyAs: { number: 'account' },
  },
];

/**
 * SQL that selects rows of an account in the order of their keys, as `copied_row` and `copied_key`: see {@link CopiedRow}.
 *
 * Nested tables take two selects, for the rest of one parent and for the parents after it: with a bound on the whole
 * key, SQLite would start from the first row of the table each time.
 * @param after the key after which to start; null for the first row
 * @param limit the maximum number of rows; without it, all
 */
export function selectRows(moved: MovedTable, moving: MovedAccount, after: string | null, limit?: number): SQL {
  const { ownRows, isNested, key, firstKey } = moved;
  const [first = '', ...rest] = key;
  const from = after ?? firstKey?.(moving) ?? null;
  const select = (condition: SQL) => sql`
    select ${encodedRow(moved)}, ${encodedKey(moved)} from ${moved.table} where ${condition}
    order by ${list(key)} ${limit === undefined ? sql`` : sql`limit ${raw(limit)}`}`;
  if (!isNested)
    return select(from === null ? ownRows(moving) : sql`${ownRows(moving)} and ${isAfterKey(moved, key, from)}`);
  const parents = sql`select parent from (${ownRows(moving)})`;
  if (from === null) return select(sql`${identifier(first)} in (${parents})`);
  const parent = keyValue(moved, first, from);
  return sql`
    select * from (${select(sql`${identifier(first)} = ${parent} and ${isAfterKey(moved, rest, from)}`)})
    union all
    select * from (${select(sql`${identifier(first)} in (${parents} where parent > ${parent})`)})
    ${limit === undefined ? sql`` : sql`limit ${raw(limit)}`}`;
}

/** SQL that selects the rows of an account with the given keys (a JSON array), in the columns of {@link selectRows}. */
export function selectRowsByKey(moved: MovedTable, moving: MovedAccount, keys: string): SQL {
  return sql`select ${encodedRow(moved)}, ${encodedKey(moved)} from ${moved.table}
    where ${hasKey(moved, moving, sql`select ${keyColumns(moved)} from json_each(${keys})`)}`;
}

/** The account's numbers on the old shard and on the new one. */
export interface Renumbering {
  from: number;
  to: number;
}

/** SQL that inserts rows (a JSON array) on the new shard. */
export function insertRows(moved: MovedTable, rows: string, renumbering: Renumbering): SQL {
  const { table, copyAs = {} } = moved;
  const names = copiedColumns(moved);
  const values = names.map((name, i) =>
    translate(decode(table, name, sql`value ->> ${raw(i)}`), copyAs[name], renumbering),
  );
  // The new shard may still have answers from before the account left it.
  const verb = table === storedAnswers ? sql`insert or replace` : sql`insert`;
  return sql`${verb} into ${table} (${list(names)}) select ${sql.join(values, sql`, `)} from json_each(${rows})`;
}

/** SQL that deletes rows on the new shard by their keys on the old one (a JSON array). */
export function deleteRows(moved: MovedTable, keys: string, renumbering: Renumbering): SQL {
  const moving = { number: renumbering.to };
  return sql`delete from ${moved.table}
    where ${hasKey(moved, moving, sql`select ${keyColumns(moved, renumbering)} from json_each(${keys})`)}`;
}

/** Returns the numbers of agents or webhooks that rows contain, each once. Each needs a number on the new shard. */
export function numbersInRows(moved: MovedTable, rows: readonly string[], kind: NumberedKind): number[] {
  const { copyAs = {} } = moved;
  const places = copiedColumns(moved).flatMap((name, i) => (copyAs[name] === kind ? [i] : []));
  if (places.length === 0) return [];
  const found = rows.flatMap((row) => {
    const values = JSON.parse(row) as (number | null)[];
    return places.flatMap((place) => values[place] ?? []);
  });
  return [...new Set(found)].filter((number) => number > 0);
}

function hasKey({ table, key }: MovedTable, { number }: Pick<MovedAccount, 'number'>, keys: SQL): SQL {
  const isNamed = sql`${tuple(key)} in (${keys})`;
  return columnNames(table).includes('account') ? sql`account = ${raw(number)} and ${isNamed}` : isNamed;
}

function encodedRow(moved: MovedTable): SQL {
  const { table, copyAs = {} } = moved;
  const values = copiedColumns(moved).map((name) => {
    const kind = copyAs[name];
    return encode(table, name, typeof kind === 'object' ? kind : identifier(name));
  });
  return sql`json_array(${sql.join(values, sql`, `)}) as copied_row`;
}

function encodedKey({ table, key }: MovedTable): SQL {
  const values = key.map((name) => encode(table, name, identifier(name)));
  return sql`json_array(${sql.join(values, sql`, `)}) as copied_key`;
}

/** Selects the key columns from a JSON array of keys. */
function keyColumns({ table, key, copyAs = {} }: MovedTable, renumbering?: Renumbering): SQL {
  const values = key.map((name, i) => {
    const value = decode(table, name, sql`value ->> ${raw(i)}`);
    return renumbering ? translate(value, copyAs[name], renumbering) : value;
  });
  return sql.join(values, sql`, `);
}

/** The condition that some key columns of a row sort after the same columns of a JSON key. */
function isAfterKey(moved: MovedTable, names: readonly string[], json: string): SQL {
  const values = names.map((name) => keyValue(moved, name, json));
  return sql`${tuple(names)} > (${sql.join(values, sql`, `)})`;
}

function keyValue({ table, key }: MovedTable, name: string, json: string): SQL {
  return decode(table, name, sql`${json} ->> ${raw(key.indexOf(name))}`);
}

function columnNames(table: Table): string[] {
  return Object.values(getTableColumns(table)).map(({ name }) => name);
}

function copiedColumns({ table, copyAs = {} }: MovedTable): string[] {
  return columnNames(table).filter((name) => copyAs[name] !== 'left out');
}

function translate(value: SQL, kind: Kind | undefined, { from, to }: Renumbering): SQL {
  if (kind === 'account') return raw(to);
  if (kind === 'position') return sql`${value} + ${raw((to - from) * LOG_SPAN)}`;
  if (kind !== 'agent' && kind !== 'webhook') return value;
  // Null and 0 mean no agent.
  return sql`iif(${value} > 0, (
    select becomes from move_numbers
    where move_numbers.account = ${raw(to)} and kind = ${codeOf(MOVED_NUMBERS, kind)} and number = ${value}
  ), ${value})`;
}

function isBlob(table: Table, name: string): boolean {
  return Object.values(getTableColumns(table)).some((column) => column.name === name && column.getSQLType() === 'blob');
}

/** Encodes bytes as hexadecimal, because JSON has no bytes. */
function encode(table: Table, name: string, value: SQL): SQL {
  return isBlob(table, name) ? sql`iif(${value} is null, null, hex(${value}))` : value;
}

function decode(table: Table, name: string, value: SQL): SQL {
  return isBlob(table, name) ? sql`unhex(${value})` : value;
}

function tuple(names: readonly string[]): SQL {
  return sql`(${list(names)})`;
}

function list(names: readonly string[]): SQL {
  return sql.join(names.map(identifier), sql`, `);
}

function identifier(name: string): SQL {
  return sql`${sql.identifier(name)}`;
}

/** A number as part of the statement text. Bound numbers would be REAL. */
function raw(number: number): SQL {
  return sql.raw(String(number));
}

function blob(id: Id<'user'>): SQL {
  return sql.raw(`x'${toHex(idBytes(id))}'`);
}

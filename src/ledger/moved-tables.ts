import { getTableColumns, type SQL, sql, type Table } from 'drizzle-orm';
import { codeOf } from '../db/columns';
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
  permissions,
  policies,
  storedAnswers,
  trees,
  userTokens,
  webhookFeeds,
  webhooks,
} from '../db/schema';
import { toHex } from '../lib/bytes';
import { type Id, idBytes } from '../lib/typeid';
import { LOG_SPAN } from './append';

/** An account on one shard. */
export interface MovedAccount {
  number: number;
  id: Id<'user'>;
}

/** How numbers of one shard become those of the other. */
export interface Shifts {
  account: number;
  agent: number;
  webhook: number;
}

/** What a column tells of the account's place on its shard; others are copied as they are. */
type Kind = 'account' | 'agent' | 'webhook' | 'position' | 'left out' | SQL;

interface MovedTable {
  table: Table;
  /** Which rows belong to the account. */
  of: (account: MovedAccount) => SQL;
  /** The columns that order these rows. */
  key: readonly string[];
  kinds?: Record<string, Kind>;
  /** Whether rows stay behind, because they are not of this account alone. */
  stays?: boolean;
}

const span = sql.raw(String(LOG_SPAN));
const processing = codeOf(FILE_STATUSES, 'processing');
const ownAccount = ({ number }: MovedAccount) => sql`account = ${raw(number)}`;
const ownAgents = ({ number }: MovedAccount) =>
  sql`agent in (select number from agents where account = ${raw(number)})`;
const account = { account: 'account' } as const;
const agent = { agent: 'agent' } as const;

/**
 * Everything of an account, in the order in which it is copied: the row of the account itself comes last, as without it
 * nothing else counts.
 */
export const MOVED_TABLES: readonly MovedTable[] = [
  { table: userTokens, of: ownAccount, key: ['id'], kinds: account },
  { table: agents, of: ownAccount, key: ['id'], kinds: { ...account, number: 'agent' } },
  { table: agentKeys, of: ownAgents, key: ['agent', 'hash'], kinds: agent },
  { table: permissions, of: ownAccount, key: ['id'], kinds: { ...account, ...agent } },
  { table: policies, of: ownAccount, key: ['id'], kinds: account },
  {
    table: auditEntries,
    of: ({ number }) => sql`pos > ${raw(number)} * ${span} and pos < ${raw(number + 1)} * ${span}`,
    key: ['pos'],
    kinds: { ...agent, pos: 'position' },
  },
  { table: trees, of: ownAccount, key: ['account'], kinds: account },
  { table: erasedEntries, of: ownAccount, key: ['id'], kinds: { ...account, id: 'position' } },
  { table: activity, of: ownAccount, key: ['id'], kinds: account },
  { table: agentStatistics, of: ownAgents, key: ['agent', 'unit', 'bucket'], kinds: agent },
  {
    // What is deleted says no more whose it was. Of other accounts there is nothing to erase on the other shard.
    table: erasures,
    of: () => sql`kind in (${codeOf(ERASURE_KINDS, 'agent')}, ${codeOf(ERASURE_KINDS, 'webhook')})`,
    key: ['id'],
    kinds: {
      id: 'left out',
      number: sql`number + iif(kind = ${codeOf(ERASURE_KINDS, 'agent')}, agent_shift, webhook_shift)`,
    },
    stays: true,
  },
  {
    table: storedAnswers,
    of: ({ number, id }) =>
      sql`subject in (select ${blob(id)} union all select id from agents where account = ${raw(number)})`,
    key: ['principal', 'key'],
  },
  {
    // Files in the making are begun anew, as what was saved of them tells of positions: their content is settled.
    table: files,
    of: ownAccount,
    key: ['kind', 'id'],
    kinds: {
      ...account,
      agent: sql`iif(agent > 0, agent + agent_shift, agent)`,
      state: sql`iif(status = ${processing}, null, state)`,
      upload_id: sql`iif(status = ${processing}, null, upload_id)`,
    },
  },
  { table: fileOutcomes, of: ownAccount, key: ['kind', 'id'], kinds: account },
  {
    table: webhooks,
    of: ownAccount,
    key: ['id'],
    kinds: { ...account, number: 'webhook', starts_after: 'position' },
  },
  { table: webhookFeeds, of: ownAccount, key: ['account'], kinds: { ...account, position: 'position' } },
  {
    table: deliveries,
    of: ({ number }) => sql`webhook in (select number from webhooks where account = ${raw(number)})`,
    key: ['webhook', 'id'],
    kinds: { ...agent, webhook: 'webhook', pos: 'position' },
  },
  { table: accounts, of: ({ number }) => sql`number = ${raw(number)}`, key: ['number'], kinds: { number: 'account' } },
];

/** Selects some rows after a key, each as a JSON array of its columns as the other shard is to have them, and its key. */
export function selectRows(
  { table, of, key, kinds = {} }: MovedTable,
  account: MovedAccount,
  after: string | null,
  shifts: Shifts,
  limit: number,
): SQL {
  const columns = copiedColumns(table, kinds).map((name) => encode(table, name, shifted(name, kinds[name])));
  const own = sql`(${key.map(identifier).reduce(joinByComma)})`;
  const bound = sql`(${key.map((name, i) => decode(table, name, sql`${after} ->> ${raw(i)}`)).reduce(joinByComma)})`;
  const places = sql`(select ${raw(shifts.agent)} as agent_shift, ${raw(shifts.webhook)} as webhook_shift,
    ${raw(shifts.account)} as account_shift)`;
  return sql`
    select json_array(${columns.reduce(joinByComma)}) as copied_row,
      json_array(${key.map((name) => encode(table, name, identifier(name))).reduce(joinByComma)}) as copied_key
    from ${table} cross join ${places}
    where ${of(account)} ${after === null ? sql`` : sql`and ${own} > ${bound}`}
    order by ${key.map(identifier).reduce(joinByComma)} limit ${raw(limit)}`;
}

/** Inserts rows that {@link selectRows} gave, as a JSON array of them. */
export function insertRows({ table, kinds = {} }: MovedTable, rows: string): SQL {
  const names = copiedColumns(table, kinds);
  const values = names.map((name, i) => decode(table, name, sql`value ->> ${raw(i)}`));
  // What the operator was answered here before the account left for the first time has stayed.
  const verb = table === storedAnswers ? sql`insert or ignore` : sql`insert`;
  return sql`${verb} into ${table} (${names.map(identifier).reduce(joinByComma)})
    select ${values.reduce(joinByComma)} from json_each(${rows})`;
}

/** What is left of an account in a table, some of it or all, as SQL after `delete` or `select`; null where rows stay. */
export function findRest({ table, of, key, stays }: MovedTable, account: MovedAccount) {
  if (stays) return null;
  const columns = key.map(identifier).reduce(joinByComma);
  // An account that is made twice with one idempotency key is made once: that answer is looked for where it was given.
  const leaves = table === storedAnswers ? sql`and principal <> ${OPERATOR}` : sql``;
  const all = sql`from ${table} where ${of(account)} ${leaves}`;
  const some = (limit: number) =>
    sql`from ${table} where (${columns}) in (select ${columns} ${all} limit ${raw(limit)})`;
  return { all, some };
}

const OPERATOR = sql.raw(`x'${toHex(new TextEncoder().encode('operator'))}'`);

function copiedColumns(table: Table, kinds: Record<string, Kind>): string[] {
  const names = Object.values(getTableColumns(table)).map(({ name }) => name);
  return names.filter((name) => kinds[name] !== 'left out');
}

function shifted(name: string, kind: Kind | undefined): SQL {
  const column = identifier(name);
  if (kind === 'account') return sql`${column} + account_shift`;
  if (kind === 'agent') return sql`${column} + agent_shift`;
  if (kind === 'webhook') return sql`${column} + webhook_shift`;
  if (kind === 'position') return sql`${column} + account_shift * ${span}`;
  return typeof kind === 'object' ? kind : column;
}

function isBlob(table: Table, name: string): boolean {
  return Object.values(getTableColumns(table)).some((column) => column.name === name && column.getSQLType() === 'blob');
}

/** JSON knows no bytes. */
function encode(table: Table, name: string, value: SQL): SQL {
  return isBlob(table, name) ? sql`iif(${value} is null, null, hex(${value}))` : value;
}

function decode(table: Table, name: string, value: SQL): SQL {
  return isBlob(table, name) ? sql`unhex(${value})` : value;
}

function joinByComma(list: SQL, item: SQL): SQL {
  return sql`${list}, ${item}`;
}

function identifier(name: string): SQL {
  return sql`${sql.identifier(name)}`;
}

/** A number as part of the statement: bound ones are REAL. */
function raw(number: number): SQL {
  return sql.raw(String(number));
}

function blob(id: Id<'user'>): SQL {
  return sql.raw(`x'${toHex(idBytes(id))}'`);
}

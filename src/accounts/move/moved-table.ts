import { type SQL, sql, type Table } from 'drizzle-orm';
import type { MOVED_NUMBERS } from '../../db/schema';
import { toHex } from '../../lib/bytes';
import { type Id, idBytes, type Prefix } from '../../lib/typeid';

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
 * How a column is copied whose value depends on the shard: renumbered, as the number of the
 * account, an agent or a receiver, or as a position in the log, which contains the account's number
 * (see {@link LOG_SPAN}); not at all (`left out`); or as the value of an SQL expression.
 */
export type ColumnRule = 'account' | NumberedKind | 'position' | 'left out' | SQL;

/** The way to find the rows of one account in a table. */
export type OwnRows =
  /** A condition that only these rows meet. */
  | { condition: (account: MovedAccount) => SQL }
  /** Their parents, which the first key column names: a select with the one column `parent`. */
  | { parents: (account: MovedAccount) => SQL }
  /** Their place in the order of keys, in a table whose key contains the account's number. */
  | { keyRange: (account: MovedAccount) => KeyRange };

/** The keys after `after` and before `before`. Each is a JSON array of the key columns. */
export interface KeyRange {
  after: string;
  before: string;
}

/** A table that is copied when an account moves. */
export interface MovedTable {
  table: Table;
  ownRows: OwnRows;
  /** The condition for those of the account's rows that are copied; without it, all are. */
  rowsToCopy?: (account: MovedAccount) => SQL;
  /** The key columns, without the account. */
  key: readonly string[];
  /** How columns are copied, by name. A column without a rule is copied unchanged. */
  columnRules?: Record<string, ColumnRule>;
  /**
   * The column with the id of a permission, in a table that has a column for the account too. Rows
   * of the permissions that new entries are about are copied again.
   */
  permissionColumn?: 'id' | 'permission';
  /** Narrows the search for the rows of some permissions to an index of the table. */
  rowsOfPermissions?: (account: MovedAccount, ids: SQL) => SQL;
  /** Whether the new shard may have older copies of the rows, which are replaced. */
  replaces?: boolean;
}

/** The condition for the rows of the account, in a table with a column for it. */
export const isOfAccount = ({ number }: Pick<MovedAccount, 'number'>) =>
  sql`account = ${raw(number)}`;

/** The rows with the account's number. */
export const ofAccount: OwnRows = { condition: isOfAccount };

/** The rows whose parents are the account's agents, by number. */
export const ofAgents: OwnRows = {
  parents: ({ number }) => sql`select number as parent from agents where account = ${raw(number)}`,
};

/** The rows whose parents are the account's receivers, by number. */
export const ofReceivers: OwnRows = {
  parents: ({ number }) =>
    sql`select number as parent from receivers where account = ${raw(number)}`,
};

/** The rows whose parents are the account and its agents, by id. */
export const ofSubjects: OwnRows = {
  parents: ({ number, id }) =>
    sql`select ${blob(id)} as parent
      union all select id from agents where account = ${raw(number)}`,
};

/** The rule of a table with a column for the account. */
export const renumberAccount = { account: 'account' } as const;

/** The rule of a table with a column for the agent. */
export const renumberAgent = { agent: 'agent' } as const;

/** A number as part of the statement text. Bound numbers would be REAL. */
export function raw(number: number): SQL {
  return sql.raw(String(number));
}

/** An id as part of the statement text. */
export function blob(id: Id<Prefix>): SQL {
  return sql.raw(`x'${toHex(idBytes(id))}'`);
}

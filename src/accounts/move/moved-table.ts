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

/** The condition that finds the rows of the account. */
export const ownAccount = ({ number }: Pick<MovedAccount, 'number'>) =>
  sql`account = ${raw(number)}`;

/** Selects the numbers of the account's agents. */
export const ownAgents = ({ number }: MovedAccount) =>
  sql`select number as parent from agents where account = ${raw(number)}`;

/** Selects the numbers of the account's webhooks. */
export const ownWebhooks = ({ number }: MovedAccount) =>
  sql`select number as parent from webhooks where account = ${raw(number)}`;

/** Selects the ids of the account and its agents. */
export const ownSubjects = ({ number, id }: MovedAccount) =>
  sql`select ${blob(id)} as parent union all select id from agents where account = ${raw(number)}`;

/** The numbers in a table with a column for the account. */
export const account = { account: 'account' } as const;

/** The numbers in a table with a column for the agent. */
export const agent = { agent: 'agent' } as const;

/** A number as part of the statement text. Bound numbers would be REAL. */
export function raw(number: number): SQL {
  return sql.raw(String(number));
}

/** An id as part of the statement text. */
export function blob(id: Id<Prefix>): SQL {
  return sql.raw(`x'${toHex(idBytes(id))}'`);
}

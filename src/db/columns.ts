import { type Column, type GetColumnData, getTableName, type SQL, sql } from 'drizzle-orm';
import { customType } from 'drizzle-orm/sqlite-core';
import { toHex } from '../lib/bytes';
import { formatId, type Id, idBytes, type Prefix } from '../lib/typeid';

/** The driver's form of a blob: D1 returns an array of numbers. */
type DriverBlob = Uint8Array | number[];

/** Makes a column for identifiers of one kind, stored as their 16 bytes. */
export function idColumn<P extends Prefix>(prefix: P) {
  return customType<{ data: Id<P>; driverData: DriverBlob }>({
    dataType: () => 'blob',
    toDriver: (id) => idBytes(id),
    fromDriver: (bytes) => formatId(prefix, bytes),
  });
}

/** A column for bytes. */
export const bytesColumn = customType<{ data: Uint8Array; driverData: DriverBlob }>({
  dataType: () => 'blob',
  fromDriver: (bytes) => new Uint8Array(bytes),
});

/**
 * Makes a column for one of a list of words, stored as its index in the list: append to a list,
 * never reorder it.
 */
export function codeColumn<const W extends readonly string[]>(words: W) {
  return customType<{ data: W[number]; driverData: number }>({
    dataType: () => 'integer',
    toDriver: (word) => words.indexOf(word),
    fromDriver: (code) => {
      const word = words[code];
      if (word === undefined)
        throw new Error(`${code} is not the code of any of ${words.join(', ')}`);
      return word;
    },
  });
}

/**
 * Selects a column under an alias: D1 returns rows as objects, in which two columns of one name
 * would collide. Drizzle also needs it where `from` is raw SQL, such as `permissions indexed by …`.
 */
export function aliased<C extends Column>(column: C, name: string): SQL.Aliased<GetColumnData<C>> {
  return sql<GetColumnData<C>>`${column}`.mapWith(column).as(name) as SQL.Aliased<GetColumnData<C>>;
}

/**
 * Selects a column of bytes or ids as hexadecimal digits, and decodes these. That takes less CPU
 * time than the array of numbers that D1 returns otherwise. Select it once in a query: it has an
 * alias, as {@link aliased}.
 */
export function asHex<C extends Column>(column: C): SQL.Aliased<GetColumnData<C>> {
  const name = `${getTableName(column.table)}_${column.name}_hex`;
  const decode = (digits: string) => column.mapFromDriverValue(Uint8Array.fromHex(digits));
  // The digits of null would be an empty text.
  const digits = sql`iif(${column} is null, null, hex(${column}))`;
  return digits.mapWith(decode).as(name) as SQL.Aliased<GetColumnData<C>>;
}

/**
 * A list of numbers for `in`, as SQL. It may be of any length, whereas D1 binds at most 100
 * parameters.
 */
export function numberList(numbers: Iterable<number>): SQL {
  return sql`(select value from json_each(${JSON.stringify([...numbers])}))`;
}

/** The stored form of an id, as SQL; SQL is taken as it is. */
export function idSql(id: Id<Prefix> | SQL): SQL {
  if (typeof id === 'string') return sql`${idBytes(id)}`;
  return id;
}

/** A list of ids for `in`, as SQL. It may be of any length, as {@link numberList}. */
export function idList(ids: readonly Id<Prefix>[]): SQL {
  return sql`(select unhex(value) from json_each(${JSON.stringify(ids.map((id) => toHex(idBytes(id))))}))`;
}

/** The code that a {@link codeColumn} stores for a word, as an SQL literal. */
export function codeOf<const W extends readonly string[]>(words: W, word: W[number]): SQL<number> {
  return sql.raw(String(words.indexOf(word))) as SQL<number>;
}

/** The codes of words, separated by commas: see {@link codeOf}. */
export function codesOf<const W extends readonly string[]>(
  words: W,
  chosen: readonly W[number][],
): SQL {
  return sql.join(
    chosen.map((word) => codeOf(words, word)),
    sql`, `,
  );
}

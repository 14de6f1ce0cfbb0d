import { Column, type DriverValueDecoder, is, SQL, Subquery } from 'drizzle-orm';

/** A statement that Drizzle has prepared; these are internals of Drizzle. */
export interface Mapping {
  /** `all` if the statement returns rows. */
  executeMethod?: string;
  /** The selected fields, in the order of the columns. */
  fields?: readonly SelectedField[];
  /** Turns the result of D1 into the rows that a caller gets. */
  mapResult: ResultMapper;
}

export type ResultMapper = (result: D1Result, isFromBatch: true) => unknown;

interface SelectedField {
  /** The names under which the value is found in the row. */
  path: readonly string[];
  field: unknown;
}

interface SelectedColumn {
  name: string;
  /** Its place in the row of D1. */
  place: number;
  decoder: Decoder;
}

type Decoder = DriverValueDecoder<unknown, unknown>;

/**
 * Returns the function that makes rows of the result of D1, as Drizzle would. Drizzle finds out how
 * to decode a column for each row again; this does so once for the statement.
 */
export function resultMapper(prepared: Mapping): ResultMapper {
  const { executeMethod, fields } = prepared;
  const isFlat = fields?.every(({ path }) => path.length === 1);
  // Drizzle has rules of its own for objects within a row.
  if (executeMethod !== 'all' || !fields || !isFlat)
    return (result) => prepared.mapResult(result, true);
  const columns = fields.map(({ path: [name = ''], field }, place) => {
    return { name, place, decoder: decoderOf(field) };
  });
  return ({ results }) => (results as object[]).map((row) => mapRow(columns, Object.values(row)));
}

function mapRow(columns: SelectedColumn[], values: unknown[]): object {
  const row: Record<string, unknown> = {};
  for (const { name, place, decoder } of columns) {
    const value = values[place];
    row[name] = value === null ? null : decoder.mapFromDriverValue(value);
  }
  return row;
}

function decoderOf(field: unknown): Decoder {
  if (is(field, Column)) return field;
  if (is(field, Subquery)) return sqlDecoder(field._.sql);
  if (is(field, SQL.Aliased)) return sqlDecoder(field.sql);
  return sqlDecoder(field);
}

function sqlDecoder(field: unknown): Decoder {
  return (field as { decoder: Decoder }).decoder;
}

import type { Column, Schema, Table } from './schema.ts';

/**
 * Lists, in words, how a change of the schema breaks a program that was written for the old schema:
 * `drops the column sessions.member`. Such a program may name every old table, column and index in
 * its statements, and stores no values in new columns.
 *
 * Compares the two schemas rather than the statements between them: a table that is rebuilt and
 * renamed breaks nothing if it has all that it had. What happens to the rows is not looked at.
 */
export function findBreaks(before: Schema, after: Schema): string[] {
  const breaks: string[] = [];
  for (const table of before.tables.values()) {
    const changed = after.tables.get(table.name);
    if (changed) breaks.push(...compareTables(table, changed));
    else breaks.push(`drops the table ${table.name}`);
  }
  const isOld = ({ table }: { table: string }) => before.tables.has(table);
  const isKept = ({ table }: { table: string }) => after.tables.has(table);
  for (const index of [...before.indexes.values()].filter(isKept)) {
    const changed = after.indexes.get(index.name);
    if (!changed) breaks.push(`drops the index ${index.name}`);
    else if (changed.sql !== index.sql) breaks.push(`changes the index ${index.name}`);
  }
  for (const index of [...after.indexes.values()].filter(isOld)) {
    const isNew = !before.indexes.has(index.name);
    if (isNew && /^create unique/i.test(index.sql))
      breaks.push(`adds the unique index ${index.name} to ${index.table}`);
  }
  for (const trigger of [...before.triggers.values()].filter(isKept)) {
    const changed = after.triggers.get(trigger.name);
    if (!changed) breaks.push(`drops the trigger ${trigger.name}`);
    else if (changed.sql !== trigger.sql) breaks.push(`changes the trigger ${trigger.name}`);
  }
  for (const trigger of [...after.triggers.values()].filter(isOld)) {
    const isNew = !before.triggers.has(trigger.name);
    if (isNew && trigger.sql.includes('RAISE'))
      breaks.push(`adds the trigger ${trigger.name}, which refuses writes, to ${trigger.table}`);
  }
  return breaks;
}

/**
 * The constraints that a program can rely on: a statement can name the columns of a UNIQUE
 * constraint in ON CONFLICT, and a foreign key can delete or change the rows that refer to another
 * one. Without any other constraint, only more is allowed.
 */
const RELIED_ON_CONSTRAINT = /^UNIQUE|^FOREIGN KEY .* ON (UPDATE|DELETE) (CASCADE|SET)/;

function compareTables(before: Table, after: Table): string[] {
  const breaks: string[] = [];
  for (const column of before.columns.values()) {
    const name = `${before.name}.${column.name}`;
    const changed = after.columns.get(column.name);
    if (!changed) breaks.push(`drops the column ${name}`);
    else if (changed.type !== column.type) breaks.push(`changes the type of ${name}`);
    else if (changed.isRequired && !column.isRequired) breaks.push(`makes ${name} NOT NULL`);
    else if (needsValue(changed) && !needsValue(column))
      breaks.push(`takes the default from ${name}`);
  }
  for (const column of after.columns.values()) {
    if (!before.columns.has(column.name) && needsValue(column))
      breaks.push(
        `adds the column ${before.name}.${column.name}, which is NOT NULL without a default`,
      );
  }
  if (keyOf(before) !== keyOf(after)) breaks.push(`changes the primary key of ${before.name}`);
  for (const constraint of after.constraints) {
    if (!before.constraints.has(constraint)) breaks.push(`adds ${constraint} to ${before.name}`);
  }
  for (const constraint of before.constraints) {
    if (RELIED_ON_CONSTRAINT.test(constraint) && !after.constraints.has(constraint))
      breaks.push(`drops ${constraint} from ${before.name}`);
  }
  return breaks;
}

/**
 * Whether a row cannot be inserted without a value for the column. SQLite itself numbers an integer
 * key.
 */
export function needsValue(column: Column): boolean {
  return column.isRequired && !column.hasDefault;
}

function keyOf(table: Table): string {
  const key = [...table.columns.values()].filter(({ keyPlace }) => keyPlace > 0);
  return key
    .sort((a, b) => a.keyPlace - b.keyPlace)
    .map(({ name }) => name)
    .join();
}

import { findBreaks, needsValue } from './find-breaks.ts';
import { buildDatabase, contractionReason, type Migration } from './migration.ts';
import { readSchema, type Schema } from './schema.ts';

/**
 * Lists where migrations do not follow the rule of expand and contract, which lets two versions of
 * the service work on one schema while one replaces the other:
 *
 * - A migration only adds, unless it is marked as a contraction: a line `-- contract: <reason>`.
 * - A contraction is applied after the version that contains it has been deployed. So that version
 *   works with it and without it: it adds nothing, and drops no column that needs a value.
 * - The other migrations do not depend on contractions, because they are applied first.
 */
export function checkContractions(migrations: readonly Migration[]): string[] {
  const faults: string[] = [];
  const applied: Migration[] = [];
  let before = readSchema(buildDatabase(applied));
  for (const migration of migrations) {
    applied.push(migration);
    const after = readSchema(buildDatabase(applied));
    const found = contractionReason(migration)
      ? findContractionFaults(before, after)
      : findBreaks(before, after).map(
          (fault) =>
            `${fault}: the running version may need it. A contraction says so: -- contract: <reason>`,
        );
    faults.push(...found.map((fault) => `${migration.name} ${fault}`));
    before = after;
  }
  return [...faults, ...findOrderFaults(migrations)];
}

/**
 * Lists what a contraction does that the version which contains it cannot do without, or alongside.
 */
function findContractionFaults(before: Schema, after: Schema): string[] {
  const faults =
    findBreaks(before, after).length > 0
      ? []
      : ['is marked as a contraction, but takes nothing away'];
  for (const table of after.tables.values()) {
    const old = before.tables.get(table.name);
    const added = old ? [...table.columns.keys()].filter((name) => !old.columns.has(name)) : [''];
    for (const name of added) {
      const what = name === '' ? `the table ${table.name}` : `the column ${table.name}.${name}`;
      faults.push(
        `adds ${what} and is a contraction: the version that needs it runs before. Use two migrations.`,
      );
    }
    for (const column of old?.columns.values() ?? []) {
      if (!table.columns.has(column.name) && needsValue(column))
        faults.push(
          `drops the column ${table.name}.${column.name}, which is NOT NULL without a default: the version that does not ` +
            'know it runs before and cannot insert. First make it nullable, in a migration that is no contraction.',
        );
    }
  }
  return faults;
}

/** Reports when applying contractions last yields another schema. */
function findOrderFaults(migrations: readonly Migration[]): string[] {
  const isLate = (migration: Migration) => contractionReason(migration) !== null;
  if (!migrations.some(isLate)) return [];
  const late = [
    ...migrations.filter((migration) => !isLate(migration)),
    ...migrations.filter(isLate),
  ];
  const hint = 'Contractions are applied last, so no other migration may depend on one.';
  try {
    const [inOrder, contractedLast] = [migrations, late].map((order) =>
      describe(readSchema(buildDatabase(order))),
    );
    return inOrder === contractedLast
      ? []
      : [`The schema depends on when the contractions are applied. ${hint}`];
  } catch (error) {
    return [`${error instanceof Error ? error.message : error}. ${hint}`];
  }
}

/** A text that is equal for equal schemas. The order of columns does not count. */
function describe({ tables, indexes, triggers }: Schema): string {
  const parts = [
    ...[...tables.values()].flatMap(({ name, columns, constraints }) => [
      ...[...columns.values()].map((column) => `${name} ${JSON.stringify(column)}`),
      ...[...constraints].map((constraint) => `${name} ${constraint}`),
    ]),
    ...[...indexes.values(), ...triggers.values()].map(({ sql }) => sql),
  ];
  return parts.sort().join('\n');
}

import { UserError } from '../user-error.ts';
import { findBreaks } from './find-breaks.ts';
import { buildDatabase, contractionReason, type Migration, numberOf } from './migration.ts';
import { readSchema } from './schema.ts';

/**
 * Milliseconds for which the replaced version may still be at work: a queue consumer has 15
 * minutes.
 */
const LONGEST_RUN = 15 * 60_000;

/** A version of the service that is deployed. */
export interface RunningVersion {
  /**
   * The number of its newest migration; null if it does not say, because it was deployed by hand.
   */
  newestMigration: number | null;
  /** When it was deployed, in milliseconds since the epoch. */
  since: number;
}

/** A contraction that is not applied yet. */
export interface HeldMigration {
  name: string;
  reason: string;
}

/**
 * The migrations of a folder, divided into those that are applied before the new version runs, and
 * those that wait.
 */
export interface MigrationPlan {
  /** All that a database has after this deployment, applied ones included. */
  resulting: Migration[];
  held: HeldMigration[];
}

/**
 * Decides which migrations a deployment applies. A contraction waits until every running version
 * has known it for 15 minutes; all others are applied at once.
 * @param applied the names of the migrations that at least one database has
 * @param running the versions that share the traffic; none if the service is not deployed
 * @throws UserError if a migration would break a running version, or a database is ahead of this
 *   folder
 */
export function planMigrations(
  migrations: readonly Migration[],
  applied: ReadonlySet<string>,
  running: readonly RunningVersion[],
  now: number,
): MigrationPlan {
  const unknown = [...applied].filter(
    (name) => !migrations.some((migration) => migration.name === name),
  );
  if (unknown.length > 0)
    throw new UserError(
      `The databases have migrations that this folder does not have: ${unknown.join(', ')}.\n` +
        'A newer version was deployed. Deploy that one or a later one; npx wrangler rollback goes back without migrating.',
    );
  const isKnown = (migration: Migration) =>
    running.every(
      ({ newestMigration, since }) =>
        newestMigration !== null &&
        newestMigration >= numberOf(migration) &&
        now - since >= LONGEST_RUN,
    );
  const isHeld = (migration: Migration) =>
    !applied.has(migration.name) && contractionReason(migration) !== null && !isKnown(migration);
  const resulting = migrations.filter((migration) => !isHeld(migration));
  if (running.length > 0) requireCompatible(resulting, applied);
  const held = migrations.filter(isHeld);
  return {
    resulting,
    held: held.map((migration) => ({
      name: migration.name,
      reason: contractionReason(migration) ?? '',
    })),
  };
}

/**
 * Refuses migrations that are not marked as contractions but would break the running version.
 * @throws UserError
 */
function requireCompatible(resulting: readonly Migration[], applied: ReadonlySet<string>): void {
  const done = resulting.filter(({ name }) => applied.has(name));
  for (const migration of resulting.filter(({ name }) => !applied.has(name))) {
    const before = readSchema(buildDatabase(done));
    done.push(migration);
    if (contractionReason(migration) !== null) continue;
    const breaks = findBreaks(before, readSchema(buildDatabase(done)));
    if (breaks.length > 0)
      throw new UserError(
        `The migration ${migration.name} would break the version that is running, because it ${breaks.join(', and ')}.\n` +
          'Nothing was changed. Divide the change: first a version that works without it, then a migration with the line\n' +
          '-- contract: <reason>, as .github/CONTRIBUTING.md shows.',
      );
  }
}

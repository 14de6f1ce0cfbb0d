import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { numberOf, readMigrations } from '../migrations/migration.ts';
import { ROOT } from '../project.ts';

/** The files that a version is built from, besides its configuration. */
const SOURCES = ['src', 'package-lock.json', 'tsconfig.json'];

/** The end of the names of the files in which the compiler remembers what it has checked. */
const BUILD_INFO = '.tsbuildinfo';

/**
 * A tag for the version of the Worker that this folder makes: the number of its newest migration,
 * and a digest of its sources and configuration, as `0000-3f9c2ab81d04`. Two folders with one tag
 * make the same version.
 */
export function versionTag(configuration: string): string {
  const hash = createHash('sha256').update(configuration);
  for (const path of SOURCES.flatMap(listFiles).sort()) {
    hash.update(`\0${path}\0`).update(readFileSync(join(ROOT, path)));
  }
  const newest = Math.max(...readMigrations().map(numberOf));
  return `${String(newest).padStart(4, '0')}-${hash.digest('hex').slice(0, 12)}`;
}

/** The paths of a file, or of all sources in a folder, with `/` on every system. */
function listFiles(name: string): string[] {
  if (name.includes('.')) return [name];
  return readdirSync(join(ROOT, name), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith(BUILD_INFO))
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length).replaceAll('\\', '/'));
}

import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../../src/tools/project.ts';

const COPIED = ['src', 'migrations', 'package.json', 'package-lock.json', 'tsconfig.json'];

export const DATABASES = ['DB', 'DB_01'];

/**
 * Copies the project to a folder and configures two shards. Its programs keep their data there, and
 * edits of the original during a run have no effect.
 * @returns the folder of its data
 */
export function copyProject(folder: string): string {
  for (const name of COPIED) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const shipped = readFileSync(join(ROOT, 'wrangler.toml'), 'utf8');
  const settings = shipped.replace(/^# \[\[d1_databases\]\]\n(# .+\n)+/m, (second) =>
    second.replaceAll(/^# /gm, ''),
  );
  if (settings === shipped)
    throw new Error('wrangler.toml has no second database to be uncommented');
  writeFileSync(join(folder, 'wrangler.toml'), settings);
  const state = join(folder, '.wrangler/state');
  mkdirSync(state, { recursive: true });
  return state;
}

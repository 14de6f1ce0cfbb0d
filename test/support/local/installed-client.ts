import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { buildClient } from '../../../src/tools/client/build';
import { ROOT } from '../../../src/tools/project';

export const run = promisify(execFile);

/** Makes the npm package, and an empty project in which it is installed. Returns their paths. */
export async function installClient(folder: string): Promise<{ built: string; project: string }> {
  const [built, project] = [join(folder, 'client'), join(folder, 'project')];
  await buildClient(built);
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }');
  await run('npm', ['pack', built, '--pack-destination', folder]);
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz')) as string;
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', join(folder, tarball)], {
    cwd: project,
  });
  return { built, project };
}

/** Makes packages of this repository available to a project. */
export function linkPackages(project: string, ...names: string[]): void {
  for (const name of names) {
    const path = join(project, 'node_modules', name);
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), path);
  }
}

/** Puts a package with one module into a project. */
export function addPackage(project: string, name: string, source: string): void {
  const path = join(project, 'node_modules', name);
  mkdirSync(path, { recursive: true });
  writeFileSync(
    join(path, 'package.json'),
    JSON.stringify({ name, version: '1.0.0', type: 'module', main: 'index.js' }),
  );
  writeFileSync(join(path, 'index.js'), source);
}

// Runs on any Node version and before anything is installed, so it is plain JavaScript.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const OLDEST_NODE = 20;
const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * @typedef {Record<string, { version?: string, integrity?: string, link?: boolean, optional?:
 *   boolean }>} Packages
 */

/**
 * The packages of a lock file by their paths; null if the file is missing or truncated.
 * @param {string} file
 * @returns {Packages | null}
 */
function readPackages(file) {
  try {
    return JSON.parse(readFileSync(join(root, file), 'utf8')).packages ?? null;
  } catch {
    return null;
  }
}

/**
 * A message that says how the installed packages differ from the lock file; null if they do not.
 * Compares npm's record of its last installation with the lock file, because file times change with
 * every checkout and copy.
 * @returns {string | null}
 */
function findFault() {
  const installed = readPackages('node_modules/.package-lock.json');
  if (!installed) return 'nothing is installed yet';
  const locked = readPackages('package-lock.json') ?? {};
  for (const [path, { version, integrity, optional }] of Object.entries(locked)) {
    const present = installed[path];
    // npm omits optional packages that are for other systems.
    if (path === '' || (!present && optional)) continue;
    if (present?.version !== version || (present?.integrity ?? integrity) !== integrity) {
      return `${path.replace(/^node_modules\//, '')} differs from package-lock.json`;
    }
  }
  const foreign = Object.keys(installed).find((path) => !locked[path]);
  if (foreign) return `${foreign.replace(/^node_modules\//, '')} is not in package-lock.json`;
  return existsSync(join(root, 'node_modules/.bin/node'))
    ? null
    : 'the installation was not finished';
}

/** Installs with the npm that runs this script. Returns its exit code. */
function install() {
  const npm = process.env.npm_execpath ?? '';
  // Node 24 comes with the packages and runs the tools, so npm's warnings about this machine's Node
  // would mislead.
  const options = ['ci', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status } = npm.endsWith('npm-cli.js')
    ? spawnSync(process.execPath, [npm, ...options], { cwd: root, stdio: 'inherit' })
    : spawnSync('npm', options, {
        cwd: root,
        stdio: 'inherit',
        shell: process.platform === 'win32',
      });
  return status ?? 1;
}

/**
 * Installs the packages unless exactly those of the lock file are there.
 * @returns {{ status: number, isNew: boolean }} the exit code, 0 when they are there, and whether
 *   they were installed just now
 */
export function ensureInstalled() {
  const [major = ''] = process.versions.node.split('.');
  if (Number(major) < OLDEST_NODE) {
    console.error(
      `Countersign needs Node ${OLDEST_NODE} or newer; this is Node ${process.versions.node}.`,
    );
    return { status: 1, isNew: false };
  }
  const fault = findFault();
  if (!fault) return { status: 0, isNew: false };
  console.log(`Installing packages (${fault}) …`);
  return { status: install(), isNew: true };
}

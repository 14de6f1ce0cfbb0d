import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from './project.ts';
import { UserError } from './user-error.ts';

const FILE = join(ROOT, '.wrangler/state/running.json');

/** A service that runs from this folder. */
interface Instance {
  pid: number;
  origin: string;
}

/**
 * Claims this folder's data for one service: two on the same files would get into each other's way.
 * @returns gives the claim back
 * @throws UserError when another service runs from this folder
 */
export function claimFolder(origin: string): () => void {
  const other = findInstance();
  if (other) throw new UserError(`Countersign runs from this folder already: ${other.origin} (pid ${other.pid}).`);
  mkdirSync(dirname(FILE), { recursive: true });
  writeFileSync(FILE, JSON.stringify({ pid: process.pid, origin } satisfies Instance));
  return () => rmSync(FILE, { force: true });
}

/** The service that runs from this folder; null when none does. */
export function findInstance(): Instance | null {
  try {
    const instance = JSON.parse(readFileSync(FILE, 'utf8')) as Instance;
    process.kill(instance.pid, 0);
    return instance;
  } catch {
    return null;
  }
}

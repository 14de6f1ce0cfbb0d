import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, readJsonFile, writeJsonFile } from './project.ts';
import { UserError } from './user-error.ts';

const FILE = join(ROOT, '.wrangler/state/running.json');

/** A running service of this folder. */
interface Instance {
  pid: number;
  origin: string;
}

/**
 * Claims this folder for one service, because two would write to the same files.
 * @returns a function that ends the claim
 * @throws UserError if another service runs from this folder
 */
export function claimFolder(origin: string): () => void {
  const other = findInstance();
  if (other)
    throw new UserError(
      `Countersign runs from this folder already: ${other.origin} (pid ${other.pid}).`,
    );
  writeJsonFile(FILE, { pid: process.pid, origin } satisfies Instance);
  return () => rmSync(FILE, { force: true });
}

/** The service that runs from this folder; null if there is none. */
export function findInstance(): Instance | null {
  const instance = readJsonFile<Instance>(FILE);
  try {
    if (instance) process.kill(instance.pid, 0);
    return instance;
  } catch {
    return null;
  }
}

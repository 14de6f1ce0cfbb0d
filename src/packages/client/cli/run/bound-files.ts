import { createHash } from 'node:crypto';
import { createReadStream, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { systemCode } from '../failures.ts';

/** A file that an approval is bound to. */
export interface BoundFile {
  path: string;
  digest: string;
}

/** The files of a command to which an approval is bound. */
export interface BoundFiles {
  files: BoundFile[];
  /** The files that could not be bound, and why, for the person who decides. */
  not_bound: string[];
}

/**
 * Reads the executable of a command, and the files that its arguments name: `deploy.sh`, or
 * `--config=deploy.toml`.
 * @param executable the path of the executable; null if it is not known
 */
export async function bindFiles(
  executable: string | null,
  args: string[],
  cwd: string,
): Promise<BoundFiles> {
  const bound: BoundFiles = { files: [], not_bound: [] };
  if (executable === null)
    bound.not_bound.push('the executable: it is found only when it is started');
  else await bind(executable, cwd, bound);
  const named = new Set<string>();
  for (const argument of args) {
    const [, value = ''] = /^-[^=]*=(.+)$/s.exec(argument) ?? [];
    named.add(argument).add(value);
  }
  for (const path of named) {
    if (exists(path, cwd)) await bind(path, cwd, bound);
  }
  return bound;
}

/** Returns the first file that is no longer what was bound; null if all are. */
export async function findChangedFile({ files }: BoundFiles, cwd: string): Promise<string | null> {
  for (const { path, digest } of files) {
    const current = await digestOfFile(resolve(cwd, path)).catch(() => null);
    if (current !== digest) return path;
  }
  return null;
}

async function bind(path: string, cwd: string, bound: BoundFiles): Promise<void> {
  const absolutePath = resolve(cwd, path);
  try {
    // Reading a device or a pipe would consume the command's input.
    if (!statSync(absolutePath).isFile()) bound.not_bound.push(`${path}: it is not a regular file`);
    else bound.files.push({ path, digest: await digestOfFile(absolutePath) });
  } catch (error) {
    bound.not_bound.push(`${path}: it cannot be read (${systemCode(error)})`);
  }
}

function exists(path: string, cwd: string): boolean {
  try {
    return path !== '' && statSync(resolve(cwd, path), { throwIfNoEntry: false }) !== undefined;
  } catch {
    // Too long for a path, or with a part that is no folder.
    return false;
  }
}

/** Returns the digest of a file in the form of an input digest. */
async function digestOfFile(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return `sha-256:${hash.digest('base64url')}`;
}

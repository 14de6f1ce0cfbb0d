import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { Failure } from './failures.ts';
import type { Io } from './io.ts';

/**
 * Reads a file as text; `-` is stdin.
 * @param name what an error calls the file; by default its path
 */
export async function readInput(
  { stdin }: Pick<Io, 'stdin'>,
  file: string,
  name = file,
): Promise<string> {
  if (file === '-') return await text(stdin);
  return await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Failure(`${name} cannot be read (${error.code}).`);
  });
}

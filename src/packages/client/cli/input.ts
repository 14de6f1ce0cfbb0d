import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { Failure } from './failures.ts';
import type { Io } from './io.ts';

/** Reads a file as text; `-` is stdin. */
export async function readInput({ stdin }: Pick<Io, 'stdin'>, file: string): Promise<string> {
  if (file === '-') return await text(stdin);
  return await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Failure(`${file} cannot be read (${error.code}).`);
  });
}

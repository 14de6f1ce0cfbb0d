import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

const NAME = 'COUNTERSIGN_API_KEY';

/**
 * The places of env_start and env_end in /proc/self/stat, counted after the name of the program
 * (proc(5)).
 */
const ENV_START = 47;

/**
 * Overwrites the key in the environment that this process was started with. On Linux a program that
 * this one starts could otherwise read it from /proc/<parent>/environ, although its own environment
 * has no key.
 *
 * Deleting the variable is not enough: /proc shows the memory in which the kernel put the
 * environment. The key stays in the memory of this process, so a command that may trace its parent
 * can still find it.
 * @returns whether no other process can read the key there; false on systems without /proc
 */
export function hideKey(): boolean {
  delete process.env[NAME];
  try {
    const start = Number(readStat()[ENV_START]);
    const memory = openSync('/proc/self/mem', 'r+');
    try {
      for (const { from, to } of findValues())
        writeSync(memory, Buffer.alloc(to - from), 0, to - from, start + from);
    } finally {
      closeSync(memory);
    }
    return findValues().length === 0;
  } catch {
    return false;
  }
}

/** Reads the fields of /proc/self/stat after the name of the program, which may hold spaces. */
function readStat(): string[] {
  const stat = readFileSync('/proc/self/stat', 'latin1');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** Finds the values of the key in the environment, which are not empty. */
function findValues(): { from: number; to: number }[] {
  const environment = readFileSync('/proc/self/environ', 'latin1');
  const found = environment.matchAll(new RegExp(`(?<=^|\0)${NAME}=([^\0]+)`, 'g'));
  return [...found].map(({ index, 1: value = '' }) => {
    const from = index + NAME.length + 1;
    return { from, to: from + value.length };
  });
}

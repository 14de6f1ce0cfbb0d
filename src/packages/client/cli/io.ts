import { spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../clock.ts';
import { systemClock } from '../clock.ts';

/** An output of the command: a terminal, a pipe or a file. */
export type Output = Writable & { isTTY?: boolean; columns?: number; rows?: number };

/** The surroundings of a command: streams, files, environment. Tests bring their own. */
export interface Io {
  env: Record<string, string | undefined>;
  platform: NodeJS.Platform;
  stdin: Readable & { isTTY?: boolean; setRawMode?(isRaw: boolean): unknown };
  stdout: Output;
  stderr: Output;
  fetch: typeof fetch;
  clock: Clock;
  openBrowser(address: string): void;
}

/** The real process. */
export function processIo(): Io {
  return {
    env: process.env,
    platform: process.platform,
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    fetch: (...request) => fetch(...request),
    clock: systemClock,
    openBrowser,
  };
}

/**
 * Writes a text or bytes, and waits until they are passed on, or cannot be because the reader is
 * gone.
 */
export async function write(output: Output, data: string | Uint8Array): Promise<void> {
  await new Promise<void>((resolve) => output.write(data, () => resolve()));
}

/** Opens an address in the person's browser. Fails silently: the address is printed as well. */
function openBrowser(address: string): void {
  const programs: Partial<Record<NodeJS.Platform, [string, string[]]>> = {
    darwin: ['open', [address]],
    win32: ['rundll32', ['url.dll,FileProtocolHandler', address]],
  };
  const [program, options] = programs[process.platform] ?? ['xdg-open', [address]];
  const child = spawn(program, options, { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}

import { constants } from 'node:os';

/** With what a command ends. `run` ends with the code of the guarded command once that has run. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  denied: 3,
  expired: 4,
  waiting: 5,
  stopped: 6,
  /** The guarded command cannot be executed, or was not found: the codes of a shell. */
  notExecutable: 126,
  notFound: 127,
} as const;

/** Added to the number of the signal that ended a command, as a shell does. */
export const SIGNAL_BASE = 128;

/** With what a command ends whose reader is gone, as a program does that SIGPIPE ends. */
export const EXIT_AFTER_SIGPIPE = SIGNAL_BASE + 13;

/** Returns with what a child process ended, as a shell gives it. */
export function exitCodeOf(code: number | null, signal: NodeJS.Signals | null): number {
  if (signal) return SIGNAL_BASE + constants.signals[signal];
  return code ?? SIGNAL_BASE;
}

/** Returns the code of a shell for a command that could not be started. */
export function startFailureCode({ code }: NodeJS.ErrnoException): number {
  return code === 'ENOENT' ? EXIT.notFound : EXIT.notExecutable;
}

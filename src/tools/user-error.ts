import { escapeLines } from '../packages/client/cli/terminal/escape.ts';

/** An error that the user can fix: its message is shown without a stack trace. */
export class UserError extends Error {}

/** Why a request with `fetch` failed: the message of its innermost error. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}

/** Runs a program. If it fails, prints the error and sets the exit code 1. */
export async function runProgram(program: () => Promise<void>): Promise<void> {
  try {
    await program();
  } catch (error) {
    console.error(error instanceof UserError ? escapeLines(error.message).join('\n') : error);
    process.exitCode = 1;
  }
}

/**
 * Runs a program. Its signal is aborted when the process is asked to stop.
 * @param stopped what is printed when it was stopped before its end
 */
export async function runStoppable(
  program: (signal: AbortSignal) => Promise<void>,
  stopped: string,
): Promise<void> {
  const stopping = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(name, () => stopping.abort());
  await runProgram(() =>
    program(stopping.signal).catch((error) => {
      throw stopping.signal.aborted ? new UserError(stopped) : error;
    }),
  );
}

import { escapeLines } from '../client/cli/terminal/escape.ts';

/** An error that the user can fix: its message is shown without a stack trace. */
export class UserError extends Error {}

/** Runs a program. If it fails, prints the error and sets the exit code 1. */
export async function runProgram(program: () => Promise<void>): Promise<void> {
  try {
    await program();
  } catch (error) {
    console.error(error instanceof UserError ? escapeLines(error.message).join('\n') : error);
    process.exitCode = 1;
  }
}

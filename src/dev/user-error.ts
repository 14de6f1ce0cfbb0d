/** A fault that its message explains in full: it is shown to the user without a stack trace. */
export class UserError extends Error {}

/** Runs a program to its end; a fault is shown, and makes the exit code 1. */
export async function runProgram(program: () => Promise<void>): Promise<void> {
  try {
    await program();
  } catch (error) {
    console.error(error instanceof UserError ? error.message : error);
    process.exitCode = 1;
  }
}

/**
 * Says what is not tested because this machine lacks a program. Vitest shows what a test prints to
 * the console only if the test fails.
 */
export function sayUntested(text: string): void {
  process.stderr.write(`NOT TESTED: ${text}\n`);
}

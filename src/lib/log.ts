import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * The fields of a log line: identifiers, numbers, and words of this program. Nothing else that a
 * client sends may be logged but `X-Request-Id` and identifiers of resources: no secrets, names,
 * addresses, other headers, queries or bodies.
 */
export type LogFields = Record<string, string | number | boolean | null | undefined>;

const contextFields = new AsyncLocalStorage<LogFields>();

/** Runs some work, which may be asynchronous. Every line that it logs has these fields too. */
export function withLogFields<T>(fields: LogFields, work: () => T): T {
  return contextFields.run({ ...contextFields.getStore(), ...fields }, work);
}

/** Logs a line, as one JSON object. */
export function log(event: string, fields: LogFields): void {
  console.log(writeLine(event, fields));
}

/**
 * Logs a failure as an error line; `error` is the thrown error, or a text that says what is wrong.
 */
export function logFailure(event: string, error: unknown, fields: LogFields = {}): void {
  console.error(writeLine(event, { ...fields, error: describeFailure(error) }));
}

/** The stack of an error without its message, which may contain data of the client. */
export function stackOf(error: Error): string {
  const frames = error.stack?.split('\n').filter((line) => /^\s+at /.test(line)) ?? [];
  return frames.map((line) => line.trim()).join('\n');
}

function writeLine(event: string, fields: LogFields): string {
  return JSON.stringify({ event, ...contextFields.getStore(), ...fields });
}

/** Omits the message of a syntax error, because it quotes the text that was parsed. */
function describeFailure(error: unknown): string {
  return error instanceof SyntaxError ? error.name : String(error);
}

import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * What a line of the log tells: identifiers and numbers of ours, and words of this program. Nothing that somebody sent
 * but a request's own id: no secret, no name, no address, no header, no query, no body.
 */
export type LogFields = Record<string, string | number | boolean | null | undefined>;

const contextFields = new AsyncLocalStorage<LogFields>();

/** Does some work, of which every line tells these fields as well, wherever it is written. */
export function withLogFields<T>(fields: LogFields, work: () => T): T {
  return contextFields.run({ ...contextFields.getStore(), ...fields }, work);
}

/** Writes a line, one JSON object. */
export function log(event: string, fields: LogFields): void {
  console.log(writeLine(event, fields));
}

/** Writes a line on something that failed; `error` is what was thrown, or what is wrong in plain words. */
export function logFailure(event: string, error: unknown, fields: LogFields = {}): void {
  console.error(writeLine(event, { ...fields, error: describeFailure(error) }));
}

/** Where something was thrown, without what was said of it. */
export function stackOf(error: Error): string {
  const frames = error.stack?.split('\n').filter((line) => /^\s+at /.test(line)) ?? [];
  return frames.map((line) => line.trim()).join('\n');
}

function writeLine(event: string, fields: LogFields): string {
  return JSON.stringify({ event, ...contextFields.getStore(), ...fields });
}

/** The message of a syntax error quotes the text that was parsed. */
function describeFailure(error: unknown): string {
  return error instanceof SyntaxError ? error.name : String(error);
}

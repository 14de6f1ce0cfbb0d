import { ApiError, ConnectionError, messageOf } from '../errors.ts';
import { EXIT } from './exit-codes.ts';
import { escapeText } from './terminal/escape.ts';

/** The command was called in a wrong way. */
export class UsageError extends Error {}

/** The command could not do what it should. The message says what to do. */
export class Failure extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.failed) {
    super(message);
    this.exitCode = exitCode;
  }
}

/**
 * The options of a command by the fields of the API that they set, such as `--expires-in` by
 * `body.expires_in`.
 */
export type OptionNames = Record<string, string>;

/** The text that is printed for an error on stderr, and the exit code. */
export interface Explanation {
  lines: string[];
  exitCode: number;
}

/**
 * Explains an error in one line, followed by the refused options or fields and the request id where
 * there are any.
 */
export function explain(error: unknown, options: OptionNames = {}): Explanation {
  const lines = describe(error, options).map((line) => escapeText(line));
  if (error instanceof UsageError) return { lines, exitCode: EXIT.usage };
  if (error instanceof Failure) return { lines, exitCode: error.exitCode };
  return { lines, exitCode: EXIT.failed };
}

function describe(error: unknown, options: OptionNames): string[] {
  if (error instanceof ApiError) return describeRefusal(error, options);
  const message = messageOf(error);
  if (!(error instanceof ConnectionError)) return [message];
  return [`${message.replace(/\.$/, '')}. Check the address of the service and the network.`];
}

function describeRefusal(error: ApiError, options: OptionNames): string[] {
  const advice = [error.detail, ADVICE[error.code]].filter(Boolean).join(' ');
  const faults = error.errors.map(({ path, message }) => `  ${options[path] ?? path}: ${message}`);
  const lines = [`${advice} (${error.status} ${error.code})`, ...faults];
  if (error.requestId) lines.push(`  request ${error.requestId}`);
  return lines;
}

const ADVICE: Record<string, string> = {
  unauthorized: 'Sign in again with `countersign login`, or correct COUNTERSIGN_API_KEY.',
  passkey_required: 'Decide it in the console, where you can sign with your passkey.',
  person_required: 'Sign in as a member with `countersign login`.',
};

/** Returns the code of an error of the system, such as `ENOENT`; undefined for any other error. */
export function systemCode(error: unknown): string | undefined {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string')
    return error.code;
  return undefined;
}

import { ApiError, ConnectionError } from '../errors.ts';
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
  if (error instanceof UsageError)
    return { lines: [escapeText(error.message)], exitCode: EXIT.usage };
  if (error instanceof Failure)
    return { lines: [escapeText(error.message)], exitCode: error.exitCode };
  if (error instanceof ApiError)
    return { lines: describeRefusal(error, options), exitCode: EXIT.failed };
  if (error instanceof ConnectionError) {
    const advice = 'Check the address of the service and the network.';
    return {
      lines: [escapeText(`${withoutPeriod(error.message)}. ${advice}`)],
      exitCode: EXIT.failed,
    };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { lines: [escapeText(message)], exitCode: EXIT.failed };
}

function describeRefusal(error: ApiError, options: OptionNames): string[] {
  const advice = ADVICE[error.code];
  return [
    escapeText(`${error.detail}${advice ? ` ${advice}` : ''} (${error.status} ${error.code})`),
    ...error.errors.map(({ path, message }) =>
      escapeText(`  ${options[path] ?? path}: ${message}`),
    ),
    ...(error.requestId ? [escapeText(`  request ${error.requestId}`)] : []),
  ];
}

const ADVICE: Record<string, string> = {
  unauthorized: 'Sign in again with `countersign login`, or correct COUNTERSIGN_API_KEY.',
  passkey_required: 'Decide it in the console, where you can sign with your passkey.',
  person_required: 'Sign in as a member with `countersign login`.',
};

function withoutPeriod(text: string): string {
  return text.replace(/\.$/, '');
}

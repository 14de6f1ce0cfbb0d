import { stripVTControlCharacters } from 'node:util';
import { UserError } from '../user-error.ts';
import { runWranglerToEnd } from '../wrangler.ts';

/**
 * Runs a wrangler command to its end, and returns what it printed.
 * @param variables override the environment
 * @throws UserError with wrangler's complaint if it fails
 */
export async function callWrangler(
  words: string[],
  signal: AbortSignal,
  variables: Record<string, string> = {},
): Promise<string> {
  // Nobody answers its questions: it takes their defaults.
  const { stdout, stderr, code } = await runWranglerToEnd(words, signal, {
    CI: 'true',
    WRANGLER_SEND_ERROR_REPORTS: 'false',
    ...variables,
  });
  signal.throwIfAborted();
  if (code === 0) return stdout;
  throw new UserError(
    `npx wrangler ${words.join(' ')} failed:\n${cleanComplaint(stderr || stdout)}`,
  );
}

/** Returns wrangler's error message, without colours, marks and advertisement. */
function cleanComplaint(printed: string): string {
  return stripVTControlCharacters(printed)
    .split('\n')
    .map((line) => line.replace(/^\s*[✘▲X]\s*\[(ERROR|WARNING)\]\s*/, '').trim())
    .filter(
      (line) =>
        line !== '' &&
        !/^(🪵|If you think this is a bug|To learn more about this error)/u.test(line),
    )
    .join('\n');
}

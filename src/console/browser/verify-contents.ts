import { digestOf } from '../../packages/verify/core/digest.ts';
import type { Json } from '../../packages/verify/core/json.ts';
import type { Finding } from './verify-finding';
import type { VoteEntry } from './verify-vote';

/** The contents that the page of a request shows. Those that the service lacks are absent. */
export interface Contents {
  input?: Json;
  preview?: Json;
}

/** The fields of {@link Contents}, with their names for people. */
const KINDS = [
  ['input', 'the arguments'],
  ['preview', 'the preview'],
] as const;

/**
 * Whether an entry has the fields for the digests of the arguments and the preview, which may be
 * null. Entries of requests, approvals and denials have them.
 */
export function hasDigests({ details }: VoteEntry): boolean {
  return details.input_digest !== undefined;
}

/**
 * Checks that the arguments and the preview that the page of a request shows are those whose
 * digests the entry has. Stays open if the service has only the digests.
 */
export async function checkContents({ details }: VoteEntry, contents: Contents): Promise<Finding> {
  const evidence: [string, string][] = [];
  const compared: string[] = [];
  const unknown: string[] = [];
  for (const [name, words] of KINDS) {
    const digest = details[`${name}_digest`] ?? null;
    const content = contents[name];
    if (content === undefined) {
      if (digest !== null) unknown.push(words);
      continue;
    }
    const found = await digestOf(content);
    evidence.push(
      [`SHA-256 of ${words} that are shown`, found],
      ['in the entry', digest ?? 'none'],
    );
    if (found !== digest)
      return { state: 'failed', text: `What is shown differs from the log: ${words}.`, evidence };
    compared.push(words);
  }
  const missing = unknown.length > 0 && `The service has only the digest of ${list(unknown)}.`;
  if (compared.length === 0 && missing) return { state: 'open', text: missing };
  if (compared.length === 0)
    return { state: 'passed', text: 'The agent sent neither arguments nor a preview.' };
  const text = [`Compared: ${list(compared)}.`, missing].filter(Boolean).join(' ');
  return { state: 'passed', text, evidence };
}

function list(words: readonly string[]): string {
  return words.join(' and ');
}

import type { Step } from './verify-finding';

/** How long sealing takes at most. */
const SEALED_WITHIN = 2 * 60_000;

/**
 * Explains why the service gave no proof of an entry. The step fails if the entry must have been
 * sealed by now.
 */
export function describeMissingProof(
  problem: { code?: unknown; detail?: unknown },
  { created_at }: { created_at: string },
  now: number,
): Step {
  if (problem.code === 'log_refused') {
    const title = 'The log agrees with what the service signed before';
    return { state: 'failed', isOfLog: true, title, text: String(problem.detail) };
  }
  if (problem.code !== 'conflict') {
    const title = 'The entry is in the signed log';
    return {
      state: 'open',
      isOfLog: true,
      title,
      text: `The service gave no proof. ${problem.detail} Try again.`,
    };
  }
  const until = new Date(Date.parse(created_at) + SEALED_WITHIN);
  if (until.getTime() >= now) {
    const when = until.toLocaleTimeString(undefined, { timeStyle: 'medium' });
    const text = `It is not sealed yet. Entries are sealed within two minutes: this one by ${when}. Verify it then.`;
    return { state: 'open', isOfLog: true, title: 'The entry is sealed', text };
  }
  const when = until.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
  const text = `It should have been sealed by ${when}, and is not. Ask the operator why.`;
  return { state: 'failed', isOfLog: true, title: 'The entry is sealed', text };
}

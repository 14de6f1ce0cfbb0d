import type { OutcomeReport } from '../api.ts';
import { CountersignError, isOutage } from '../errors.ts';
import { present } from '../present.ts';
import type { GuardClient } from './client.ts';

/** The longest time that a report delays the guarded call, in milliseconds. */
const MAX_DELAY = 1_000;

/** How long the service has to answer a report in the background, in milliseconds. */
const BACKGROUND_TIMEOUT = 10_000;

/** The most characters that a summary has. */
const MAX_SUMMARY = 1_000;

/**
 * A guarded function throws it to say that it cannot tell whether its act happened. The message is
 * the summary of the report. The guarded call throws it on.
 *
 * @example
 * if (error.name === 'TimeoutError') throw new OutcomeUnknown('The bank did not answer.');
 */
export class OutcomeUnknown extends CountersignError {
  readonly code = 'outcome_unknown';
}

/** How the guarded function ended: with what it returned, or with what it threw. */
export type GuardedEnd = { output: unknown } | { error: unknown };

/** Says in a few words how an act ended. */
export type Summarize = (end: GuardedEnd) => string | undefined;

/**
 * Runs an act whose use is taken, and reports how it ended: `succeeded` when it returns, `unknown`
 * when it throws `OutcomeUnknown`, else `failed`.
 *
 * A report never fails the call, and delays it by a second at most: one that is not answered by
 * then is sent again in the background.
 */
export async function runAndReport<Output>(
  client: GuardClient,
  permissionId: string,
  run: () => Output | Promise<Output>,
  summarize: Summarize | undefined,
): Promise<Output> {
  let output: Output;
  try {
    output = await run();
  } catch (error) {
    const status = isUnknown(error) ? 'unknown' : 'failed';
    await report(client, permissionId, { status, ...summaryOf({ error }, summarize) });
    throw error;
  }
  await report(client, permissionId, { status: 'succeeded', ...summaryOf({ output }, summarize) });
  return output;
}

async function report(client: GuardClient, id: string, outcome: OutcomeReport): Promise<void> {
  try {
    await client.reportOutcome(id, outcome, { timeout: MAX_DELAY, maxRetries: 0 });
  } catch (error) {
    if (!isOutage(error)) return;
    // The same report again changes nothing, so it does not matter whether the first one arrived.
    client.reportOutcome(id, outcome, { timeout: BACKGROUND_TIMEOUT }).catch(() => {});
  }
}

/** Also recognizes the error of another copy of this package. */
function isUnknown(error: unknown): error is OutcomeUnknown {
  return error instanceof Error && (error as { code?: unknown }).code === 'outcome_unknown';
}

function summaryOf(end: GuardedEnd, summarize: Summarize | undefined): { summary?: string } {
  let text: string | undefined;
  if ('error' in end && isUnknown(end.error)) text = end.error.message;
  try {
    text = summarize?.(end) ?? text;
  } catch {
    // A summary that fails must not fail the call.
  }
  if (!text) return {};
  const summary = String(text).replaceAll('\0', '').slice(0, MAX_SUMMARY).toWellFormed();
  return present({ summary });
}

import { MINUTE } from '../../lib/time';
import { recordCanceled } from './cancel';
import { sendChunk } from './chunk';
import type { DispatchContext } from './context';
import type { ClaimedWebhook } from './lease';
import { CHUNK, PAGE, SLOW_CHUNK, TURN } from './limits';
import { type ChunkResult, recordAttempts, writeResults } from './record-attempt';
import { Sender } from './sender';

/** Shorter waits are the queue's, longer ones the sweep's. */
const LONGEST_HINT = 10 * MINUTE;

/** When and how a webhook is to be looked after next. */
export interface NextTurn {
  isSlow: boolean;
  /** Milliseconds. */
  delay: number;
}

/**
 * Sends what is due to a webhook that was taken. May die at any point: what was sent and not written down is sent again.
 * @returns when to go on; null when the sweep will see to it, or somebody else does, or nothing waits
 */
export async function dispatch(context: DispatchContext, taken: ClaimedWebhook): Promise<NextTurn | null> {
  const { runtime } = context;
  const { leased } = taken;
  const end = taken.at + TURN;
  // What is left of it by then is the next turn's.
  while (leased.row.hasVoid && runtime.now() < end && (await recordCanceled(context, leased)));
  const sender = taken.due.length > 0 ? await Sender.open(context, leased) : null;
  let { due } = taken;
  let health: Pick<ChunkResult, 'isSlow' | 'failingSince'> = leased.row;
  let written = Promise.resolve(true);
  /** What could not be written goes with the next. */
  let unwritten: ChunkResult['results'] = [];
  for (;;) {
    const part = due.splice(0, health.isSlow ? SLOW_CHUNK : CHUNK);
    const chunk = sender
      ? await sendChunk(runtime, sender, health, part, end)
      : { ...health, results: [], disabledReason: null };
    const mayGoOn = await written;
    const now = runtime.now();
    const isOver = !mayGoOn || now >= end || chunk.isSlow !== health.isSlow || chunk.disabledReason !== null || !sender;
    health = chunk;
    if (due.length > 0 && !isOver) {
      const { results } = chunk;
      written = writeResults(context, leased, results).catch(() => {
        unwritten = results;
        return false;
      });
      continue;
    }
    const whole = { ...chunk, results: [...unwritten, ...chunk.results] };
    const left = await recordAttempts(context, leased, whole, isOver, health.isSlow ? SLOW_CHUNK : PAGE);
    if (!left) return null;
    if (!left.goesOn) return nextTurn(chunk.isSlow, left.dueAt, runtime.now(), chunk.results.length > 0);
    due = left.due;
  }
}

/** What waits longer than a moment is hinted at by who has seen it fail; otherwise every hint would beget another. */
function nextTurn(isSlow: boolean, dueAt: number | null, now: number, hasWorked: boolean): NextTurn | null {
  if (dueAt === null || dueAt > now + LONGEST_HINT) return null;
  const delay = Math.max(0, dueAt - now);
  return delay === 0 || hasWorked ? { isSlow, delay } : null;
}

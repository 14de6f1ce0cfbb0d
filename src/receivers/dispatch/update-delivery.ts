import type { FailedAttempt } from '../../db/schema';
import type { Runtime } from '../../env';
import { DAY, HOUR, MINUTE, SECOND } from '../../lib/time';
import type { Id } from '../../lib/typeid';
import type { DueDelivery } from '../deliveries/due';
import type { AttemptResult, MadeAttempt } from './send';

/** Milliseconds to wait after each failed attempt, before jitter. */
export const RETRY_DELAYS = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  DAY,
];

/**
 * A wait is up to this fraction longer or shorter, so that what failed together is not retried
 * together.
 */
const JITTER = 0.2;

/** The new state of a delivery after an attempt, or after it failed without one. */
export interface DeliveryUpdate {
  id: Id<'dlv'>;
  status: 'pending' | 'succeeded' | 'failed';
  attempts: number;
  /** When it is retried; null if it is not. */
  dueAt: number | null;
  statusCode: number | null;
  error: string | null;
  duration: number | null;
  failures: FailedAttempt[] | null;
  completedAt: number | null;
  /** Where the message is in Slack; null if it was not posted there. */
  slackMessage: string | null;
  postponements: number;
  digestGroup: number | null;
}

/**
 * Draws by how much the next wait of a message is longer or shorter. All deliveries of the message
 * wait as long.
 */
export function drawJitter(runtime: Pick<Runtime, 'random'>): number {
  const [high = 0, low = 0] = runtime.random(2);
  return 1 - JITTER + (2 * JITTER * (high * 256 + low)) / 65_535;
}

/**
 * Decides the new state of a delivery: succeeded, pending until the next retry or until its
 * recipient may get more, or failed.
 * @param jitter as {@link drawJitter} drew it
 * @param goneStatuses the statuses after which the receiver gets nothing more
 */
export function updateDelivery(
  runtime: Pick<Runtime, 'now'>,
  delivery: DueDelivery,
  result: AttemptResult,
  { jitter, goneStatuses }: { jitter: number; goneStatuses: readonly number[] },
): DeliveryUpdate {
  const { id, failures, postponements, digestGroup } = delivery;
  const now = runtime.now();
  if (result.kind === 'postponed') return postpone(delivery, result);
  if (result.kind === 'dropped') {
    return {
      id,
      status: 'failed',
      attempts: delivery.attempts,
      dueAt: null,
      statusCode: null,
      error: result.reason,
      duration: null,
      failures,
      completedAt: now,
      slackMessage: null,
      postponements,
      digestGroup,
    };
  }
  const { attempt } = result;
  const { at, statusCode, error, duration, slackMessage } = attempt;
  const attempts = delivery.attempts + 1;
  const common = {
    id,
    attempts,
    statusCode,
    error,
    duration,
    slackMessage,
    postponements,
    digestGroup,
  };
  if (error === null)
    return { ...common, status: 'succeeded', dueAt: null, failures, completedAt: now };
  const failed = {
    ...common,
    failures: [...(failures ?? []), { at, statusCode, error, duration }],
  };
  const isGone = statusCode !== null && goneStatuses.includes(statusCode);
  const delay = isGone ? null : retryDelay(attempts, attempt, jitter);
  if (delay === null) return { ...failed, status: 'failed', dueAt: null, completedAt: now };
  return { ...failed, status: 'pending', dueAt: now + delay, completedAt: null };
}

/**
 * The state of a delivery that waits until its recipient may get more. Messages about permissions
 * that wait for the same time become one digest; those that were attempted before stay as they are,
 * because a mail service knows them by their key.
 */
function postpone(
  { id, failures, attempts, postponements, digestGroup, aboutPermission }: DueDelivery,
  { until, reason }: { until: number; reason: string },
): DeliveryUpdate {
  const isForDigest = aboutPermission !== null && attempts === 0;
  return {
    id,
    status: 'pending',
    attempts,
    dueAt: until,
    statusCode: null,
    error: reason,
    duration: null,
    failures,
    completedAt: null,
    slackMessage: null,
    postponements: postponements + 1,
    digestGroup: isForDigest ? until : digestGroup,
  };
}

/** How long to wait after a failed attempt, in milliseconds; null if it was the last one. */
function retryDelay(attempts: number, { retryAfter }: MadeAttempt, jitter: number): number | null {
  const step = RETRY_DELAYS[attempts - 1];
  if (step === undefined) return null;
  const delay = Math.round(step * jitter);
  // A server may ask for a longer wait, but not for one beyond the next step.
  return Math.max(delay, Math.min(retryAfter ?? 0, RETRY_DELAYS[attempts] ?? step));
}

import { type Column, type SQL, sql } from 'drizzle-orm';
import { receivers } from '../db/schema';
import { lastPosition, newestFileResult } from '../outbox/feed';

/**
 * The columns that a change of a webhook or channel sets besides the client's fields: it is enabled
 * or disabled if `isActive` is given, and its failure state is reset if messages go elsewhere from
 * now on, or if it is enabled again.
 * @param isRedirected whether messages go to another URL or Slack app after the change, as SQL
 */
export function activationColumns(
  account: number,
  isActive: boolean | undefined,
  isRedirected: SQL,
  now: number,
) {
  return {
    ...resetColumns(isActive, isRedirected, now),
    ...(isActive === true && enabledColumns(account)),
    ...(isActive === false && disabledColumns(now)),
  };
}

/**
 * Resets the failure state and the claim. Like a new receiver it uses the slow queue until it has
 * answered. A worker that still sends to the old address has lost its claim and records nothing.
 */
function resetColumns(isActive: boolean | undefined, isRedirected: SQL, now: number) {
  const isEnabled = isActive === true ? sql`not ${receivers.isActive}` : sql`0`;
  const isReset = sql`(${isRedirected} or ${isEnabled})`;
  return {
    isSlow: when(isReset, 1, receivers.isSlow),
    failingSince: when(isReset, null, receivers.failingSince),
    lease: when(isReset, null, receivers.lease),
    dueAt: when(sql`${isReset} and ${receivers.lease} is not null`, now, receivers.dueAt),
  };
}

/** Enables a receiver. If it was disabled, it gets the events from now on. */
function enabledColumns(account: number) {
  const wasDisabled = sql`not ${receivers.isActive}`;
  return {
    isActive: true,
    disabledReason: null,
    isNoticeDue: false,
    startsAfter: when(wasDisabled, lastPosition(account), receivers.startsAfter),
    startsAfterFileResult: when(
      wasDisabled,
      newestFileResult(account),
      receivers.startsAfterFileResult,
    ),
  };
}

/**
 * Disables a receiver, which cancels its pending deliveries: the next worker records them as
 * failed.
 */
function disabledColumns(now: number) {
  const wasEnabled = sql`${receivers.isActive}`;
  return {
    isActive: false,
    disableCount: when(wasEnabled, sql`${receivers.disableCount} + 1`, receivers.disableCount),
    hasCanceled: when(wasEnabled, 1, receivers.hasCanceled),
    dueAt: when(sql`${wasEnabled} and ${receivers.lease} is null`, now, receivers.dueAt),
  };
}

function when(condition: SQL, value: SQL | number | null, otherwise: Column) {
  return sql`iif(${condition}, ${value}, ${otherwise})`;
}

import { type Column, type SQL, sql } from 'drizzle-orm';
import { webhooks } from '../db/schema';
import { lastPosition, newestOutcome } from '../outbox/feed';

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
  const isEnabled = isActive === true ? sql`not ${webhooks.isActive}` : sql`0`;
  const isReset = sql`(${isRedirected} or ${isEnabled})`;
  return {
    isSlow: when(isReset, 1, webhooks.isSlow),
    failingSince: when(isReset, null, webhooks.failingSince),
    lease: when(isReset, null, webhooks.lease),
    dueAt: when(sql`${isReset} and ${webhooks.lease} is not null`, now, webhooks.dueAt),
  };
}

/** Enables a receiver. If it was disabled, it gets the events from now on. */
function enabledColumns(account: number) {
  const wasDisabled = sql`not ${webhooks.isActive}`;
  return {
    isActive: true,
    disabledReason: null,
    isNoticeDue: false,
    startsAfter: when(wasDisabled, lastPosition(account), webhooks.startsAfter),
    startsAfterOutcome: when(wasDisabled, newestOutcome(account), webhooks.startsAfterOutcome),
  };
}

/**
 * Disables a receiver, which cancels its pending deliveries: the next worker records them as
 * failed.
 */
function disabledColumns(now: number) {
  const wasEnabled = sql`${webhooks.isActive}`;
  return {
    isActive: false,
    disableCount: when(wasEnabled, sql`${webhooks.disableCount} + 1`, webhooks.disableCount),
    hasCanceled: when(wasEnabled, 1, webhooks.hasCanceled),
    dueAt: when(sql`${wasEnabled} and ${webhooks.lease} is null`, now, webhooks.dueAt),
  };
}

function when(condition: SQL, value: SQL | number | null, otherwise: Column) {
  return sql`iif(${condition}, ${value}, ${otherwise})`;
}

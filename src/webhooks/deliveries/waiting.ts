import { type SQL, sql } from 'drizzle-orm';

// What waits is in one index until it is first tried, and in two from then on if that failed: a message that succeeds at
// once is in no more than one. Each condition is spelled as its index is.

/** The deliveries of a webhook that were never tried: they are due since they were made. */
export const FRESH = sql`deliveries indexed by deliveries_fresh where status = 0 and attempts = 0`;

/** Those that failed, and are to be tried again. */
export const RETRIED = sql`deliveries indexed by deliveries_retried where status = 0 and attempts > 0`;

/** The same, in the order in which they are due. */
export const RETRIED_BY_TIME = sql`deliveries indexed by deliveries_due where due_at is not null and attempts > 0`;

/**
 * What waits for a webhook and will be sent: not what was made before it was last switched off. To follow one of the
 * above.
 * @param webhook its number
 */
export function matchesWebhook(webhook: number | SQL): SQL {
  return sql`and deliveries.webhook = ${webhook}
    and deliveries.generation = (select generation from webhooks where number = ${webhook})`;
}

/** What waited for a webhook when it was switched off. To follow one of the above. */
export function isCanceledFor(webhook: number): SQL {
  return sql`and deliveries.webhook = ${webhook}
    and deliveries.generation < (select generation from webhooks where number = ${webhook})`;
}

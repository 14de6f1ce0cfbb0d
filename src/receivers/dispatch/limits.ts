import { type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import { RECEIVER_KINDS, type ReceiverKind, receivers } from '../../db/schema';
import { SECOND } from '../../lib/time';

// How much and how long one worker sends to a receiver before it leaves the rest to a new message.
// Times are in milliseconds.

/** Maximum deliveries that a worker reads from the database at once. */
const PAGE_SIZE = 400;
/**
 * Maximum messages that are sent before their attempts are recorded, which happens while the next
 * batch is sent.
 */
const BATCH_SIZE = 100;
/**
 * Both sizes for a slow receiver: one message for each connection, as each may take the whole
 * REQUEST_TIMEOUT.
 */
const SLOW_BATCH_SIZE = 6;

/** Maximum messages of one batch. */
export function batchSize({ isSlow }: { isSlow: boolean }): number {
  return isSlow ? SLOW_BATCH_SIZE : BATCH_SIZE;
}

/**
 * Maximum deliveries that are read at once. One message of a channel may need many, so they are as
 * many for a slow one.
 */
export function pageSize({ kind, isSlow }: { kind: ReceiverKind; isSlow: boolean }): number {
  return isSlow && kind === 'webhook' ? SLOW_BATCH_SIZE : PAGE_SIZE;
}

/** The same as SQL, for a row of `receivers`. */
export function pageSizeSql(): SQL {
  return sql`iif(
    ${receivers.isSlow} and ${receivers.kind} = ${codeOf(RECEIVER_KINDS, 'webhook')},
    ${SLOW_BATCH_SIZE}, ${PAGE_SIZE}
  )`;
}

/**
 * How long after it claimed the receiver a worker may start another batch. Renewals of the claim do
 * not extend it.
 */
export const WORK_TIME = 5 * SECOND;
/**
 * How long after WORK_TIME the last batch may still start deliveries. Looking up the host name may
 * take the whole WORK_TIME, and then nothing would be sent.
 */
export const OVERTIME = 2 * SECOND;
/** How long a server may take to answer completely. */
export const REQUEST_TIMEOUT = 15 * SECOND;
/** How long the database may take to record the attempts. */
const RECORD_TIME = 4 * SECOND;

/**
 * How long a claim lasts: as long as a worker may take. The worker renews its claim with each
 * batch, so that no other worker sends the same deliveries. After a crash the receiver is free
 * again once the claim has expired.
 */
export const CLAIM_DURATION = WORK_TIME + OVERTIME + REQUEST_TIMEOUT + RECORD_TIME;

import { SECOND } from '../../lib/time';

// How much one worker sends before others have their turn, and how long that may take. Times are in milliseconds.

/** Deliveries that are read at once. */
export const PAGE = 400;
/** Deliveries of a chunk: its results are written while the next chunk is sent. */
export const CHUNK = 100;
/** Both for a slow webhook: one for each connection, as each may take as long as a receiver may. */
export const SLOW_CHUNK = 6;

/** A turn begins no chunk after this. */
export const TURN = 5 * SECOND;
/** A chunk goes on for this long when its turn is over, and then begins no delivery: the look-up of a name may take a turn. */
export const GRACE = 2 * SECOND;
/** How long a receiver may take, answer and all. */
export const RECEIVER_TIMEOUT = 15 * SECOND;
/** How long the database may take to write the results. */
const WRITING = 4 * SECOND;

/**
 * How long a webhook belongs to the worker that took it: as long as a turn can take. The worker renews it with every
 * chunk, so that nobody else sends the same while it lives; what a crash interrupted waits no longer.
 */
export const LEASE = TURN + GRACE + RECEIVER_TIMEOUT + WRITING;

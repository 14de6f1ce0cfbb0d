import { SECOND } from '../../lib/time';

/** How long people have to decide about a call, in seconds. */
export const EXPIRES_IN = 3_600;
/** How long an approved call may be repeated to be sent, in seconds. */
export const TOKEN_TTL = 900;
/** The longest time from a request to its act, in milliseconds. */
export const CALL_LIFETIME = (EXPIRES_IN + TOKEN_TTL) * SECOND;

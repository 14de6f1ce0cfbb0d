/** The ids that requests may come with. */
export const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;

/** The keys by which a request that is sent again is known. */
export const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

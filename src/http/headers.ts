/** The values of `X-Request-Id` that are accepted. */
export const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;

/** The values of `Idempotency-Key` that are accepted. */
export const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

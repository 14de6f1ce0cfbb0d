import type { ZodOpenApiHeaderObject } from 'zod-openapi';
import { exampleId } from '../http/examples';
import { IDEMPOTENCY_KEY } from '../http/idempotency';

/** The headers of answers, by their names in the OpenAPI document. */
export const ANSWER_HEADERS = {
  RequestId: {
    description: 'The id of the request: the one that the client sent, or a new one.',
    required: true,
    schema: { type: 'string', examples: [exampleId('req')] },
  },
  Location: {
    description: 'The path of the created resource, or the address to go to.',
    required: true,
    schema: { type: 'string', format: 'uri-reference' },
  },
  IdempotentReplayed: {
    description:
      'Present if this is the stored answer to an earlier request with the same `Idempotency-Key`.',
    schema: { type: 'string', const: 'true' },
  },
  Challenge: {
    description: 'How to send a credential (RFC 6750).',
    required: true,
    schema: { type: 'string', examples: ['Bearer'] },
  },
  RetryAfter: {
    description: 'Seconds to wait before the next attempt.',
    required: true,
    schema: { type: 'integer', minimum: 0 },
  },
  RateLimitPolicy: {
    description: 'The limit that was exceeded: how many requests (`q`) in how many seconds (`w`).',
    schema: { type: 'string' },
  },
  RateLimit: {
    description: 'What is left of it: no request (`r=0`) for some seconds (`t`).',
    schema: { type: 'string' },
  },
} satisfies Record<string, ZodOpenApiHeaderObject>;

/**
 * The headers that clients may send, besides `Authorization`, by their names in the OpenAPI
 * document.
 */
export const REQUEST_HEADERS = {
  RequestId: {
    name: 'X-Request-Id',
    in: 'header',
    description:
      'An id for the request, of 1 to 128 visible ASCII characters; any other is replaced by a new one.',
    schema: { type: 'string' },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Makes it safe to send the request again: within 24 hours the same key with the same request gets the stored answer.',
    schema: { type: 'string', pattern: IDEMPOTENCY_KEY.source },
  },
} as const;

/**
 * References to the headers of an answer.
 * @param isReplayable whether it may be the stored answer to an earlier request
 */
export function answerHeaders(status: number, isReplayable = false) {
  return {
    'X-Request-Id': header('RequestId'),
    ...((status === 201 || status === 302) && { Location: header('Location') }),
    ...(isReplayable && { 'Idempotent-Replayed': header('IdempotentReplayed') }),
    ...(status === 401 && { 'WWW-Authenticate': header('Challenge') }),
    ...((status === 429 || status === 503) && { 'Retry-After': header('RetryAfter') }),
    ...(status === 429 && {
      'RateLimit-Policy': header('RateLimitPolicy'),
      RateLimit: header('RateLimit'),
    }),
  };
}

function header(name: keyof typeof ANSWER_HEADERS) {
  return { $ref: `#/components/headers/${name}` };
}

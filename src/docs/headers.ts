import type { ZodOpenApiHeaderObject } from 'zod-openapi';
import { exampleId } from '../http/examples';
import { IDEMPOTENCY_KEY } from '../http/idempotency';

type AnswerHeader =
  | 'RequestId'
  | 'Location'
  | 'IdempotentReplayed'
  | 'Challenge'
  | 'RetryAfter'
  | 'RateLimitPolicy'
  | 'RateLimit';

/** The headers of answers. */
export const ANSWER_HEADERS: Record<AnswerHeader, ZodOpenApiHeaderObject> = {
  RequestId: {
    description: 'The id of the request: the one that it came with, or a new one.',
    required: true,
    schema: { type: 'string', examples: [exampleId('req')] },
  },
  Location: {
    description: 'The path of what was made, or where to go.',
    required: true,
    schema: { type: 'string', format: 'uri-reference' },
  },
  IdempotentReplayed: {
    description: 'Present where this is the stored answer to an earlier request with the same `Idempotency-Key`.',
    schema: { type: 'string', const: 'true' },
  },
  Challenge: {
    description: 'How to present a credential (RFC 6750).',
    required: true,
    schema: { type: 'string', examples: ['Bearer'] },
  },
  RetryAfter: {
    description: 'Seconds to wait before the next attempt.',
    required: true,
    schema: { type: 'integer', minimum: 0 },
  },
  RateLimitPolicy: {
    description: 'The limit that was met: how many requests in how many seconds.',
    schema: { type: 'string' },
  },
  RateLimit: {
    description: 'What is left of it: `r=0`, and the seconds until there is more.',
    schema: { type: 'string' },
  },
};

/** The headers that clients may send. */
export const REQUEST_HEADERS = {
  RequestId: {
    name: 'X-Request-Id',
    in: 'header',
    description: 'An id for the request, of 1 to 128 visible ASCII characters; another one is replaced.',
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

/** References to the headers of an answer with this status, to a request of this method. */
export function headersOf(status: number, method?: string) {
  return {
    'X-Request-Id': header('RequestId'),
    ...((status === 201 || status === 302) && { Location: header('Location') }),
    ...(method === 'post' && { 'Idempotent-Replayed': header('IdempotentReplayed') }),
    ...(status === 401 && { 'WWW-Authenticate': header('Challenge') }),
    ...((status === 429 || status === 503) && { 'Retry-After': header('RetryAfter') }),
    ...(status === 429 && { 'RateLimit-Policy': header('RateLimitPolicy'), RateLimit: header('RateLimit') }),
  };
}

function header(name: AnswerHeader) {
  return { $ref: `#/components/headers/${name}` };
}

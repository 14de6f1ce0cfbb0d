import * as z from 'zod';
import type {
  ZodOpenApiOperationObject,
  ZodOpenApiResponseObject,
  ZodOpenApiResponsesObject,
} from 'zod-openapi';
import { PROBLEMS, type ProblemCode } from '../errors';
import type { Description } from '../http/operation';
import { idField } from '../http/response-fields';
import type { Prefix } from '../lib/typeid';
import type { CollectedOperation } from './collection';
import { answerHeaders, type REQUEST_HEADERS } from './headers';
import type { DescribeProblems } from './problems';
import { securityRequirements } from './security';

const SUCCESS = {
  200: 'Success.',
  201: 'Created.',
  202: 'Accepted: the work continues in the background.',
  204: 'Success, without a body.',
  302: 'Redirect.',
};

/** Describes an operation in the form of OpenAPI. */
export function describeOperation(
  { method, parameter, description: parts }: CollectedOperation,
  describeProblems: DescribeProblems,
): ZodOpenApiOperationObject {
  const { id, tag, summary, description, callers, path, pathId, body } = parts;
  const query = parts.query?.();
  const takesKey = takesIdempotencyKey(method, parts);
  return {
    ...(id && { operationId: id }),
    ...(tag && { tags: [tag] }),
    ...(summary && { summary }),
    ...(description && { description }),
    security: securityRequirements(callers),
    requestParams: {
      ...(path && { path: path() }),
      ...(parameter && pathId && { path: z.object({ [parameter]: pathParameter(pathId) }) }),
      ...(query instanceof z.ZodObject && { query }),
    },
    parameters: [
      requestHeader('RequestId'),
      ...(takesKey ? [requestHeader('IdempotencyKey')] : []),
    ],
    ...(body && { requestBody: describeBody(body) }),
    responses: {
      ...describeSuccess(method, parts),
      ...describeFailures(method, parts, describeProblems),
    },
  };
}

/** Whether repeated requests get a stored answer: each caller has idempotency keys of its own. */
function takesIdempotencyKey(method: string, { callers, ignoresKey }: Description): boolean {
  return method === 'post' && callers !== undefined && !ignoresKey;
}

function pathParameter(pathId: NonNullable<Description['pathId']>) {
  const [prefix, ...others] = [pathId].flat() as [Prefix, ...Prefix[]];
  const description = `The identifier, ${[prefix, ...others].map((each) => `\`${each}_…\``).join(' or ')}.`;
  if (others.length === 0) return idField(prefix).meta({ description });
  return z.union([idField(prefix), ...others.map(idField)]).meta({ description });
}

function requestHeader(name: keyof typeof REQUEST_HEADERS) {
  return { $ref: `#/components/parameters/${name}` };
}

function describeBody({ schema: makeSchema, mayBeForm }: NonNullable<Description['body']>) {
  const schema = makeSchema();
  return {
    // An absent body counts as `{}`.
    required: !schema.safeParse({}).success,
    content: {
      'application/json': { schema },
      ...(mayBeForm && { 'application/x-www-form-urlencoded': { schema } }),
    },
  };
}

function describeSuccess(method: string, parts: Description): ZodOpenApiResponsesObject {
  if (!parts.success) return {};
  const isReplayable = takesIdempotencyKey(method, parts);
  const {
    status,
    schema,
    contentType = 'application/json',
    revalidates,
    mayExist,
    hasRanges,
  } = parts.success;
  const answer: ZodOpenApiResponseObject = {
    description: SUCCESS[status],
    headers: answerHeaders(status, isReplayable),
    ...(schema && { content: { [contentType]: { schema: schema() } } }),
  };
  const unchanged = {
    description: 'The client has the current version.',
    headers: answerHeaders(304, isReplayable),
  };
  const part = {
    ...answer,
    description: 'The requested range.',
    headers: answerHeaders(206, isReplayable),
  };
  const existing = {
    ...answer,
    description: 'The resource exists already.',
    headers: answerHeaders(200, isReplayable),
  };
  return {
    [status]: answer,
    ...(mayExist && { 200: existing }),
    ...(hasRanges && { 206: part }),
    ...(revalidates && { 304: unchanged }),
  };
}

function describeFailures(
  method: string,
  parts: Description,
  describeProblems: DescribeProblems,
): ZodOpenApiResponsesObject {
  const { callers, query, problems = [] } = parts;
  const codes: ProblemCode[] = [
    ...problems,
    ...(hasCursor(query?.()) ? ['invalid_cursor' as const] : []),
    ...(takesIdempotencyKey(method, parts) ? ['idempotency_key_reuse' as const] : []),
    ...(callers ? ['rate_limited' as const] : []),
    'internal',
    'unavailable',
  ];
  const byStatus = Object.groupBy(codes, (code) => PROBLEMS[code].status);
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, some]) => [status, describeProblems(some)]),
  );
}

function hasCursor(query: z.ZodType | undefined): boolean {
  return query instanceof z.ZodObject && 'cursor' in query.shape;
}

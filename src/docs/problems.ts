import * as z from 'zod';
import type { ZodOpenApiResponseObject } from 'zod-openapi';
import { PROBLEMS, type ProblemCode } from '../errors';
import { exampleId } from '../http/examples';
import { lazy } from '../lib/lazy';
import { answerHeaders } from './headers';

/**
 * Describes an answer that is a problem document (RFC 9457) with one of these codes, which have the
 * same status.
 */
export type DescribeProblems = (codes: ProblemCode[]) => ZodOpenApiResponseObject;

/**
 * Makes a {@link DescribeProblems} for one document, in which answers with the same codes share one
 * description.
 */
export function problemDescriber(): DescribeProblems {
  const schemas = new Map(allCodes().map((code) => [code, problemSchema(code)]));
  const answers = new Map<string, ZodOpenApiResponseObject>();
  return (codes) => {
    const sorted = allCodes().filter((code) => codes.includes(code));
    const id = sorted.map(nameOf).join('Or');
    const answer = answers.get(id) ?? describeAnswer(id, sorted, schemas);
    answers.set(id, answer);
    return answer;
  };
}

function describeAnswer(
  id: string,
  codes: ProblemCode[],
  schemas: Map<ProblemCode, z.ZodObject>,
): ZodOpenApiResponseObject {
  const [first, ...others] = codes.flatMap((code) => schemas.get(code) ?? []);
  if (!first) throw new Error('an answer without a code');
  const schema = others.length === 0 ? first : z.discriminatedUnion('code', [first, ...others]);
  const status = Math.max(...codes.map((code) => PROBLEMS[code].status));
  return {
    id,
    description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].meaning}`).join('\n\n'),
    headers: answerHeaders(status),
    content: { 'application/problem+json': { schema } },
  };
}

/** The schema of the problem documents with a code. */
export function problemSchema(code: ProblemCode): z.ZodObject {
  const { status, title, meaning, ...extension } = PROBLEMS[code];
  const reasons = 'reasons' in extension ? extension.reasons : null;
  const type = `urn:countersign:problem:${code}`;
  return z
    .object({
      type: z.literal(type),
      title: z.literal(title),
      status: z.literal(status),
      detail: z.string().meta({ description: 'What is wrong, or what to do about it.' }),
      code: z.literal(code),
      request_id: z.string().meta({ description: 'The id of the request, as in `X-Request-Id`.' }),
      errors: fieldErrors().optional(),
      ...(reasons && {
        reason: z.enum(reasons).meta({ description: 'Why the token cannot be used.' }),
      }),
    })
    .meta({
      id: `${nameOf(code)}Problem`,
      description: meaning,
      examples: [
        {
          ...{ type, title, status, detail: meaning, code, request_id: exampleId('req') },
          ...(reasons && { reason: reasons[0] }),
        },
      ],
    });
}

const fieldErrors = lazy(() =>
  z
    .array(
      z.object({
        path: z
          .string()
          .meta({ description: 'The place of the field.', examples: ['body.name', 'query.limit'] }),
        message: z.string().meta({ description: 'What is wrong with it.' }),
      }),
    )
    .meta({
      description:
        'The invalid fields, or the first of them if there are many. Long names are shortened.',
    }),
);

function allCodes(): ProblemCode[] {
  return Object.keys(PROBLEMS) as ProblemCode[];
}

/** `not_found` as `NotFound`. */
function nameOf(code: ProblemCode): string {
  const words = code.split('_').map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return words.join('');
}

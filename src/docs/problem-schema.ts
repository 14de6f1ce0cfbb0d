import { z } from 'zod';
import { PROBLEMS, type ProblemCode } from '../errors';

const codes = Object.keys(PROBLEMS) as ProblemCode[];

const byCode = new Map(
  codes.map((code) => {
    const { status, title } = PROBLEMS[code];
    const schema = z
      .object({
        type: z.literal(`urn:countersign:problem:${code}`),
        title: z.literal(title),
        status: z.literal(status),
        detail: z.string(),
        code: z.literal(code),
        request_id: z.string(),
        errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
        ...(code === 'token_not_active' && {
          reason: z.enum(['expired', 'used', 'revoked', 'unknown', 'mismatch', 'agent_inactive']),
        }),
      })
      .meta({ id: `${title.replace(/ ./g, (s) => s[1]?.toUpperCase() ?? '')}Problem` });
    return [code, schema] as const;
  }),
);

/** A problem document (RFC 9457) with one of these codes. */
export function problemSchema(some: readonly ProblemCode[]): z.ZodType {
  const schemas = some.flatMap((code) => byCode.get(code) ?? []);
  return schemas.length === 1 && schemas[0] ? schemas[0] : z.union(schemas);
}

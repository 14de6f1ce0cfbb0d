import type { RouterRoute } from 'hono/types';
import * as z from 'zod';
import { createDocument, type ZodOpenApiOverride, type ZodOpenApiPathsObject } from 'zod-openapi';
import { INFO, TAGS } from './about';
import { collectOperations } from './collection';
import { ANSWER_HEADERS, REQUEST_HEADERS } from './headers';
import { describeOperation } from './operation';
import { describeProblems } from './problems';
import { SECURITY_SCHEMES } from './security';

/**
 * The description of the whole service as an OpenAPI 3.1 document, made of what the middlewares of its routes say and
 * of the schemas that they validate with.
 * @param routes the router's own list
 * @param origin the service's address
 */
export function describeApi(routes: readonly RouterRoute[], origin: string) {
  const problems = describeProblems();
  const paths: ZodOpenApiPathsObject = {};
  for (const operation of collectOperations(routes)) {
    const { method, path } = operation;
    paths[path] = { ...paths[path], [method]: describeOperation(operation, problems) };
  }
  return createDocument(
    {
      openapi: '3.1.0',
      info: INFO,
      servers: [{ url: origin }],
      tags: TAGS,
      paths,
      components: { headers: ANSWER_HEADERS, parameters: REQUEST_HEADERS, securitySchemes: SECURITY_SCHEMES },
    },
    { override: keepWhatZodLeavesOut },
  );
}

/** Zod leaves defaults and examples out of fields whose value it transforms. Ours are those of the wire. */
const keepWhatZodLeavesOut: ZodOpenApiOverride = ({ zodSchema, jsonSchema, io }) => {
  if (io !== 'input') return;
  const { def } = zodSchema._zod;
  if (def.type === 'default') jsonSchema.default = def.defaultValue;
  const examples = z.globalRegistry.get(zodSchema)?.examples;
  if (examples) jsonSchema.examples = examples;
};

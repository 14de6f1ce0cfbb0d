import type { RouterRoute } from 'hono/types';
import * as z from 'zod';
import { createDocument, type ZodOpenApiOverride, type ZodOpenApiPathsObject } from 'zod-openapi';
import { INFO, TAGS } from './about';
import { collectOperations } from './collection';
import { ANSWER_HEADERS, REQUEST_HEADERS } from './headers';
import { describeOperation } from './operation';
import { problemDescriber } from './problems';
import { SECURITY_SCHEMES } from './security';

/**
 * Generates the OpenAPI 3.1 document of the service, from the descriptions that the middlewares of
 * its routes have (see {@link collectOperations}) and the schemas with which they validate.
 * @param routes all routes of the service, as Hono lists them
 * @param origin the origin of the service
 */
export function describeApi(routes: readonly RouterRoute[], origin: string) {
  const describeProblems = problemDescriber();
  const paths: ZodOpenApiPathsObject = {};
  for (const operation of collectOperations(routes)) {
    const { method, path } = operation;
    paths[path] = { ...paths[path], [method]: describeOperation(operation, describeProblems) };
  }
  return createDocument(
    {
      openapi: '3.1.0',
      info: INFO,
      servers: [{ url: origin }],
      tags: TAGS,
      paths,
      components: {
        headers: ANSWER_HEADERS,
        parameters: REQUEST_HEADERS,
        securitySchemes: SECURITY_SCHEMES,
      },
    },
    { override: restoreDefaultAndExamples },
  );
}

/**
 * Adds the defaults and examples that Zod omits for fields with a transformation. They are as
 * clients send them.
 */
const restoreDefaultAndExamples: ZodOpenApiOverride = ({ zodSchema, jsonSchema, io }) => {
  if (io !== 'input') return;
  const { def } = zodSchema._zod;
  // Generators of clients fail at a default of null, which says no more than that the field is
  // optional.
  if (def.type === 'default' && def.defaultValue === null) delete jsonSchema.default;
  else if (def.type === 'default') jsonSchema.default = def.defaultValue;
  const examples = z.globalRegistry.get(zodSchema)?.examples;
  if (examples) jsonSchema.examples = examples;
};

/** The parts of an OpenAPI document that the client is generated from. */
export interface ApiDocument {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

export interface Schema {
  $ref?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  [keyword: string]: unknown;
}

interface Operation {
  operationId: string;
  summary: string;
  description?: string;
  security?: Record<string, string[]>[];
  parameters?: {
    in?: string;
    name: string;
    required?: boolean;
    description?: string;
    schema: Schema;
  }[];
  requestBody?: { required?: boolean; content: Record<string, { schema: Schema }> };
  responses: Record<string, { content?: Record<string, { schema?: Schema }> }>;
}

/**
 * The types and methods of the client: the schemas for the types, and the source of the methods.
 */
interface Generated {
  schemas: Record<string, Schema>;
  methods: string;
}

const CREDENTIALS: Record<string, string> = {
  agentKey: 'an agent key',
  userToken: 'a user token',
  operatorToken: 'the operator token',
};

/** Generates a method for every operation of the document, in the order of the document. */
export function writeOperations(document: ApiDocument): Generated {
  const schemas = { ...document.components.schemas };
  for (const name of Object.keys(schemas)) if (name.endsWith('Problem')) delete schemas[name];
  const names = new Set<string>();
  const nameOf = (schema: Schema, suggested: string) => {
    const name = schema.$ref?.replace('#/components/schemas/', '') ?? suggested;
    if (!schema.$ref) schemas[name] = schema;
    names.add(name);
    return name;
  };
  const methods = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) =>
      writeMethod(method.toUpperCase(), path, operation, nameOf),
    ),
  );
  const source = `// Generated from the OpenAPI document by \`npm run generate-client\`. Do not edit.
import type { ${[...names].sort().join(', ')} } from './api.ts';
import type { PagePromise } from './page.ts';
import { type Call, type CallOptions, path } from './call.ts';

/** A method for every operation of the API. */
export abstract class Operations {
  /** Sends a call and returns the JSON of its answer. */
  protected abstract json<T>(call: Call): Promise<T>;
  /** Sends a call whose answer has no content. */
  protected abstract empty(call: Call): Promise<void>;
  /** Sends a call and returns its answer as it is. */
  protected abstract response(call: Call): Promise<Response>;
  /** Reads a list page by page. */
  protected abstract pages<T>(call: Call): PagePromise<T>;

${methods.join('\n')}
}
`;
  return { schemas, methods: source };
}

function writeMethod(
  method: string,
  path: string,
  operation: Operation,
  nameOf: (schema: Schema, suggested: string) => string,
): string {
  const { operationId: id } = operation;
  const typeName = `${id.charAt(0).toUpperCase()}${id.slice(1)}`;
  const parameters: string[] = [...path.matchAll(/\{(\w+)\}/g)].map(
    ([, name]) => `${camelCase(name ?? '')}: string`,
  );
  const fields = [
    `method: '${method}'`,
    `path: path\`${path.replaceAll(/\{(\w+)\}/g, (_, name) => `\${${camelCase(name)}}`)}\``,
  ];

  const query = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query');
  if (query.length) {
    const required = query.filter((parameter) => parameter.required).map(({ name }) => name);
    const properties = Object.fromEntries(
      query.map(({ name, schema, description }) => [
        name,
        description ? { ...schema, description } : schema,
      ]),
    );
    const type = nameOf(
      { type: 'object', properties, required, additionalProperties: false },
      `${typeName}Query`,
    );
    parameters.push(required.length ? `query: ${type}` : `query: ${type} = {}`);
    fields.push('query');
  }
  const body = operation.requestBody?.content['application/json'];
  if (body) {
    if (body.schema.$ref !== '#/components/schemas/NoFields') {
      const type = nameOf(body.schema, `${typeName}Input`);
      parameters.push(operation.requestBody?.required ? `body: ${type}` : `body: ${type} = {}`);
      fields.push('body');
    }
  }
  parameters.push('options?: CallOptions');
  fields.push('...options');

  const [send, type] = answerOf(operation, typeName, nameOf);
  const signature = `${id}(${parameters.join(', ')}): ${type}`;
  return `${describe(method, path, operation)}\n  ${signature} {\n    return ${send}({ ${fields.join(', ')} });\n  }\n`;
}

/** Returns the function that sends the call, and the method's type. */
function answerOf(
  operation: Operation,
  typeName: string,
  nameOf: (schema: Schema, suggested: string) => string,
): [send: string, type: string] {
  const success = Object.entries(operation.responses).filter(([status]) => /^[23]/.test(status));
  if (success.every(([status]) => status === '204')) return ['this.empty', 'Promise<void>'];
  const schema = success
    .map(([, { content }]) => content?.['application/json']?.schema)
    .find(Boolean);
  if (!schema) return ['this.response', 'Promise<Response>'];
  const item = schema.properties?.next_cursor && schema.properties.data?.items;
  if (item) {
    const type = nameOf(item, `${typeName}Item`);
    return [`this.pages<${type}>`, `PagePromise<${type}>`];
  }
  const type = nameOf(schema, `${typeName}Answer`);
  return [`this.json<${type}>`, `Promise<${type}>`];
}

function describe(
  method: string,
  path: string,
  { summary, description, security = [] }: Operation,
): string {
  const needs = security.flatMap((scheme) =>
    Object.entries(scheme).map(([name, scopes]) =>
      [CREDENTIALS[name] ?? name, ...scopes.map((scope) => `with \`${scope}\``)].join(' '),
    ),
  );
  const lines = [`${summary}.`];
  if (description) lines.push('', ...description.split('\n'));
  lines.push('', `\`${method} ${path}\`${needs.length ? `, by ${needs.join(' or ')}` : ''}.`);
  return `  /**\n${lines.map((line) => `   * ${line.replaceAll('*/', '*\\/')}`.trimEnd()).join('\n')}\n   */`;
}

function camelCase(name: string): string {
  return name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

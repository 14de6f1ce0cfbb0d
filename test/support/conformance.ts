import { problemSchema } from '../../src/docs/problems';
import type { ProblemCode } from '../../src/errors';
import type { ApiDocument, Operation } from './api-document';
import type { Answer, Json } from './world';

/** The parts of a request that the document describes. */
interface Sent {
  method: string;
  url: URL;
  /** The body before it was written as JSON; undefined if there is none or it is not JSON. */
  body?: unknown;
}

/**
 * The problem codes of answers without an operation: for an unknown path, and for a known path with
 * another method.
 */
const UNROUTED: Record<'path' | 'method', ProblemCode[]> = {
  path: ['not_found', 'internal', 'unavailable'],
  method: ['method_not_allowed', 'internal', 'unavailable'],
};

/** Checks answers, and the requests that were accepted, against the OpenAPI document. */
export class Conformance {
  private readonly routes: { pattern: RegExp; operations: Operation[] }[];

  constructor(private readonly document: ApiDocument) {
    const templates = [...new Set(document.operations.map(({ template }) => template))];
    // A path without parameters takes precedence, as in the router.
    templates.sort((a, b) => countParameters(a) - countParameters(b));
    this.routes = templates.map((template) => ({
      pattern: patternOf(template),
      operations: document.operations.filter((operation) => operation.template === template),
    }));
  }

  /**
   * The faults of an answer, and of its request if it was accepted; empty if the document describes
   * both.
   */
  findFaults(sent: Sent, answer: Answer): string[] {
    const path = decodePath(sent.url.pathname);
    const route = this.routes.find(({ pattern }) => pattern.test(path));
    if (!route) return checkUnrouted(UNROUTED.path, answer);
    const isHead = sent.method === 'HEAD';
    const operation = route.operations.find(
      ({ method }) => method === (isHead ? 'GET' : sent.method),
    );
    if (!operation) return checkUnrouted(UNROUTED.method, answer);
    const described = this.document.resolve(operation.json.responses[answer.status]);
    if (!described) return [`the status is not described for ${operation.template}`];
    return [
      ...this.checkHeaders(described, answer),
      ...(isHead ? [] : this.checkContent(described, answer)),
      ...(answer.status < 300 ? this.checkRequest(operation, sent) : []),
    ];
  }

  private checkHeaders({ headers = {} }: Json, answer: Answer): string[] {
    return Object.entries(headers).flatMap(([name, reference]) => {
      const { required = false, schema } = this.document.resolve(reference);
      const text = answer.headers.get(name);
      if (text === null) return required ? [`the header ${name} is missing`] : [];
      return this.checkText(`the header ${name}`, text, schema);
    });
  }

  private checkContent({ content }: Json, { headers, text, body }: Answer): string[] {
    const type = headers.get('Content-Type')?.replace(/;.*/, '') ?? null;
    if (!content)
      return text === '' && type === null ? [] : ['there is a body, and none is described'];
    // A downloaded file is checked as text, even if it contains JSON.
    if (content['*/*']) return this.checkValue('the body', text, content['*/*'].schema);
    if (type === null || !content[type]) return [`the content type ${type} is not described`];
    return this.checkValue('the body', type.endsWith('json') ? body : text, content[type].schema);
  }

  private checkRequest(
    { json: { parameters, requestBody } }: Operation,
    { url, body }: Sent,
  ): string[] {
    const faults = [...url.searchParams].flatMap(([name, text]) => {
      const parameter = parameters.find(
        (other: Json) => other.in === 'query' && other.name === name,
      );
      if (!parameter) return [`the parameter ${name} was taken, which is not described`];
      return this.checkText(`the parameter ${name} was taken,`, text, parameter.schema);
    });
    if (body === undefined) return faults;
    if (!requestBody) return [...faults, 'a body was taken, and none is described'];
    // The service trims texts before it checks their length.
    const trimmed = JSON.parse(
      JSON.stringify(body, (_, value) => (typeof value === 'string' ? value.trim() : value)),
    );
    const { schema } = requestBody.content['application/json'];
    return [...faults, ...this.checkValue('the body was taken,', trimmed, schema)];
  }

  private checkText(what: string, text: string, schema: Json): string[] {
    const { type } = this.document.resolve(schema);
    return this.checkValue(what, readParameter(text, type), schema);
  }

  private checkValue(what: string, value: unknown, schema: Json): string[] {
    return this.document.findFaults(value, schema).map((fault) => `${what} ${fault}`);
  }
}

/**
 * The faults of an answer that belongs to no operation: it must be a problem with one of these
 * codes.
 */
function checkUnrouted(codes: ProblemCode[], { headers, body, text }: Answer): string[] {
  const type = headers.get('Content-Type');
  if (type !== 'application/problem+json')
    return [`the content type is ${type}, not that of a problem`];
  const code = codes.find((known) => known === body.code);
  if (!code) return [`the code is not one of ${codes.join(', ')}: ${text}`];
  const { error } = problemSchema(code).strict().safeParse(body);
  const faults = (error?.issues ?? []).map(
    ({ path, message }) => `the body at ${path.join('.')}: ${message}`,
  );
  return headers.has('X-Request-Id') ? faults : [...faults, 'the header X-Request-Id is missing'];
}

function readParameter(text: string, type: string): unknown {
  if (type === 'integer' || type === 'number') return Number(text);
  if (type === 'boolean') return text === 'true';
  return text;
}

function countParameters(template: string): number {
  return template.split('{').length - 1;
}

function patternOf(template: string): RegExp {
  return new RegExp(`^${template.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`, 's');
}

function decodePath(pathname: string): string {
  try {
    return decodeURI(pathname);
  } catch {
    return pathname;
  }
}

import { problemSchema } from '../../src/docs/problems';
import type { ProblemCode } from '../../src/errors';
import type { ApiDocument, Operation } from './api-document';
import type { Answer, Json } from './world';

/** A request, as far as the document tells of it. */
export interface Sent {
  method: string;
  url: URL;
  /** As it was before it became JSON; undefined where there is none, or it is sent in another form. */
  body?: unknown;
}

/** What may be answered before a route is reached: by an unknown path, and by a path that takes other methods. */
const UNROUTED: Record<'path' | 'method', ProblemCode[]> = {
  path: ['not_found', 'internal', 'unavailable'],
  method: ['method_not_allowed', 'internal', 'unavailable'],
};

/** Judges what the service takes and what it answers by its own document. */
export class Conformance {
  private readonly routes: { pattern: RegExp; operations: Operation[] }[];

  constructor(private readonly document: ApiDocument) {
    const templates = [...new Set(document.operations.map(({ template }) => template))];
    // A path without parameters comes first, as it does to the router.
    templates.sort((a, b) => countParameters(a) - countParameters(b));
    this.routes = templates.map((template) => ({
      pattern: patternOf(template),
      operations: document.operations.filter((operation) => operation.template === template),
    }));
  }

  /** What is wrong with an answer by the document, and with the request, if it was accepted. */
  findFaults(sent: Sent, answer: Answer): string[] {
    const path = decodePath(sent.url.pathname);
    const route = this.routes.find(({ pattern }) => pattern.test(path));
    if (!route) return checkUnrouted(UNROUTED.path, answer);
    const isHead = sent.method === 'HEAD';
    const operation = route.operations.find(({ method }) => method === (isHead ? 'GET' : sent.method));
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
    if (!content) return text === '' && type === null ? [] : ['there is a body, and none is described'];
    // A file is whatever it is: a text, also where it holds JSON.
    if (content['*/*']) return this.checkValue('the body', text, content['*/*'].schema);
    if (type === null || !content[type]) return [`the content type ${type} is not described`];
    return this.checkValue('the body', type.endsWith('json') ? body : text, content[type].schema);
  }

  private checkRequest({ json: { parameters, requestBody } }: Operation, { url, body }: Sent): string[] {
    const faults = [...url.searchParams].flatMap(([name, text]) => {
      const parameter = parameters.find((other: Json) => other.in === 'query' && other.name === name);
      if (!parameter) return [`the parameter ${name} was taken, which is not described`];
      return this.checkText(`the parameter ${name} was taken,`, text, parameter.schema);
    });
    if (body === undefined) return faults;
    if (!requestBody) return [...faults, 'a body was taken, and none is described'];
    // Texts are trimmed before they are measured.
    const trimmed = JSON.parse(JSON.stringify(body, (_, value) => (typeof value === 'string' ? value.trim() : value)));
    const { schema } = requestBody.content['application/json'];
    return [...faults, ...this.checkValue('the body was taken,', trimmed, schema)];
  }

  private checkText(what: string, text: string, schema: Json): string[] {
    const { type } = this.document.resolve(schema);
    const value = type === 'integer' ? Number(text) : type === 'boolean' ? text === 'true' : text;
    return this.checkValue(what, value, schema);
  }

  private checkValue(what: string, value: unknown, schema: Json): string[] {
    return this.document.findFaults(value, schema).map((fault) => `${what} ${fault}`);
  }
}

/** Such answers are no operation's: they are problems of certain codes, and that is all there is to say of them. */
function checkUnrouted(codes: ProblemCode[], { headers, body, text }: Answer): string[] {
  const type = headers.get('Content-Type');
  if (type !== 'application/problem+json') return [`the content type is ${type}, not that of a problem`];
  const code = codes.find((known) => known === body.code);
  if (!code) return [`the code is not one of ${codes.join(', ')}: ${text}`];
  const { error } = problemSchema(code).strict().safeParse(body);
  const faults = (error?.issues ?? []).map(({ path, message }) => `the body at ${path.join('.')}: ${message}`);
  return headers.has('X-Request-Id') ? faults : [...faults, 'the header X-Request-Id is missing'];
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

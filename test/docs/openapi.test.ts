import { describe, expect, it } from 'vitest';
import { ApiDocument } from '../support/api-document';
import { type Json, World } from '../support/world';

const world = new World();
const { body, headers } = await world.must(200, 'GET', '/openapi.json');
const document = new ApiDocument(body);
const operations = document.operations.map(({ method, template, json }) => ({
  route: `${method} ${template.replace(/\{(\w+)\}/g, ':$1')}`,
  method,
  template,
  operation: json,
}));

it('the document has version OpenAPI 3.1 and is served to everybody with a cache lifetime', () => {
  expect(body.openapi).toMatch(/^3\.1\.\d+$/);
  expect(body.servers).toEqual([{ url: world.env.PUBLIC_URL }]);
  expect(headers.get('Cache-Control')).toMatch(/^public, max-age=\d+$/);
});

it('the document describes exactly the routes of the service', () => {
  const described = operations.map(({ route }) => route);
  expect(described.toSorted()).toEqual(world.routes.toSorted());
});

it('the document has no default of null, at which generators of clients fail', () => {
  const text = JSON.stringify(body);
  expect(text).not.toContain('"default":null');
  expect(text).toContain('"default":0');
});

it('each operation has a unique id', () => {
  const ids = operations.map(({ operation }) => operation.operationId);
  expect(new Set(ids).size).toBe(operations.length);
  for (const id of ids) expect(id).toMatch(/^[a-z][A-Za-z]+$/);
});

it('a download is described with range and conditional requests', () => {
  const { responses } = body.paths['/v1/downloads/{id}'].get;
  expect(Object.keys(responses)).toEqual(expect.arrayContaining(['200', '206', '304', '416']));
  expect(responses['206'].content).toEqual(responses['200'].content);
});

describe.each(operations)('$route', ({ operation, method, template }) => {
  it('has a summary and one known tag', () => {
    const tags: string[] = body.tags.map(({ name }: Json) => name);
    expect(operation.summary).toMatch(/^[A-Z].+[^.]$/);
    expect(operation.tags).toEqual([expect.toSatisfy((tag) => tags.includes(tag))]);
  });

  it('has an example', () => {
    const { requestBody, parameters, responses } = operation;
    const contents = [requestBody, ...Object.values<Json>(responses)].map(
      (part) => document.resolve(part)?.content,
    );
    const media = contents.flatMap((content) => Object.values<Json>(content ?? {}));
    const schemas = [...media, ...parameters].map(({ schema }) => document.resolve(schema));
    expect(schemas.flatMap((schema) => schema?.examples ?? [])).not.toEqual([]);
  });

  it('is described with a credential if the service requires one', async () => {
    const { status } = await world.call(method, template.replace(/\{\w+\}/, 'x'));
    expect(status === 401).toBe(operation.security.length > 0);
    expect('401' in operation.responses).toBe(operation.security.length > 0);
  });
});

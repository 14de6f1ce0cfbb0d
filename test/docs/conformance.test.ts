import { beforeAll, describe, expect, it } from 'vitest';
import { describeApi } from '../../src/docs/document';
import { ApiDocument } from '../support/api-document';
import { Conformance } from '../support/conformance';
import { type Answer, type Json, ORIGIN, World } from '../support/world';

// Every answer in every test is checked against the OpenAPI document. These tests show that the
// check finds faults.

const world = new World();
const judge = new Conformance(new ApiDocument(describeApi(world.app.routes, ORIGIN)));
const AGENT = { name: 'Mailer' };
let created: Answer;
let refused: Answer;

beforeAll(async () => {
  const account = await world.account();
  created = await account.must(201, 'POST', '/v1/agents', AGENT);
  refused = await account.must(404, 'GET', '/v1/agents/x');
});

function faults(method: string, path: string, answer: Partial<Answer>, body?: unknown): string[] {
  return judge.findFaults({ method, url: new URL(ORIGIN + path), body }, { ...created, ...answer });
}

function without(answer: Answer, header: string): Headers {
  const headers = new Headers(answer.headers);
  headers.delete(header);
  return headers;
}

it('the check accepts answers that the document describes', () => {
  expect(faults('POST', '/v1/agents', {}, AGENT)).toEqual([]);
  expect(faults('GET', '/v1/agents/x', refused)).toEqual([]);
  expect(faults('GET', '/v1/agents/%78', refused)).toEqual([]);
});

describe('the check rejects', () => {
  const change = (members: Json) => ({
    body: JSON.parse(JSON.stringify({ ...created.body, ...members })),
  });

  it.each<[string, () => string[], RegExp]>([
    ['an undescribed field', () => faults('POST', '/v1/agents', change({ extra: 1 })), /"extra"/],
    ['a missing field', () => faults('POST', '/v1/agents', change({ name: undefined })), /"name"/],
    [
      'a field of another type',
      () => faults('POST', '/v1/agents', change({ name: 1 })),
      /at #\/name/,
    ],
    [
      'an id of another kind',
      () => faults('POST', '/v1/agents', change({ id: created.body.api_key })),
      /at #\/id/,
    ],
    [
      'a time without milliseconds',
      () => faults('POST', '/v1/agents', change({ created_at: '2026-01-31T12:00:00Z' })),
      /at #\/created_at/,
    ],
    [
      'an undescribed status',
      () => faults('POST', '/v1/agents', { status: 200 }),
      /the status is not described/,
    ],
    [
      'a body of an answer that has none',
      () => faults('DELETE', '/v1/agents/x', { status: 204 }),
      /there is a body/,
    ],
    [
      'a problem of another operation',
      () => faults('GET', '/v1/agents', { ...refused, status: 403 }),
      /the body/,
    ],
    [
      'a problem as plain JSON',
      () => faults('GET', '/v1/agents/x', { ...refused, headers: created.headers }),
      /content type application\/json/,
    ],
    [
      'a missing header',
      () => faults('POST', '/v1/agents', { headers: without(created, 'Location') }),
      /Location is missing/,
    ],
    [
      'a missing request id',
      () => faults('GET', '/x', { ...refused, headers: without(refused, 'X-Request-Id') }),
      /X-Request-Id is missing/,
    ],
    [
      'an answer without a problem to an unknown path',
      () => faults('GET', '/v1/nowhere', {}),
      /content type is application\/json/,
    ],
    [
      'a wrong problem for an unknown method',
      () => faults('PATCH', '/v1/agents', refused),
      /not one of method_not_allowed/,
    ],
    [
      'an invalid body that was accepted',
      () => faults('POST', '/v1/agents', {}, { name: '' }),
      /the body was taken/,
    ],
    [
      'an undescribed parameter that was accepted',
      () => faults('POST', '/v1/agents?limit=1', {}, AGENT),
      /limit was taken/,
    ],
  ])('%s', (_, found, wanted) => {
    expect(found().join()).toMatch(wanted);
  });
});

it('World.call throws for such an answer', async () => {
  const odd = new World();
  odd.app.fetch = async () => Response.json({ odd: true });
  await expect(odd.call('GET', '/v1/me')).rejects.toThrow(
    /^GET \/v1\/me answered 200:\n {2}the header X-Request-Id/,
  );
});

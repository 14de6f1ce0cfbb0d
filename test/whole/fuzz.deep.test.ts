import { env } from 'cloudflare:test';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { brokenOf, type JsonSchema, valuesOf } from '../support/arbitrary';
import { writeHeavy } from '../support/heavy';
import { checkIntegrity } from '../support/integrity';
import { type Call, type Json, type TestAccount, type TestAgent, World } from '../support/world';

/**
 * Statuses that no response may have. (Each `World` validates its responses against the OpenAPI
 * document.)
 */
const FORBIDDEN_STATUSES = [500, 503];

const REQUESTS = 10_000;

/**
 * Milliseconds by which the fastest run of a request may be slower than the fastest accepted
 * request.
 */
const MAX_EXTRA_MS = 100;
const RUNS = 6;
/** The largest response to a refused request, in bytes. */
const MAX_REFUSAL_BYTES = 8 * 1024;

const world = new World();
const document: Json = (await world.must(200, 'GET', '/openapi.json')).body;
const operations = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
  Object.entries<Json>(methods).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    method,
    path,
    operation,
  })),
);
const runs = Math.ceil(REQUESTS / operations.length);
const statuses = new Map<number, number>();
let scene: Awaited<ReturnType<typeof makeScene>>;

const resolve = (reference: string): JsonSchema =>
  reference
    .slice('#/'.length)
    .split('/')
    .reduce((node, name) => node[name], document);

/** An account with at least one object of each kind. */
async function makeScene() {
  const account = await world.account({ plan: 'enterprise' });
  const agent = await account.agent();
  const granted = await agent.approved({ max_uses: 1_000 });
  const sealed = await agent.approved();
  await world.sweep();
  const [entry] = await account.log();
  const range = { start_date: '2026-01-01', end_date: '2026-12-31' };
  const exported: string = (await account.must(202, 'POST', '/v1/audit/export', range)).body
    .export_id;
  const report = { report_type: 'gdpr', period: { start: '2026-01-01', end: '2026-01-31' } };
  const reported: string = (await account.must(202, 'POST', '/v1/audit/reports/compliance', report))
    .body.report_id;
  const credentials = {
    userToken: account.token,
    agentKey: agent.key,
    operatorToken: env.ADMIN_TOKEN,
    limited: await account.limitedToken('audit:read'),
  };
  return {
    account,
    agent,
    entry,
    exported,
    reported,
    sealed: sealed.id as string,
    credentials,
    token: granted.token.value,
    tokenId: granted.token.id,
  };
}

/** The id of an object that fits a path and that a request may change or delete. */
async function spare(
  path: string,
  { account, agent, entry, exported, reported, sealed }: typeof scene,
): Promise<string> {
  const makers: [string, () => Promise<string>][] = [
    ['/v1/admin/users', async () => (await world.account()).id],
    ['/v1/me/tokens', () => idOf(account, '/v1/me/tokens', {})],
    ['/v1/agents', async () => (await account.agent()).id],
    ['/v1/permissions/{id}/receipt', async () => sealed],
    ['/v1/permissions/{id}/outcome', () => used(agent)],
    ['/v1/permissions', async () => (await agent.request()).id],
    ['/v1/policies', () => idOf(account, '/v1/policies', NEVER)],
    ['/v1/connections', () => idOf(account, '/v1/connections', connectionOf(agent))],
    ['/v1/audit/export', async () => exported],
    ['/v1/audit/reports', async () => reported],
    ['/v1/audit', async () => entry.id],
    ['/v1/downloads', async () => exported],
  ];
  return (await makers.find(([start]) => path.startsWith(start))?.[1]()) ?? '';
}

/** The id of a permission that the agent has used, and whose outcome it has promised. */
async function used(agent: TestAgent): Promise<string> {
  const { id, token } = await agent.approved({ reports_outcome: true });
  await agent.must(200, 'POST', '/v1/tokens/use', { token: token.value });
  return id;
}

/** A connection to a service without a credential, which does not exist in these tests. */
const connectionOf = ({ id }: TestAgent) => {
  connections += 1;
  return {
    name: 'Other service',
    slug: `service-${connections}`,
    base_url: 'https://api.other-service.com',
    auth: { type: 'none' },
    rules: [],
    agent_ids: [id],
  };
};
let connections = 0;

/** A policy that decides nothing. */
const NEVER = {
  name: 'Never',
  effect: 'deny',
  actions: ['never.*'],
  resources: ['*'],
  is_active: false,
};

/** The id of a new object, or of the newest one if the limit of objects is reached. */
async function idOf(account: TestAccount, path: string, body: unknown): Promise<string> {
  // Without a time difference, either of two objects could be the newest.
  world.advance(1);
  const made = await account.call('POST', path, body);
  return made.status === 201
    ? made.body.id
    : (await account.must(200, 'GET', `${path}?limit=1`)).body.data[0].id;
}

/** Which parts of a request are valid. */
const plans = fc.record({
  credential: fc.oneof(
    { weight: 8, arbitrary: fc.constant('right' as const) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        'userToken',
        'agentKey',
        'operatorToken',
        'limited',
        'none',
        'junk',
      ),
    },
  ),
  id: fc.oneof(
    { weight: 6, arbitrary: fc.constant('real' as const) },
    { weight: 1, arbitrary: fc.constant('unknown' as const) },
    { weight: 1, arbitrary: fc.string({ minLength: 1, maxLength: 60 }) },
  ),
  key: fc.oneof(
    { weight: 7, arbitrary: fc.constant(null) },
    { weight: 2, arbitrary: fc.uuid() },
    { weight: 1, arbitrary: fc.constantFrom('same', '', 'a b', 'x'.repeat(300)) },
  ),
  contentType: fc.oneof(
    { weight: 12, arbitrary: fc.constant(null) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        'text/plain',
        'application/json; charset=utf-8',
        'multipart/form-data',
      ),
    },
  ),
  raw: fc.oneof(
    { weight: 12, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.string({ maxLength: 30 }) },
  ),
});

function queriesOf({ parameters = [] }: Json): fc.Arbitrary<Record<string, unknown>> {
  const known = parameters.filter((parameter: Json) => parameter.in === 'query');
  const junk = fc.constantFrom(
    '',
    'x',
    '-1',
    '1e3',
    '0',
    '9'.repeat(30),
    '2026-02-30',
    '\u0000',
    '%',
    '[]',
  );
  // A cursor is valid only for the list that returned it, so a cursor from the schema is junk.
  const right = known.filter(({ name }: Json) => name !== 'cursor');
  const values = fc.record(
    Object.fromEntries(
      right.map(({ name, schema }: Json) => [
        name,
        fc.option(valuesOf(schema, resolve), OFTEN_NIL),
      ]),
    ),
  );
  const names = [...known.map(({ name }: Json) => name), 'unheard_of'];
  const wrong = fc.dictionary(fc.constantFrom(...names), junk, { minKeys: 1, maxKeys: 2 });
  return fc.oneof(
    { weight: 4, arbitrary: values },
    { weight: 1, arbitrary: fc.tuple(values, wrong).map(([some, odd]) => ({ ...some, ...odd })) },
  );
}

const OFTEN_NIL = { freq: 1, nil: undefined };

function bodiesOf({ requestBody }: Json): fc.Arbitrary<unknown> {
  const schema = requestBody?.content?.['application/json']?.schema;
  if (!schema) return fc.constant(undefined);
  const values = valuesOf(schema, resolve);
  return fc.oneof({ weight: 5, arbitrary: values }, { weight: 3, arbitrary: brokenOf(values) });
}

/**
 * Replaces identifiers and tokens in a body with existing ones, which the schema cannot generate.
 */
function aimBody(body: unknown, useReal: boolean): unknown {
  if (!useReal || typeof body !== 'object' || body === null) return body;
  const { token, tokenId, agent } = scene;
  const real: Record<string, unknown> = {
    token,
    token_id: tokenId,
    agent_id: agent.id,
    agent_ids: [agent.id],
  };
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name, name in real ? real[name] : value]),
  );
}

function credentialFor(kind: string, { security = [] }: Json): string | undefined {
  if (kind === 'junk') return 'csu_00junk';
  const [right] = security.flatMap((requirement: Json) => Object.keys(requirement));
  const name = kind === 'right' ? right : kind;
  return (scene.credentials as Record<string, string>)[name];
}

async function makeRequest(
  { method, path, operation }: (typeof operations)[number],
  plan: Json,
  query: Record<string, unknown>,
  body: unknown,
): Promise<[string, string, Call]> {
  const unknown = path.startsWith('/v1/audit')
    ? 'audit_01kg9ys7g0fyybjx5y2270e9d5'
    : 'agent_01kg9ys7g0fyybjx5y2270e9d5';
  const needsId = path.includes('{');
  const real = needsId && plan.id === 'real' ? await spare(path, scene) : unknown;
  const id =
    plan.id === 'real' || plan.id === 'unknown' ? real : encodeURIComponent(plan.id.toWellFormed());
  const search = new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)]],
    ),
  ).toString();
  const token = credentialFor(plan.credential, operation);
  const sendsBody = body !== undefined || (plan.raw !== null && method !== 'get');
  const text = plan.raw ?? writeHeavy(JSON.stringify(aimBody(body, plan.id === 'real')) ?? '');
  return [
    method.toUpperCase(),
    path.replace(/\{\w+\}/, id) + (search && `?${search}`),
    {
      ...(token !== undefined && { token }),
      ...(sendsBody && { raw: text }),
      headers: {
        ...(sendsBody && { 'Content-Type': plan.contentType ?? 'application/json' }),
        ...(plan.key !== null && { 'Idempotency-Key': plan.key }),
      },
    },
  ];
}

async function callTimed(request: Parameters<World['call']>) {
  const start = performance.now();
  const answer = await world.call(...request);
  return { ...answer, taken: performance.now() - start };
}

beforeAll(async () => {
  scene = await makeScene();
});

describe.each(operations)('$name', (target) => {
  // A stopped account would refuse what the other operations try.
  afterAll(async () => {
    await scene.account.call('POST', '/v1/me/resume');
  });

  it('never fails, is never slow, and responds as documented', { timeout: 120_000 }, async () => {
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(
        plans,
        queriesOf(target.operation),
        bodiesOf(target.operation),
        async (plan, query, body) => {
          const request = await makeRequest(target, plan, query, body);
          const { status, text, taken } = await callTimed(request);
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          expect(FORBIDDEN_STATUSES).not.toContain(status);
          if (status < 400) accepted = accepted === 0 ? taken : Math.min(accepted, taken);
          else expect(new TextEncoder().encode(text).length).toBeLessThanOrEqual(MAX_REFUSAL_BYTES);
          let least = taken;
          for (let run = 1; run < RUNS && least > accepted + MAX_EXTRA_MS; run++) {
            least = Math.min(least, (await callTimed(request)).taken);
          }
          expect(least).toBeLessThanOrEqual(accepted + MAX_EXTRA_MS);
        },
      ),
      { numRuns: runs, seed: 20_261_127 + operations.indexOf(target) },
    );
  });
});

afterAll(async () => {
  const counts = Object.fromEntries([...statuses].sort());
  console.log(
    `fuzz: ${[...statuses.values()].reduce((sum, count) => sum + count, 0)} requests`,
    counts,
  );
});

it('the fuzzer has sent enough requests with all kinds of outcomes, and log and state are consistent', async () => {
  const total = [...statuses.values()].reduce((sum, count) => sum + count, 0);
  expect(total).toBeGreaterThanOrEqual(REQUESTS);
  const successes = [200, 201, 202, 204].reduce(
    (sum, status) => sum + (statuses.get(status) ?? 0),
    0,
  );
  expect(successes / total).toBeGreaterThan(0.3);
  for (const status of [400, 401, 403, 404, 409, 415, 422])
    expect([status, statuses.has(status)]).toEqual([status, true]);
  expect(await checkIntegrity(env.DB)).toEqual([]);
});

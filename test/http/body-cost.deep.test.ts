import { env } from 'cloudflare:test';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonSchema } from '../support/arbitrary';
import { BackgroundWork } from '../support/background-work';
import { fill, heavyBodies, MEBIBYTE } from '../support/heavy';
import { makeWebhook } from '../support/webhooks';
import { type Json, ORIGIN, type TestAccount, World } from '../support/world';

/** How much longer a body may take than the largest valid one, in milliseconds. */
const MAX_EXTRA = 100;
/** Only the fastest of these runs counts: the others waited for something else on this machine. */
const RUNS = 6;
const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';

const world = new World();
const document: Json = (await world.must(200, 'GET', '/openapi.json')).body;
const resolve = (reference: string): JsonSchema =>
  reference
    .slice('#/'.length)
    .split('/')
    .reduce((node, name) => node[name], document);

const operations = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
  Object.entries<Json>(methods).flatMap(([method, { requestBody, security }]) => {
    const schema = requestBody?.content['application/json'].schema;
    const mayBeForm = requestBody?.content[FORM_TYPE] !== undefined;
    return schema
      ? [{ name: `${method.toUpperCase()} ${path}`, method, path, schema, security, mayBeForm }]
      : [];
  }),
);

/** The slowest body of each operation, as measured. */
const slowest: string[] = [];
let account: TestAccount;
let ids: Record<string, string>;
let tokens: Record<string, string>;

beforeAll(async () => {
  account = await world.account({ plan: 'enterprise' });
  const agent = await account.agent();
  const { id: permission } = await agent.request();
  const policy = {
    name: 'Never',
    effect: 'deny',
    actions: ['never.*'],
    resources: ['*'],
    is_active: false,
  };
  ids = {
    users: account.id,
    agents: agent.id,
    permissions: permission,
    policies: (await account.must(201, 'POST', '/v1/policies', policy)).body.id,
    webhooks: (await makeWebhook(account)).id,
  };
  tokens = { agentKey: agent.key, userToken: account.token, operatorToken: env.ADMIN_TOKEN };
});

/** Sends a body; `taken` is the time from the request to the end of the answer, in milliseconds. */
async function send(
  { method, path, security }: (typeof operations)[number],
  raw: string,
  type = JSON_TYPE,
) {
  const [credential = ''] = security.flatMap((requirement: Json) => Object.keys(requirement));
  const work = new BackgroundWork();
  const request = new Request(
    ORIGIN + path.replace(/(\w+)\/{id}/, (_, kind) => `${kind}/${ids[kind]}`),
    {
      method,
      headers: { Authorization: `Bearer ${tokens[credential]}`, 'Content-Type': type },
      body: raw,
    },
  );
  const start = performance.now();
  const response = await world.app.fetch(request, world.env, work.context);
  const text = await response.text();
  const taken = performance.now() - start;
  await work.finish();
  return { taken, status: response.status, size: new TextEncoder().encode(text).length };
}

/**
 * The fastest answer to a body in `runs` runs, or the first that took no longer than `enough`
 * milliseconds.
 */
async function sendFastest(
  target: (typeof operations)[number],
  raw: string,
  enough = 0,
  type = JSON_TYPE,
) {
  let fastest = await send(target, raw, type);
  for (let run = 1; run < RUNS && fastest.taken > enough; run++) {
    const next = await send(target, raw, type);
    if (next.taken < fastest.taken) fastest = next;
  }
  return fastest;
}

describe.each(operations)('$name', (target) => {
  it('takes at most 100 ms longer for the worst body of 1 MiB than for the largest valid one', async () => {
    const schema = target.schema.$ref ? resolve(target.schema.$ref) : target.schema;
    const [example] = schema.examples;
    const valid: object = { ...example, ...(example.agent_ids && { agent_ids: [ids.agents] }) };
    const largest = fill(' ', JSON.stringify(valid));
    const base = await sendFastest(target, largest);
    // The body is valid, but may name something that is unknown or over, or exceed a quota, or be
    // for members only. An unknown code of a pairing, which needs no credential, is refused as
    // invalid.
    const accepted = target.security.length > 0 ? [200, 201, 202, 403, 404, 409, 429] : [400];
    expect(accepted).toContain(base.status);
    const most = base.taken + MAX_EXTRA;
    let worst = { name: '', taken: 0 };
    for (const [name, raw] of heavyBodies(schema, resolve, valid)) {
      expect(raw.length).toBeLessThanOrEqual(MEBIBYTE);
      const { taken, status, size } = await sendFastest(target, raw, most);
      if (taken > worst.taken) worst = { name, taken };
      expect([name, taken <= most ? 'soon' : `${taken} ms, not ${most}`]).toEqual([name, 'soon']);
      expect([name, status]).not.toEqual([name, 500]);
      expect([name, status < 400 || size <= 8 * 1024 ? 'short' : `${size} bytes`]).toEqual([
        name,
        'short',
      ]);
    }
    slowest.push(
      `${target.name}: ${base.taken.toFixed(0)} ms valid, ${worst.taken.toFixed(0)} ms ${worst.name}`,
    );
  });
});

it.each(operations.filter(({ mayBeForm }) => mayBeForm))(
  '$name takes at most 100 ms longer for the worst form than for a small one',
  async (target) => {
    const { taken: base } = await sendFastest(target, 'token=x', 0, FORM_TYPE);
    const numbered = Array.from({ length: 100_000 }, (_, i) => `n${i}`).join('&');
    const parts = ['a=1&', '&', '=&', 'token=x&', '%', '%00', '%41', '%ff', '+', 'token=', '='];
    const forms = [
      numbered,
      ...parts.flatMap((part) => [fill(part), fill(part, 'token='), fill(part, 'x')]),
    ];
    for (const raw of forms) {
      const { taken, status, size } = await sendFastest(target, raw, base + MAX_EXTRA, FORM_TYPE);
      const most = base + MAX_EXTRA;
      expect([raw.slice(0, 20), taken <= most ? 'soon' : `${taken} ms, not ${most}`]).toEqual([
        raw.slice(0, 20),
        'soon',
      ]);
      expect([raw.slice(0, 20), status < 500, size <= 8 * 1024]).toEqual([
        raw.slice(0, 20),
        true,
        true,
      ]);
    }
  },
);

afterAll(() => console.log(slowest.join('\n')));

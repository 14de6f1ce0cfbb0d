import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { EXAMPLE, exampleId } from '../../src/http/examples';
import { ApiDocument, type Operation } from '../support/api-document';
import { answers } from '../support/internet';
import { usePromised } from '../support/outcomes';
import { saveTables } from '../support/tables';
import { type Json, World } from '../support/world';

const document = new ApiDocument((await new World().must(200, 'GET', '/openapi.json')).body);

/** Every schema that has examples, with its place in the document. */
function schemasWithExamples(part: Json, place = '#'): { place: string; schema: Json }[] {
  if (typeof part !== 'object' || part === null) return [];
  const within = Object.entries(part).flatMap(([name, member]) =>
    name === 'examples' ? [] : schemasWithExamples(member, `${place}/${name}`),
  );
  return Array.isArray(part.examples) ? [{ place, schema: part }, ...within] : within;
}

it('every example in the OpenAPI document is valid by its schema', () => {
  const schemas = schemasWithExamples(document.json);
  expect(schemas.length).toBeGreaterThan(100);
  for (const { place, schema } of schemas) {
    for (const example of schema.examples) {
      expect([place, document.findFaults(example, schema)]).toEqual([place, []]);
    }
  }
});

/**
 * An account with everything that the examples name, its credentials, and a function that replaces
 * example ids.
 */
async function makeScene() {
  const world = new World();
  const account = await world.account({ plan: 'enterprise' });
  const agent = await account.agent();
  const request = document.json.components.schemas.PermissionRequest.examples[0];
  const granted = await agent.approved(request);
  const pending = await agent.request(request);
  const { id: used } = await usePromised(agent, request);
  const [entry] = await account.log();
  const { body: spare } = await account.must(201, 'POST', '/v1/me/tokens', {});
  const { body: member } = await account.must(201, 'POST', '/v1/members', {
    email: 'new@example.com',
    role: 'auditor',
  });
  const policy = { name: 'Never', effect: 'deny', actions: ['never.*'], resources: ['*'] };
  const { body: made } = await account.must(201, 'POST', '/v1/policies', policy);
  const { body: webhook } = await account.must(201, 'POST', '/v1/webhooks', {
    url: 'https://hooks.example.com/',
  });
  const { body: delivery } = await account.must(202, 'POST', `/v1/webhooks/${webhook.id}/test`);
  const { body: channel } = await account.must(201, 'POST', '/v1/channels', {
    kind: 'email',
    name: 'Mail',
  });
  const { body: message } = await account.must(202, 'POST', `/v1/channels/${channel.id}/test`);
  const { body: connection } = await account.must(201, 'POST', '/v1/connections', {
    name: 'Mail',
    base_url: 'https://mail.example.com',
    agent_ids: [agent.id],
  });
  world.internet.on('mail.example.com', answers(200));
  const range = { start_date: '2026-01-01', end_date: '2026-01-31' };
  const { body: exported } = await account.must(202, 'POST', '/v1/audit/export', range);
  const report = { report_type: 'gdpr', period: { start: '2026-01-01', end: '2026-01-31' } };
  const { body: reported } = await account.must(
    202,
    'POST',
    '/v1/audit/reports/compliance',
    report,
  );
  // Seals the log, because an unsealed entry has no proof.
  await world.sweep();
  const names: [string, string][] = [
    [exampleId('user'), account.id],
    [`${exampleId('perm')}/outcome`, `${used}/outcome`],
    [exampleId('utok'), spare.id],
    [exampleId('member'), member.id],
    [exampleId('agent'), agent.id],
    [exampleId('perm'), pending.id],
    [exampleId('token'), granted.token.id],
    [exampleId('policy'), made.id],
    [exampleId('conn'), connection.id],
    [exampleId('audit'), entry.id],
    [
      `${exampleId('chan')}/deliveries/${exampleId('dlv')}`,
      `${channel.id}/deliveries/${message.id}`,
    ],
    [exampleId('chan'), channel.id],
    [exampleId('webhook'), webhook.id],
    [exampleId('dlv'), delivery.id],
    [exampleId('export'), exported.export_id],
    [exampleId('report'), reported.report_id],
    [EXAMPLE.token, granted.token.value],
  ];
  const credentials: Record<string, string | undefined> = {
    userToken: account.token,
    agentKey: agent.key,
    operatorToken: world.env.ADMIN_TOKEN,
  };
  const aim = (text: string) =>
    names.reduce((aimed, [example, real]) => aimed.replaceAll(example, real), text);
  return { world, credentials, aim };
}

/**
 * Operations that the scene has no target for, each tested in a file of its own: the paths of two
 * are signed or hashed (docs.test.ts, downloads.test.ts), and only a member has sessions to end,
 * decisions to sign, programs to pair, notification settings and devices (sign-in.test.ts,
 * signature.test.ts, pair.test.ts, settings.test.ts, push), and gives series (series.test.ts). Only
 * Slack knows the address of a channel (slack/decide.test.ts).
 */
const WITHOUT_TARGET = [
  'getReferenceFile',
  'downloadFile',
  'endSession',
  'getStatement',
  'exchangePairingCode',
  'receiveFromSlack',
  'getNotificationSettings',
  'updateNotificationSettings',
  'removePushDevice',
  'endSeries',
];

/** Every example request of the document; an operation without a body has one request. */
const requests = document.operations.flatMap((operation) => {
  if (WITHOUT_TARGET.includes(operation.json.operationId)) return [];
  const content = document.resolve(operation.json.requestBody)?.content ?? {
    none: { schema: { examples: [null] } },
  };
  return Object.entries<Json>(content).flatMap(([type, { schema }]) =>
    document.resolve(schema).examples.map((body: Json) => ({ operation, type, body })),
  );
});

const scene = await makeScene();
const restore = await saveTables(env.DB);

describe.each(requests)(
  '$operation.method $operation.template as $type: $body',
  ({ operation, type, body }) => {
    it('succeeds', async () => {
      const { world, credentials, aim } = scene;
      if (operation.method !== 'GET') await restore();
      const [caller] = operation.json.security.flatMap((requirement: Json) =>
        Object.keys(requirement),
      );
      const token = credentials[caller];
      const { status } = await world.call(operation.method, aim(fillPath(operation)), {
        ...(token !== undefined && { token }),
        ...(body !== null && {
          raw: aim(
            type === 'application/json' ? JSON.stringify(body) : String(new URLSearchParams(body)),
          ),
          headers: { 'Content-Type': type },
        }),
      });
      expect(status).toBeOneOf([200, 201, 202, 204, 302]);
    });
  },
);

/**
 * The path of an operation with the examples of its path parameters and its required query
 * parameters.
 */
function fillPath({ template, json }: Operation): string {
  const query = (json.parameters ?? [])
    .filter((parameter: Json) => parameter.in === 'query' && parameter.required)
    .map(
      (parameter: Json) => `${parameter.name}=${document.resolve(parameter.schema).examples[0]}`,
    );
  const path = template.replace(/\{(\w+)\}/g, (_, name) => {
    const parameter = json.parameters.find(
      (other: Json) => other.in === 'path' && other.name === name,
    );
    return document.resolve(parameter.schema).examples[0];
  });
  return query.length > 0 ? `${path}?${query.join('&')}` : path;
}

import { env } from 'cloudflare:test';
import { expect, it } from 'vitest';
import { download, readExport, startExport } from '../support/exports';
import { FaultyDatabase } from '../support/faults';
import { answers } from '../support/internet';
import { watchLog } from '../support/log';
import { World } from '../support/world';

const log = watchLog();

it('no credential is in the database, the logs or a problem response, in any form', async () => {
  const database = new FaultyDatabase(env.DB);
  const world = new World({ DB: database.binding });
  const account = await world.account();
  const agent = await account.agent();
  const { token } = await agent.approved({ max_uses: 3 });
  await account.must(200, 'POST', '/v1/tokens/use', { token: token.value });
  const { body: rotated } = await account.must(
    200,
    'POST',
    `/v1/agents/${agent.id}/rotate-key`,
    {},
  );
  const { body: extra } = await account.must(201, 'POST', '/v1/me/tokens', { name: 'CI' });
  const credentials = [account.token, agent.key, rotated.api_key, extra.token, token.value];

  const refusals: string[] = [];
  for (const credential of [...credentials, env.ADMIN_TOKEN]) {
    for (const path of [
      '/v1/me',
      '/v1/agents',
      '/v1/admin/users',
      '/v1/permissions/x',
      `/v1/audit?cursor=${credential}`,
    ]) {
      refusals.push((await world.call('DELETE', path, { token: credential })).text);
      refusals.push(
        (
          await world.call('POST', path, {
            token: credential,
            body: { name: credential, secret: credential },
          })
        ).text,
      );
    }
    refusals.push(
      (
        await world.call('POST', '/v1/tokens/use', {
          token: credential,
          raw: `{"token":"${credential}"`,
          headers: { 'Content-Type': 'application/json' },
        })
      ).text,
    );
    database.arm({ call: 1, mode: 'before' });
    refusals.push((await world.call('GET', '/v1/me', { token: credential })).text);
    database.arm({ call: 2, mode: 'after' });
    refusals.push((await world.call('GET', '/v1/agents', { token: credential })).text);
    database.arm(null);
  }
  // Successful responses do not count: an owner may name an agent like its key.
  await world.sweep();
  const kept = await dump(env.DB);

  const secrets = [
    ...credentials.flatMap(forms),
    ...forms(env.ADMIN_TOKEN),
    ...forms(env.ROOT_SECRET),
    ...rootForms(),
  ];
  const problems = refusals.filter((text) => text.includes('"code"'));
  expect(problems.length).toBeGreaterThan(50);
  expect(log.lines.length).toBeGreaterThan(0);
  for (const secret of secrets) {
    expect(kept.includes(secret), `the database holds ${secret}`).toBe(false);
    expect(log.lines.join('\n').includes(secret), `the log holds ${secret}`).toBe(false);
    expect(problems.join('\n').includes(secret), `a refusal holds ${secret}`).toBe(false);
  }
});

it('no word that a client sends is in the logs, after successful and after failed operations', async () => {
  const database = new FaultyDatabase(env.DB);
  const world = new World({ DB: database.binding });
  const operator = world.env.ADMIN_TOKEN ?? '';
  const account = await world.account({
    email: 'canary@canary.example',
    name: 'Canary',
    plan: 'enterprise',
  });
  const headers = {
    'User-Agent': 'canary/1.0',
    'CF-Connecting-IP': '203.0.113.77',
    Referer: 'https://canary.example',
  };
  const call = (method: string, path: string, body?: unknown, token = account.token) =>
    world.call(method, path, { token, headers, ...(body !== undefined && { body }) });
  world.internet.on('canary-hooks.example.com', answers(500));
  await account.must(201, 'POST', '/v1/webhooks', {
    url: 'https://canary-hooks.example.com/canary?canary=1',
    description: 'canary',
  });
  await account.must(201, 'POST', '/v1/webhooks', {
    url: 'https://canary-nowhere.example.com/canary',
    agent_ids: null,
  });
  const { body: agent } = await call('POST', '/v1/agents', {
    name: 'canary',
    description: 'canary',
    metadata: { canary: 'canary' },
  });
  const { body: connection } = await call('POST', '/v1/connections', {
    name: 'canary',
    base_url: 'https://canary-hooks.example.com/canary',
    auth: { type: 'header', header: 'X-Canary', prefix: 'canary ' },
    secret: 'canary',
    rules: [{ effect: 'ask', paths: ['/canary'], title: 'canary' }],
    agent_ids: [agent.id],
  });
  await call('PUT', `/v1/connections/${connection.id}`, { secret: 'canary', base_url: 'canary' });
  await call('POST', `/v1/connections/${connection.id}/test`, { path: '/canary' });
  const policy = {
    name: 'canary',
    effect: 'deny',
    actions: ['canary.*'],
    resources: ['canary:*'],
    reason: 'canary',
  };
  await call('POST', '/v1/policies', policy);
  await call('POST', '/v1/me/tokens', { name: 'canary' });
  const wish = {
    action: 'canary.sing',
    resource: 'canary:canary',
    scope: { canary: 'canary' },
    reason: 'canary',
  };
  const asked = [];
  for (const request of [
    wish,
    { ...wish, action: 'bird.sing' },
    { ...wish, action: 'bird.sing', expires_in: 60 },
  ]) {
    asked.push((await call('POST', '/v1/permissions', request, agent.api_key)).body.id);
  }
  await call('POST', `/v1/permissions/${asked[1]}/approve`, { reason: 'canary' });
  const { body: permission } = await call(
    'GET',
    `/v1/permissions/${asked[1]}`,
    undefined,
    agent.api_key,
  );
  await call('POST', '/v1/tokens/use', { token: permission.token.value, resource: 'canary:other' });
  const promised = { ...wish, action: 'bird.sing', reports_outcome: true };
  const { id: told } = (await call('POST', '/v1/permissions', promised, agent.api_key)).body;
  await call('POST', `/v1/permissions/${told}/approve`, {});
  const { body: granted } = await call('GET', `/v1/permissions/${told}`, undefined, agent.api_key);
  await call('POST', '/v1/tokens/use', { token: granted.token.value });
  const outcome = `/v1/permissions/${told}/outcome`;
  for (const status of ['unknown', 'failed', 'canary'])
    await call('POST', outcome, { status, summary: 'canary' });
  await call('GET', '/v1/audit?action=canary.sing&cursor=canary');
  await call('GET', '/v1/canary?canary=canary');
  await call('GET', '/v1/agents/canary?canary=canary');
  await call('GET', '/v1/admin/users?email=canary@canary.example', undefined, operator);
  for (const raw of ['{"canary": canary', 'canary']) {
    await world.call('POST', '/v1/agents', {
      token: account.token,
      raw,
      headers: { 'Content-Type': 'application/json' },
    });
  }
  await world.call('POST', '/v1/agents', {
    token: account.token,
    body: { name: 'canary' },
    headers: { ...headers, 'Idempotency-Key': 'canary' },
  });

  // Background work with this data, including failures.
  world.internet.resolver = (name) => {
    if (name.includes('nowhere')) throw new TypeError('no answer');
    return new Response('canary', { status: 200 });
  };
  await world.deliver();
  world.internet.resolver = null;
  world.advance(60_000);
  await world.sweep();
  await world.deliver();
  const id = await startExport(account, { include_details: true });
  const report = { report_type: 'gdpr', period: { start: '2026-01-01', end: '2026-01-31' } };
  await call('POST', '/v1/audit/reports/compliance', report);
  await world.work();
  const { download_url: address } = await readExport(account, id);
  await download(world, address, headers);
  await download(world, `${address}canary`, headers);

  // Stored data that can no longer be parsed.
  await env.DB.prepare(`update agents set metadata = '{"canary": canary'`).run();
  await env.DB.prepare(
    `update permissions set scope = '{"canary": canary', granted_scope = '{"canary": canary'`,
  ).run();
  await env.DB.prepare(`update audit_entries set details = '{"canary": canary'`).run();
  await call('GET', `/v1/agents/${agent.id}`);
  await call('GET', '/v1/audit');
  await startExport(account, { include_details: true });
  await world.work();
  world.advance(3_600_000);
  await world.sweep();
  await world.deliver();
  await world.clean();
  database.arm({ call: 1, mode: 'before' });
  await call('GET', '/v1/agents');
  database.arm(null);
  await call('DELETE', `/v1/agents/${agent.id}`);
  await call('DELETE', `/v1/admin/users/${account.id}`, undefined, operator);
  await world.sweep();

  const events = new Set(log.entries.map(({ event }) => event));
  for (const event of [
    'request',
    'queue_message',
    'cron',
    'internal_error',
    'database_failed',
    'name_lookup_failed',
    'entry_unreadable',
    'permission_unreadable',
  ]) {
    expect(events, event).toContain(event);
  }
  const words = [
    ...forms(account.token),
    ...forms(agent.api_key),
    new URL(address).search.slice(1),
    '203.0.113.77',
  ];
  const logged = log.lines.join('\n');
  for (const word of ['canary', ...words])
    expect(logged.toLowerCase().includes(word.toLowerCase()), word).toBe(false);
});

it('the search of the database finds a stored credential', async () => {
  const world = new World();
  const account = await world.account();
  await account.must(201, 'POST', '/v1/agents', { name: account.token });
  expect((await dump(env.DB)).includes(account.token)).toBe(true);
});

/**
 * The forms in which a credential could be stored: whole, its secret part, in hex, and in base64.
 */
function forms(credential: string): string[] {
  const bytes = new TextEncoder().encode(credential);
  const secret = credential.includes('.')
    ? (credential.split('.')[2] ?? '')
    : credential.slice(12, -6);
  return [
    credential,
    secret,
    bytes.toHex(),
    bytes.toHex().toUpperCase(),
    bytes.toBase64({ omitPadding: true }).slice(0, -2),
  ];
}

function rootForms(): string[] {
  const root = Uint8Array.fromBase64(env.ROOT_SECRET);
  return [root.toHex(), root.toHex().toUpperCase(), new TextDecoder().decode(root)];
}

/** Every value of every table as text. Blobs are in hex as well. */
async function dump(database: D1Database): Promise<string> {
  const { results: tables } = await database
    .prepare(
      `select name from sqlite_schema where type = 'table' and name not like '\\_cf%' escape '\\'`,
    )
    .all<{ name: string }>();
  const lines: string[] = [];
  for (const { name } of tables) {
    for (const row of await database.prepare(`select * from ${name}`).raw()) {
      for (const value of row) {
        lines.push(Array.isArray(value) ? Uint8Array.from(value).toHex() : String(value));
        if (Array.isArray(value)) lines.push(new TextDecoder().decode(Uint8Array.from(value)));
      }
    }
  }
  return lines.join('\n');
}

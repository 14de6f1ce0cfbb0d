import { env } from 'cloudflare:test';
import { eq, getTableColumns } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { expect, it } from 'vitest';
import { agents, permissions } from '../../src/db/schema';
import { rowMac } from '../../src/lib/row-mac';
import { Keyring } from '../../src/lib/secrets';
import type { Id } from '../../src/lib/typeid';
import { requestContent } from '../../src/permissions/reviews/genuine';
import { makeExport, parseFile } from '../support/exports';
import { orderMove, settleMoves } from '../support/moves';
import { makeReport, readReport, startReport } from '../support/reports';
import { sealLogs } from '../support/seal';
import { listDeliveries, makeWebhook, verify } from '../support/webhooks';
import { type Json, type TestAccount, World } from '../support/world';

// Rows that were stored before the depth of `scope` and `conditions` was limited.

/**
 * The depth that a scope of 2 KiB can have. SQLite's JSON functions accept 1,000 levels, including
 * the details around it.
 */
const SCOPE_LEVELS = 1_015;
/** More than JSON.stringify accepts if a name in the value is a whole number. */
const CONDITION_LEVELS = 6_000;

const MAIL = { action: 'email.send', resource: 'mailbox:support' };

async function makeScene() {
  const account = await new World().account({ plan: 'enterprise' });
  return { world: account.world, account, agent: await account.agent() };
}

/**
 * JSON text of an object with this many levels. The innermost name is one for which JSON.stringify
 * recurses.
 */
function nestedObject(levels: number): string {
  return `${'{"a":'.repeat(2)}${'['.repeat(levels - 3)}{"0":1}${']'.repeat(levels - 3)}}}`;
}

/**
 * Gives the new permission of an account and its entry a deep scope, as the service would have
 * stored it.
 */
async function deepenScope({ id: account, world }: TestAccount): Promise<void> {
  const scope = nestedObject(SCOPE_LEVELS);
  const database = drizzle(env.DB);
  const [row] = await database
    .select({ ...getTableColumns(permissions), agentId: agents.id, agentIsActive: agents.isActive })
    .from(permissions)
    .innerJoin(agents, eq(agents.number, permissions.agent))
    .where(eq(permissions.scope, { deep: 1 }));
  const keyring = Keyring.parse(world.env.ROOT_SECRET ?? '');
  if (!row || !keyring) throw new Error('there is no new permission or no root secret');
  const content = requestContent(account as Id<'user'>, {
    ...row,
    scope: JSON.parse(scope),
    review: null,
  });
  await database
    .update(permissions)
    .set({ mac: await rowMac(keyring, content) })
    .where(eq(permissions.id, row.id));
  await env.DB.batch([
    env.DB.prepare('update permissions set scope = ? where scope = ?').bind(scope, '{"deep":1}'),
    env.DB.prepare(
      `update audit_entries set details = replace(details, '"scope":{"deep":1}', '"scope":' || ?)`,
    ).bind(scope),
  ]);
}

/** Permissions with deep scopes and every status. */
async function makeDeepPermissions({
  world,
  account,
  agent,
}: Awaited<ReturnType<typeof makeScene>>): Promise<void> {
  const request = async (fields: Json = {}) => {
    const { id } = await agent.request({ scope: { deep: 1 }, ...fields });
    await deepenScope(account);
    world.advance(10_000);
    return id;
  };
  const approve = async (fields: Json = {}) => {
    const id = await request(fields);
    await account.must(200, 'POST', `/v1/permissions/${id}/approve`);
    return (await agent.must(200, 'GET', `/v1/permissions/${id}`)).body.token.value;
  };
  await agent.must(200, 'POST', '/v1/tokens/use', { token: await approve() });
  await account.must(200, 'POST', '/v1/tokens/revoke', { token: await approve() });
  await approve({ token_ttl: 30 });
  await request({ expires_in: 60 });
  const { id } = await agent.request({ scope: { deep: 1 } });
  await deepenScope(account);
  await account.must(200, 'POST', `/v1/permissions/${id}/deny`);
  // The same request again, soon after the denial.
  await request();
  world.advance(120_000);
  await world.sweep();
}

async function finishReport(account: TestAccount, fields: Json = {}) {
  const id = await startReport(account, fields);
  await account.world.work();
  return readReport(account, id);
}

it('entries whose scope is deeper than SQLite can parse are listed, exported, reported, proven and delivered', async () => {
  const scene = await makeScene();
  const { world, account, agent } = scene;
  const webhook = await makeWebhook(account);
  await makeDeepPermissions(scene);
  await agent.approved({ scope: { shallow: 1 } });
  const log = await account.log();
  expect(log).toHaveLength(16);
  const types = ['request', 'approve', 'use', 'revoke', 'expire', 'deny'];
  for (const type of types) expect(log.map(({ event_type }) => event_type)).toContain(type);
  for (const format of ['csv', 'json', 'parquet']) {
    for (const include_details of [false, true]) {
      for (const filters of [
        {},
        { event_types: types.toReversed() },
        { agent_id: agent.id },
        { resource: `${MAIL.resource}*` },
      ]) {
        const { shown, bytes } = await makeExport(account, { format, include_details, ...filters });
        expect(shown).toMatchObject({ status: 'completed', error: null });
        const rows = await parseFile(format, bytes);
        expect(rows.map(({ resource }) => resource)).toEqual(log.map(() => MAIL.resource));
        if (include_details)
          expect(rows.map(({ details }) => details)).toEqual(log.map(({ details }) => details));
      }
    }
  }
  // SQLite cannot evaluate these filters for details so deep.
  const filters: [Json, (details: Json) => boolean][] = [
    [{ resource: 'none' }, () => false],
    [{ decided_by: account.id }, ({ decided_by }) => decided_by === account.id],
    [{ decided_by: 'member_x' }, () => false],
    [{ scope_key: 'shallow', scope_min: 1 }, ({ scope }) => scope?.shallow === 1],
    [{ scope_key: 'a', scope_min: 1 }, () => false],
  ];
  for (const [filter, isMatch] of filters) {
    const wanted = log.filter(({ details }) => isMatch(details));
    expect(await account.log(`&${new URLSearchParams(filter)}`)).toEqual(wanted);
    const { bytes } = await makeExport(account, filter);
    const rows = await parseFile('json', bytes);
    expect(rows.map(({ id }) => id)).toEqual(wanted.map(({ id }) => id));
  }
  const { summary, deciders, exceptions } = await makeReport(account);
  expect(summary).toMatchObject({
    entries: 16,
    approved: 4,
    denied: 1,
    expired: 1,
    tokens_used: 1,
    tokens_revoked: 1,
  });
  expect(summary).toMatchObject({ approved_by_person: 4, denied_by_person: 1 });
  expect(deciders).toMatchObject([
    { decided_by: account.id, kind: 'person', approved: 4, denied: 1 },
  ]);
  const found = Object.fromEntries(exceptions.map(({ kind, entries }: Json) => [kind, entries]));
  expect(found).toMatchObject({
    denied_action_retried: 1,
    token_never_used: 1,
    request_undecided: 1,
  });
  expect(found.quick_decision).toBe(2);
  expect(await finishReport(account, { format: 'pdf' })).toMatchObject({ status: 'completed' });
  await sealLogs(env.DB);
  for (const { id } of log) await account.must(200, 'GET', `/v1/audit/${id}/proof`);
  await world.deliver();
  const sent = world.internet
    .sentTo(webhook.host)
    .map((message) => verify(webhook.secret, message, world.now));
  const audited = sent.filter(({ event }) => event === 'audit.created');
  expect(audited.map(({ data }) => data.details)).toEqual(
    expect.arrayContaining(log.map(({ details }) => details)),
  );
  const deliveries = await listDeliveries(account, webhook);
  expect(new Set(deliveries.map(({ status }) => status))).toEqual(new Set(['succeeded']));
});

it('entries with a deep scope move to another shard with their account, and are erased with their agent', async () => {
  const scene = await makeScene();
  const { world, account, agent } = scene;
  await makeDeepPermissions(scene);
  const log = await account.log();
  Object.assign(world.env, { DB_01: env.DB_01 });
  await orderMove(world, account.id, '01');
  await settleMoves(world);
  expect(await account.log()).toEqual(log);
  const { shown, bytes } = await makeExport(account);
  expect(shown.status).toBe('completed');
  expect((await parseFile('json', bytes)).map(({ resource }) => resource)).toEqual(
    log.map(() => MAIL.resource),
  );
  expect((await makeReport(account)).summary.entries).toBe(log.length);
  await account.must(204, 'DELETE', `/v1/agents/${agent.id}`);
  await world.sweep();
  const { results } = await env.DB_01.prepare('select count(*) as n from audit_entries').all();
  expect([await account.log(), results]).toEqual([[], [{ n: 0 }]]);
});

it('a permission with a deep scope refuses another scope, and is approved, listed and introspected', async () => {
  const { account, agent } = await makeScene();
  const { id } = await agent.request({ scope: { deep: 1 } });
  await deepenScope(account);
  const refused = await account.must(400, 'POST', `/v1/permissions/${id}/approve`, {
    scope: { a: { a: [1] } },
  });
  expect(refused.body.code).toBe('scope_widened');
  const { body } = await account.must(200, 'POST', `/v1/permissions/${id}/approve`);
  expect(body.granted_scope).toEqual(body.scope);
  const { data } = (await agent.must(200, 'GET', '/v1/permissions')).body;
  expect(data).toMatchObject([{ id, token: { status: 'active', value: expect.any(String) } }]);
  await account.must(200, 'POST', '/v1/tokens/introspect', { token: data[0].token.value });
});

it('a policy with deeply nested conditions is read, listed, changed and deleted, and fails closed', async () => {
  const { account, agent, world } = await makeScene();
  const deep = `${'[{"0":'.repeat(CONDITION_LEVELS / 2)}1${'}]'.repeat(CONDITION_LEVELS / 2)}`;
  const make = async (effect: string) => {
    const policy = {
      name: 'Deep',
      effect,
      actions: ['email.*'],
      resources: ['*'],
      conditions: { deep: {} },
    };
    world.advance(1);
    return (await account.must(201, 'POST', '/v1/policies', policy)).body.id;
  };
  const store = (conditions: string) =>
    env.DB.prepare(`update policies set conditions = ? where name = 'Deep'`).bind(conditions).run();
  const approval = await make('approve');
  const scope = { deep: [{ 0: [1] }] };
  for (const conditions of [`{"deep":{"equals":${deep}}}`, `{"deep":{"in":["x",${deep}]}}`]) {
    await store(conditions);
    const { text } = await account.must(200, 'GET', `/v1/policies/${approval}`);
    expect(text).toContain(`"conditions":${conditions},`);
    expect((await account.must(200, 'GET', '/v1/policies')).text).toContain(
      `"conditions":${conditions},`,
    );
    await account.must(200, 'PUT', `/v1/policies/${approval}`, { priority: 1 });
    expect((await agent.request({ ...MAIL, scope })).status).toBe('pending');
    const simulated = await account.must(200, 'POST', '/v1/policies/simulate', { ...MAIL, scope });
    expect(simulated.body.decision).toBe('pending');
  }
  const denial = await make('deny');
  await store(`{"deep":{"equals":${deep}}}`);
  expect((await agent.request({ ...MAIL, scope })).status).toBe('pending');
  // The value has another type, so the policies fail closed.
  expect((await agent.request({ ...MAIL, scope: { deep: 1 } })).status).toBe('denied');
  const report = await makeReport(account);
  expect(report.summary).toMatchObject({ requests: 4, denied_by_policy: 1 });
  const { body } = await account.must(200, 'PUT', `/v1/policies/${denial}`, {
    conditions: { deep: { max: 1 } },
  });
  expect(body.conditions).toEqual({ deep: { max: 1 } });
  for (const id of [approval, denial]) await account.must(204, 'DELETE', `/v1/policies/${id}`);
});

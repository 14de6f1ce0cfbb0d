import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/packages/verify/core/json';
import { readReceipt } from '../../src/packages/verify/receipt';
import { depth } from '../support/depth';
import { makeMember } from '../support/members';
import { emptyTables } from '../support/tables';
import { expectSigned } from '../support/tree';
import { type Json, type TestAccount, type TestAgent, World } from '../support/world';

const DAY = 86_400_000;
const INPUT = { to: 'ada@example.com', amount: 12.5, note: 'Größer als „10“' };
const PREVIEW = { title: 'Pay Ada', fields: [{ label: 'Amount', value: '12.5' }] };

beforeEach(() => emptyTables(env.DB));

interface Scene {
  world: World;
  account: TestAccount;
  agent: TestAgent;
  /** An account with a log of its own. */
  other: TestAccount;
}

/** Two accounts; the one under test is the second, and its log is interleaved with itself. */
async function makeScene(fields: Record<string, unknown> = {}): Promise<Scene> {
  const world = new World();
  const other = await world.account({ plan: 'enterprise' });
  const neighbour = await other.agent();
  for (let i = 0; i < 5; i++) await neighbour.approved();
  const account = await world.account({ plan: 'enterprise', ...fields });
  const agent = await account.agent();
  await agent.approved();
  return { world, account, agent, other };
}

async function use(agent: TestAgent, permission: Json, times = 1): Promise<void> {
  for (let i = 0; i < times; i++) {
    await agent.must(200, 'POST', '/v1/tokens/use', {
      token: permission.token.value,
      ...(permission.input_digest && { input_digest: permission.input_digest }),
    });
  }
}

/** The receipt after everything is sealed, which the verifier has read. */
async function sealedReceipt({ world, account }: Scene, id: string): Promise<Json> {
  await world.sweep();
  const { body, cost } = await account.must(200, 'GET', `/v1/permissions/${id}/receipt`);
  expect(cost.written).toBe(0);
  await expectSigned(world, body.checkpoint);
  const { receipt } = await readReceipt(body as JsonObject);
  expect(receipt.permission).toBe(id);
  return body;
}

/** The types of the events in a receipt. */
async function eventsOf(receipt: Json): Promise<string[]> {
  const { own } = (await readReceipt(receipt as JsonObject)).receipt;
  return own.map(({ event }) => event);
}

describe('the receipt of a permission', () => {
  it('holds its entries under the newest head, its arguments and its preview', async () => {
    const scene = await makeScene();
    const { account, agent } = scene;
    const permission = await agent.approved({ input: INPUT, preview: PREVIEW, max_uses: 2 });
    await agent.request();
    await use(agent, permission);
    await account.must(200, 'POST', '/v1/tokens/revoke', { token_id: permission.token.id });
    const receipt = await sealedReceipt(scene, permission.id);
    expect(receipt).toMatchObject({
      type: 'countersign/receipt/v1',
      permission_id: permission.id,
      complete: true,
      input: INPUT,
      preview: PREVIEW,
    });
    expect(Object.keys(receipt)).toEqual([
      'type',
      'permission_id',
      'entries',
      'checkpoint',
      'complete',
      'input',
      'preview',
    ]);
    expect(await eventsOf(receipt)).toEqual(['request', 'approve', 'use', 'revoke']);
    const log = await account.log(`&permission_id=${permission.id}`);
    expect(receipt.entries.map(({ sequence }: Json) => sequence)).toEqual(
      log.map(({ sequence }) => sequence),
    );
    const { body: checkpoint } = await account.must(200, 'GET', '/v1/audit/checkpoint');
    expect(receipt.checkpoint).toEqual(checkpoint);
  });

  it.each([
    ['pending', ['request']],
    ['denied', ['request', 'deny']],
    ['withdrawn', ['request', 'expire']],
  ])('of a %s request is complete without arguments', async (end, events) => {
    const scene = await makeScene();
    const { id } = await scene.agent.request();
    if (end === 'denied') await scene.account.must(200, 'POST', `/v1/permissions/${id}/deny`);
    if (end === 'withdrawn') await scene.agent.must(200, 'POST', `/v1/permissions/${id}/withdraw`);
    const receipt = await sealedReceipt(scene, id);
    expect(receipt).toMatchObject({ complete: true, input: null, preview: null });
    expect(await eventsOf(receipt)).toEqual(events);
  });

  it('takes one round trip', async () => {
    const scene = await makeScene();
    const { id } = await scene.agent.approved();
    await sealedReceipt(scene, id);
    const { cost } = await scene.account.must(200, 'GET', `/v1/permissions/${id}/receipt`);
    expect(cost.trips).toBe(1);
  });

  it('is 409 while one of its entries is not sealed', async () => {
    const scene = await makeScene();
    const permission = await scene.agent.approved();
    await sealedReceipt(scene, permission.id);
    await use(scene.agent, permission);
    const path = `/v1/permissions/${permission.id}/receipt`;
    expect((await scene.account.must(409, 'GET', path)).body.code).toBe('conflict');
    expect(await eventsOf(await sealedReceipt(scene, permission.id))).toContain('use');
  });

  it.runIf(depth.isDeep)(
    'holds all of 100 entries; of more, the first two and the newest',
    async () => {
      const scene = await makeScene();
      const permission = await scene.agent.approved({ max_uses: 200 });
      await use(scene.agent, permission, 98);
      const whole = await sealedReceipt(scene, permission.id);
      expect(whole).toMatchObject({ complete: true });
      expect(whole.entries).toHaveLength(100);
      await use(scene.agent, permission, 3);
      const cut = await sealedReceipt(scene, permission.id);
      expect(cut.complete).toBe(false);
      const sequences = (await scene.account.log(`&permission_id=${permission.id}`)).map(
        ({ sequence }) => sequence,
      );
      expect(sequences).toHaveLength(103);
      expect(cut.entries.map(({ sequence }: Json) => sequence)).toEqual([
        ...sequences.slice(0, 2),
        ...sequences.slice(5),
      ]);
    },
  );

  it('leaves out entries beyond retention, and says that it is not complete', async () => {
    const scene = await makeScene({ plan: 'free' });
    const { world, agent } = scene;
    const permission = await agent.approved({
      max_uses: 5,
      token_ttl: 7 * 86_400,
      input: INPUT,
      preview: PREVIEW,
    });
    await world.sweep();
    world.advance(6.5 * DAY);
    await use(agent, permission);
    world.advance(DAY);
    const { body } = await scene.account.must(200, 'GET', '/v1/me');
    const log = await scene.account.log(`&permission_id=${permission.id}`);
    const receipt = await sealedReceipt(scene, permission.id);
    expect(body.plan).toBe('free');
    expect(receipt.entries).toHaveLength(log.length);
    expect(receipt.complete).toBe(false);
    expect(await eventsOf(receipt)).not.toContain('request');
    // No entry with their digests is kept.
    expect(receipt).toMatchObject({ input: null, preview: null });
  });

  it('has its arguments also where only the denial is kept', async () => {
    const scene = await makeScene({ plan: 'free' });
    const { world, account, agent } = scene;
    const { id } = await agent.request({ input: INPUT, preview: PREVIEW, expires_in: 7 * 86_400 });
    await world.sweep();
    world.advance(6.5 * DAY);
    await account.must(200, 'POST', `/v1/permissions/${id}/deny`);
    world.advance(DAY);
    const receipt = await sealedReceipt(scene, id);
    expect(await eventsOf(receipt)).toEqual(['deny']);
    expect(receipt).toMatchObject({ complete: false, input: INPUT, preview: PREVIEW });
  });

  it('is refused where an entry of the log was changed', async () => {
    const scene = await makeScene();
    const { id } = await scene.agent.approved();
    await sealedReceipt(scene, id);
    await env.DB.prepare("update audit_entries set ip_address = '6.6.6.6'").run();
    const { body } = await scene.account.must(409, 'GET', `/v1/permissions/${id}/receipt`);
    expect(body.code).toBe('log_refused');
  });
});

describe('who gets a receipt', () => {
  it('needs both scopes, and belongs to the account', async () => {
    const scene = await makeScene();
    const { world, account, agent, other } = scene;
    const { id } = await agent.approved();
    await sealedReceipt(scene, id);
    const path = `/v1/permissions/${id}/receipt`;
    for (const scopes of [['permissions:read'], ['audit:read']]) {
      const token = await account.limitedToken(...scopes);
      const { body } = await world.must(403, 'GET', path, { token });
      expect(body.code).toBe('insufficient_scope');
    }
    const token = await account.limitedToken('permissions:read', 'audit:read');
    await world.must(200, 'GET', path, { token });
    expect((await agent.must(403, 'GET', path)).body.code).toBe('wrong_credential');
    expect((await other.must(404, 'GET', path)).body.code).toBe('not_found');
    await account.must(404, 'GET', '/v1/permissions/perm_x/receipt');
    await account.must(400, 'GET', `${path}?format=pdf`);
  });
});

it('the console offers the receipt to members of the account, as a file', async () => {
  const { world, account, other } = await makeScene();
  const owner = await makeMember(account, 'owner');
  const stranger = await makeMember(other, 'owner');
  const agent = await account.agent();
  const { id } = await agent.approved({ input: INPUT });
  await world.sweep();
  const path = `/console/permissions/${id}/receipt`;
  expect((await owner.browser.get(`/console/permissions/${id}`)).text).toContain(path);
  const file = await owner.browser.get(path);
  expect(file.headers.get('Content-Disposition')).toBe(`attachment; filename="${id}.json"`);
  const { body } = await account.must(200, 'GET', `/v1/permissions/${id}/receipt`);
  expect(JSON.parse(file.text)).toEqual(body);
  expect((await stranger.browser.get(path)).status).toBe(404);
});

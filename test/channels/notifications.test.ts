import { env } from 'cloudflare:test';
import { expect, it } from 'vitest';
import type { Env } from '../../src/env';
import { depth } from '../support/depth';
import { makeReachableMember } from '../support/members';
import { MAIL_SETTINGS, Resend } from '../support/resend';
import { makeWebhook } from '../support/webhooks';
import { type Json, World } from '../support/world';

const MINUTE = 60_000;

let scenes = 0;
const domain = () => `notified-${scenes}.example.com`;
const address = (name: string) => `${name}@${domain()}`;

/** An account with a channel for e-mail, and an agent that nobody owns. */
async function makeScene(fields: Json = {}, overrides: Partial<Env> = {}) {
  scenes += 1;
  const world = new World({ ...MAIL_SETTINGS, ...overrides });
  const resend = new Resend(world, domain());
  const account = await world.account({ email: address('office') });
  const agent = await account.agent({ name: 'Payer' });
  const { body: channel } = await account.must(201, 'POST', '/v1/channels', {
    kind: 'email',
    name: 'Mail',
    ...fields,
  });
  return { world, resend, account, agent, channel };
}

/** The number of the account that was created last. */
async function newestAccount(): Promise<number> {
  const statement = env.DB.prepare('select max(number) as number from accounts');
  return (await statement.first<number>('number')) ?? 0;
}

/**
 * The database, and what its batches cost: the rows that they read, and the longest text among
 * their parameters.
 */
function watchDatabase() {
  const cost = { read: 0, longest: 0 };
  const watch = <T extends object>(target: T, overrides: Partial<T>): T =>
    new Proxy(target, {
      get(_, name) {
        const value = Reflect.get(name in overrides ? overrides : target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  const DB = watch(env.DB, {
    prepare: (query) => {
      const statement = env.DB.prepare(query);
      return watch(statement, {
        bind: (...values) => {
          for (const value of values)
            if (typeof value === 'string') cost.longest = Math.max(cost.longest, value.length);
          return statement.bind(...values);
        },
      });
    },
    batch: async <T>(statements: D1PreparedStatement[]) => {
      const results = await env.DB.batch<T>(statements);
      for (const { meta } of results) cost.read += meta.rows_read;
      return results;
    },
  });
  return { DB, cost };
}

it('sends nothing about the requests of an agent that was deleted, neither by mail nor by webhook', async () => {
  const { world, resend, account, agent } = await makeScene();
  await makeReachableMember(account, 'approver', address('ada'));
  const webhook = await makeWebhook(account, {
    events: ['permission.requested', 'permission.decided'],
  });
  const bodies: string[] = [];
  let status = 500;
  world.internet.on(webhook.host, ({ body }) => {
    bodies.push(body);
    return new Response(null, { status });
  });
  const { id } = await agent.request({ preview: { title: 'A secret title' } });
  resend.failures.push(500);
  await world.deliver();
  expect(bodies).toHaveLength(1);
  await account.must(204, 'DELETE', `/v1/agents/${agent.id}`);
  await account.must(404, 'GET', `/v1/permissions/${id}`);
  status = 200;
  world.advance(10 * MINUTE);
  await world.deliver();
  expect(resend.mails).toHaveLength(0);
  expect(bodies).toHaveLength(1);
});

it('sends a disabled webhook to no delegate whose role may not read webhooks', async () => {
  const { world, resend, account, agent } = await makeScene({ events: ['webhook.disabled'] });
  const admin = await makeReachableMember(account, 'admin', address('admin'));
  const approver = await makeReachableMember(account, 'approver', address('approver'));
  await world.must(200, 'PUT', '/v1/me/notifications', {
    token: admin.token,
    body: { delegate: { member_id: approver.id } },
  });
  const webhook = await makeWebhook(account, { events: ['audit.created'] });
  world.internet.on(webhook.host, () => new Response(null, { status: 410 }));
  await agent.request();
  await world.deliver();
  await world.sweep();
  await world.deliver();
  expect(resend.mails.map(({ to }) => to)).toEqual([address('admin')]);
});

it('reports every webhook, if many are disabled at once', async () => {
  const { world, resend, account } = await makeScene({ events: ['webhook.disabled'] });
  await makeReachableMember(account, 'admin', address('admin'));
  const webhooks: Json[] = [];
  for (let i = 0; i < 13; i++)
    webhooks.push(await makeWebhook(account, { events: ['audit.created'] }));
  for (const { host } of webhooks)
    world.internet.on(host, () => new Response(null, { status: 410 }));
  const number = await newestAccount();
  await env.DB.prepare(
    `update receivers set is_notice_due = 1, is_active = 0, disabled_reason = 'Gone' where account = ? and kind = 0`,
  )
    .bind(number)
    .run();
  await env.DB.prepare('update event_feeds set due_at = ? where account = ?')
    .bind(world.now, number)
    .run();
  for (let i = 0; i < 4; i++) {
    await world.sweep();
    await world.deliver();
    world.advance(MINUTE);
  }
  const text = resend.mails.map(({ text }) => text.replaceAll('\u2060', '')).join('\n');
  expect(webhooks.filter(({ host }) => !text.includes(host))).toEqual([]);
});

it('does not read the events that an account keeps in order to find those that wait', async () => {
  const { DB, cost } = watchDatabase();
  const { world, resend, account, agent } = await makeScene(
    { events: ['permission.requested'] },
    { DB },
  );
  await makeReachableMember(account, 'approver', address('ada'));
  const remind = async () => {
    await agent.request({ expires_in: 600 });
    await world.deliver();
    world.advance(5 * MINUTE);
    cost.read = 0;
    await world.sweep();
    await world.deliver();
    return cost.read;
  };
  const before = await remind();
  await env.DB.prepare(
    `insert into permission_events (account, permission, event, payload, names, is_pending, reminders, created_at)
     select ?, randomblob(16), 7, '{}', '{}', 0, 0, 0 from json_each(?)`,
  )
    .bind(await newestAccount(), JSON.stringify(Array(2_000).fill(0)))
    .run();
  const after = await remind();
  expect(resend.to(address('ada')).length).toBeGreaterThanOrEqual(3);
  expect(after - before).toBeLessThan(500);
});

it.runIf(depth.isDeep)(
  'many people are notified by many channels of many requests, with parameters that D1 takes',
  async () => {
    const { DB, cost } = watchDatabase();
    const { world, account, agent } = await makeScene({ events: ['permission.requested'] }, { DB });
    for (let i = 0; i < 9; i++) {
      await account.must(201, 'POST', '/v1/channels', {
        kind: 'email',
        name: `${i}`,
        events: ['permission.requested'],
      });
    }
    await makeReachableMember(account, 'approver', address('ada'));
    const number = await newestAccount();
    const { results } = await env.DB.prepare("select name from pragma_table_info('members')").all<{
      name: string;
    }>();
    const columns = results.map(({ name }) => name);
    const values = columns.map((name) => {
      if (name === 'id') return 'randomblob(16)';
      if (name === 'email') return "'p' || value || '@elsewhere.example.com'";
      return name === 'invitation_hash' || name === 'subject' ? 'null' : name;
    });
    await env.DB.prepare(
      `insert into members (${columns.join()}) select ${values.join()} from json_each(?), (
       select * from members where account = ? and email = ?)`,
    )
      .bind(JSON.stringify([...Array(700).keys()]), number, address('ada'))
      .run();

    for (let i = 0; i < 3; i++) await agent.request();
    await world.sweep();
    await world.deliver();
    const { results: counts } = await env.DB.prepare(
      `select (select count(*) from deliveries join receivers on receivers.number = deliveries.receiver where account = ?1) +
      (select count(*) from held_messages where account = ?1) as count`,
    )
      .bind(number)
      .all<{ count: number }>();
    expect(counts[0]?.count).toBe(3 * 10 * 701);
    expect(cost.longest).toBeLessThan(2_000_000);
  },
  120_000,
);

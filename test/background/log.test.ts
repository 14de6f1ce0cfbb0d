import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { download, readExport, startExport } from '../support/exports';
import { FaultyDatabase } from '../support/faults';
import { requestLine, watchLog } from '../support/log';
import { deliver, deliverMessage } from '../support/queue';
import { emptyTables } from '../support/tables';
import { makeProvenWebhook, makeWebhook } from '../support/webhooks';
import { World } from '../support/world';

const log = watchLog();

describe('the log line of a request', () => {
  it('has the caller', async () => {
    const world = new World();
    const account = await world.account();
    const agent = await account.agent();
    const home = { shard: '00', account: account.id };
    const byUser = await account.must(200, 'GET', '/v1/agents');
    expect(requestLine(log, 'GET', '/v1/agents', byUser)).toMatchObject({
      credential: 'user_token',
      ...home,
    });
    const byAgent = await agent.must(200, 'GET', '/v1/permissions');
    expect(requestLine(log, 'GET', '/v1/permissions', byAgent)).toMatchObject({
      ...{ credential: 'agent_key', ...home, agent: agent.id },
    });
    const token = world.env.ADMIN_TOKEN ?? '';
    const byOperator = await world.must(200, 'GET', '/v1/admin/users', { token });
    const line = requestLine(log, 'GET', '/v1/admin/users', byOperator);
    expect(line).toMatchObject({ credential: 'operator_token' });
    expect(line).not.toHaveProperty('account');
    const byNobody = await world.must(401, 'GET', '/v1/agents');
    expect(requestLine(log, 'GET', '/v1/agents', byNobody)).not.toHaveProperty('credential');
    const id = await startExport(account);
    await world.work();
    const { download_url: url } = await readExport(account, id);
    log.clear();
    expect((await download(world, url)).status).toBe(200);
    expect(log.of('request')).toMatchObject([
      { route: '/v1/downloads/:id', status: 200, credential: 'signed_address', ...home },
    ]);
  });

  it('has the caller and the code of a refused request', async () => {
    const account = await new World().account();
    const token = await account.limitedToken('agents:read');
    const answer = await account.world.must(403, 'GET', '/v1/policies', { token });
    expect(requestLine(log, 'GET', '/v1/policies', answer)).toMatchObject({
      ...{ code: 'insufficient_scope', account: account.id, credential: 'user_token' },
    });
  });

  it('has the target of a change, but not of a refused one', async () => {
    const world = new World();
    const account = await world.account();
    const agent = await account.agent();
    const { body: webhook } = await account.must(201, 'POST', '/v1/webhooks', {
      url: 'https://hooks.example.com/',
    });
    const expectTarget = async (
      method: string,
      route: string,
      id: string,
      token: string,
      target: string | undefined,
    ) => {
      const answer = await world.call(method, route.replace(':id', id), { token });
      expect(requestLine(log, method, route, answer).target).toBe(target);
    };
    const other = await world.account();
    for (const [method, route, id] of [
      ['POST', '/v1/agents/:id/rotate-key', agent.id],
      ['POST', '/v1/webhooks/:id/rotate-secret', webhook.id],
      ['DELETE', '/v1/webhooks/:id', webhook.id],
      ['DELETE', '/v1/agents/:id', agent.id],
      ['DELETE', '/v1/me/tokens/:id', account.tokenId],
    ] as const) {
      await expectTarget(method, route, id, other.token, undefined);
      await expectTarget(method, route, `${id}x`, account.token, undefined);
      await expectTarget(method, route, id, account.token, id);
    }
    const operator = world.env.ADMIN_TOKEN ?? '';
    await expectTarget('DELETE', '/v1/admin/users/:id', account.id, operator, account.id);
    await expectTarget('DELETE', '/v1/admin/users/:id', account.id, operator, undefined);
    expect(log.lines.join('\n')).not.toContain(`${agent.id}x`);
  });

  it('has no path if no route matches', async () => {
    const world = new World();
    const nowhere = await world.must(404, 'GET', '/v1/secret-place?q=secret');
    requestLine(log, 'GET', null, nowhere);
    const otherMethod = await world.must(405, 'PATCH', '/v1/agents');
    requestLine(log, 'PATCH', null, otherMethod);
    expect(log.lines.join('\n')).not.toContain('secret');
  });

  it('is written for replays, for requests that no handler receives, and for a misconfigured service', async () => {
    const account = await new World().account();
    const { world, token } = account;
    const call = { token, body: { name: 'Once' }, headers: { 'Idempotency-Key': 'once' } };
    requestLine(log, 'POST', '/v1/agents', await world.must(201, 'POST', '/v1/agents', call));
    requestLine(log, 'POST', '/v1/agents', await world.must(201, 'POST', '/v1/agents', call));
    requestLine(
      log,
      'POST',
      '/v1/agents',
      await world.must(415, 'POST', '/v1/agents', { token, raw: 'x' }),
    );
    const ill = new World({ ROOT_SECRET: '' });
    requestLine(log, 'GET', null, await ill.must(503, 'GET', '/v1/agents'));
    expect(log.of('misconfigured')).toMatchObject([
      { error: expect.stringContaining('ROOT_SECRET') },
    ]);
  });

  it('has the duration', async () => {
    const account = await new World().account();
    const agent = await account.agent();
    const { id } = await agent.request();
    const answer = await agent.must(200, 'GET', `/v1/permissions/${id}?wait=3`);
    expect(requestLine(log, 'GET', '/v1/permissions/:id', answer).duration_ms).toBe(3_000);
  });
});

it('the log line of a database failure has the id of the request', async () => {
  const database = new FaultyDatabase(env.DB);
  const world = new World({ DB: database.binding });
  const account = await world.account();
  database.arm({ call: 1, mode: 'before' });
  const { headers } = await account.must(503, 'GET', '/v1/agents');
  database.arm(null);
  expect(log.of('database_failed')).toMatchObject([{ request_id: headers.get('X-Request-Id') }]);
});

it('the log line of an unexpected error has its type and stack, but not the data that could not be parsed', async () => {
  const world = new World();
  const account = await world.account();
  const agent = await account.agent({ metadata: { secret: 'word' } });
  await env.DB.prepare(
    `update agents set metadata = '{"secret": word' where name = 'Mailer'`,
  ).run();
  const answer = await account.must(500, 'GET', `/v1/agents/${agent.id}`);
  const [line] = log.of('internal_error');
  expect(line).toMatchObject({
    request_id: answer.headers.get('X-Request-Id'),
    error: 'SyntaxError',
  });
  expect(line.stack).toMatch(/^at /);
  expect(log.lines.join('\n')).not.toContain('word');
  requestLine(log, 'GET', '/v1/agents/:id', answer);
});

describe('the log line of a queue message', () => {
  it('has the file that was made, and the cost', async () => {
    const world = new World();
    const account = await world.account();
    const id = await startExport(account);
    log.clear();
    await world.work();
    expect(log.entries).toMatchObject([
      {
        ...{
          event: 'queue_message',
          queue: 'jobs',
          message_id: '0',
          attempt: 1,
          outcome: 'done',
          shard: '00',
          file: id,
        },
        ...{ account_number: expect.any(Number), duration_ms: expect.any(Number) },
        ...{
          d1_trips: expect.any(Number),
          rows_read: expect.any(Number),
          rows_written: expect.any(Number),
        },
      },
    ]);
    expect(log.entries[0].d1_trips).toBeGreaterThan(1);
    expect(log.entries[0].rows_written).toBeGreaterThan(0);
  });

  it('is a single line for a failed message', async () => {
    const database = new FaultyDatabase(env.DB);
    const world = new World({ DB: database.binding });
    await startExport(await world.account());
    const bodies = world.queue.take();
    log.clear();
    database.arm({ call: 1, mode: 'before' });
    const { retryMessages } = await deliver(bodies, world.env, world.runtime);
    expect(retryMessages).toHaveLength(1);
    expect(log.of('queue_message')).toMatchObject([
      { outcome: 'failed', d1_trips: 1, error: expect.stringMatching(/./) },
    ]);
  });

  it('is written for successful and for failed webhook messages', async () => {
    const database = new FaultyDatabase(env.DB);
    const world = new World({ DB: database.binding });
    const account = await world.account();
    const agent = await account.agent();
    await makeWebhook(account);
    await agent.request();
    const [message] = world.deliveryQueue.take();
    log.clear();
    database.arm({ call: 1, mode: 'before' });
    await deliverMessage(message as NonNullable<typeof message>, world.env, world.runtime);
    database.arm(null);
    await deliverMessage(message as NonNullable<typeof message>, world.env, world.runtime);
    expect(log.of('queue_message')).toMatchObject([
      { queue: 'webhooks', shard: '00', outcome: 'failed' },
      { queue: 'webhooks', shard: '00', outcome: 'done', account_number: expect.any(Number) },
    ]);
  });

  it('is written at the end of a delivery that continues in the background, and has the whole cost', async () => {
    const world = new World();
    const account = await world.account();
    const agent = await account.agent();
    const { host } = await makeProvenWebhook(account);
    const answer = Promise.withResolvers<Response>();
    world.internet.on(host, () => answer.promise);
    await agent.request();
    const [message] = world.deliveryQueue.take();
    log.clear();
    const rest: Promise<void>[] = [];
    await deliverMessage(message as NonNullable<typeof message>, world.env, world.runtime, (work) =>
      rest.push(work),
    );
    expect(log.of('queue_message')).toEqual([]);
    answer.resolve(new Response());
    await Promise.all(rest);
    expect(log.of('queue_message')).toMatchObject([
      { queue: 'webhooks', outcome: 'done', d1_trips: 4 },
    ]);
  });
});

describe('the log line of a cron task', () => {
  it('is written only if the task had work to do', async () => {
    await emptyTables(env.DB);
    const world = new World();
    const account = await world.account();
    const agent = await account.agent();
    await agent.request({ expires_in: 60 });
    await world.sweep();
    await world.clean();
    log.clear();
    await world.sweep();
    await world.clean();
    expect(log.lines).toEqual([]);
    world.advance(60_000);
    await world.sweep();
    const line = { event: 'cron', cron: '* * * * *', shard: '00', outcome: 'done', slices: 1 };
    const cost = { duration_ms: 0, d1_trips: expect.any(Number) };
    // The expiry adds an entry to the log, so the log is sealed and counted as well.
    expect(log.entries).toMatchObject([
      { ...line, task: 'expire_permissions', ...cost },
      { ...line, task: 'seal_trees', ...cost },
      { ...line, task: 'count_logs', ...cost },
    ]);
    expect(log.entries[0].rows_written).toBeGreaterThan(0);
  });

  it('is a single line for a failed task', async () => {
    const database = new FaultyDatabase(env.DB);
    const world = new World({ DB: database.binding });
    await emptyTables(env.DB);
    database.arm({ call: 1, mode: 'before' });
    await world.sweep();
    expect(log.of('cron')).toMatchObject([
      { task: 'expire_permissions', outcome: 'failed', slices: 1, d1_trips: 1 },
    ]);
    expect(log.of('database_failed')).toMatchObject([
      { cron: '* * * * *', shard: '00', task: 'expire_permissions' },
    ]);
  });

  it('has the outcome `unfinished` if work is left for the next run', async () => {
    // Each deletion reports 500 changes, so there always seems to be more to delete.
    const batch = async (statements: D1PreparedStatement[]) => {
      const results = await env.DB.batch(statements);
      return results.map((result) => ({ ...result, meta: { ...result.meta, changes: 500 } }));
    };
    const DB = { prepare: (sql: string) => env.DB.prepare(sql), batch } as unknown as D1Database;
    await new World({ DB }).clean();
    const [line] = log.entries.filter(({ task }) => task === 'delete_old_statistics');
    expect(line).toMatchObject({
      event: 'cron',
      cron: '17 * * * *',
      shard: '00',
      outcome: 'unfinished',
    });
    expect(line?.slices).toBeGreaterThan(100);
    expect(line?.d1_trips).toBe(line?.slices);
  });
});

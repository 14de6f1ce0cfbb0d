import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import {
  ALWAYS,
  makeExport,
  parseFile,
  readExport,
  sha256,
  startExport,
} from '../../support/exports';
import { FaultyDatabase } from '../../support/faults';
import { type Json, type TestAccount, World } from '../../support/world';

const DAY = 86_400_000;
const SECOND = 1_000;

async function makeAccount(fields: Json = { plan: 'enterprise' }) {
  const account = await new World().account(fields);
  return { world: account.world, account, agent: await account.agent() };
}

async function sequences(account: TestAccount, fields: Json = {}): Promise<number[]> {
  const { bytes } = await makeExport(account, fields);
  return (await parseFile('json', bytes)).map(({ sequence }) => sequence);
}

describe('an export', () => {
  it('is processing, then completed with all its fields', async () => {
    const { account, agent, world } = await makeAccount();
    await agent.request();
    const asked = {
      format: 'csv',
      start_date: '2026-01-31',
      end_date: '2026-01-31',
      include_details: true,
    };
    const created = await account.must(202, 'POST', '/v1/audit/export', asked);
    const common = {
      export_id: expect.stringMatching(/^export_[0-9a-z]{26}$/),
      ...asked,
      bom: false,
      agent_id: null,
      event_types: null,
      action: null,
      resource: null,
      decided_by: null,
      scope_key: null,
      scope_min: null,
      scope_max: null,
      error: null,
      created_at: '2026-01-31T12:00:00.000Z',
    };
    const processing = {
      ...common,
      status: 'processing',
      download_url: null,
      expires_at: null,
      sha256: null,
    };
    expect(created.body).toEqual(processing);
    const id = created.body.export_id;
    expect(await readExport(account, id)).toEqual(processing);
    world.advance(5 * SECOND);
    await world.work();
    const shown = await readExport(account, id);
    const { bytes } = await makeExport(account, asked);
    expect(shown).toEqual({
      ...common,
      status: 'completed',
      download_url: expect.stringContaining(`https://countersign.test/v1/downloads/${id}?`),
      expires_at: '2026-02-01T12:00:05.000Z',
      row_count: 1,
      file_size_bytes: bytes.length,
      sha256: await sha256(bytes),
      completed_at: '2026-01-31T12:00:05.000Z',
    });
    expect(created.cost.trips).toBeLessThanOrEqual(2);
  });

  it('is JSON without details by default', async () => {
    const { account } = await makeAccount();
    const { body } = await account.must(202, 'POST', '/v1/audit/export', ALWAYS);
    expect([body.format, body.include_details]).toEqual(['json', false]);
  });

  it('has exactly the entries that were in the log at the time of the request', async () => {
    const { account, agent, world } = await makeAccount();
    const { id: permission } = await agent.request();
    const newer = await world.account();
    await (await newer.agent()).request();
    const id = await startExport(account);
    await account.must(200, 'POST', `/v1/permissions/${permission}/approve`);
    await agent.request();
    await world.work();
    expect((await readExport(account, id)).row_count).toBe(1);
    expect(await sequences(account)).toEqual([1, 2, 3]);
  });

  it('includes the start time, excludes the end time, and reads bare dates as whole days', async () => {
    const { account, agent, world } = await makeAccount();
    for (let i = 0; i < 4; i++) {
      await agent.request();
      world.advance(6 * 3_600_000);
    }
    const cases: [string, string, number[]][] = [
      ['2026-01-31', '2026-01-31', [1, 2]],
      ['2026-02-01', '2026-02-01', [3, 4]],
      ['2026-01-31T18:00:00Z', '2026-02-01T06:00:00Z', [2, 3]],
      ['2026-01-31T18:00:00.001Z', '2026-02-01T06:00:00.001Z', [3, 4]],
      ['2026-01-31T19:00:00+01:00', '2026-02-01T00:00:00Z', [2]],
      ['2026-01-31T18:00:00Z', '2026-01-31T18:00:00Z', []],
      ['2026-01-31T18:00:00Z', '2026-01-31', [2]],
    ];
    for (const [start_date, end_date, expected] of cases) {
      expect(await sequences(account, { start_date, end_date })).toEqual(expected);
    }
  });

  it('filters by agent, event types, or both, in the order of the log', async () => {
    const { account, agent, world } = await makeAccount();
    const other = await account.agent();
    for (const asking of [agent, other, agent, other, other]) {
      // A request and a token expire, in turns.
      await asking.request({ expires_in: 60 });
      await asking.approved({ token_ttl: 60 });
      world.advance(60_000);
      await world.sweep();
      const { id } = await asking.request();
      await account.must(200, 'POST', `/v1/permissions/${id}/deny`);
    }
    const log = await account.log();
    for (const agent_id of [undefined, agent.id, other.id]) {
      for (const event_types of [
        undefined,
        ['deny'],
        ['deny', 'approve'],
        ['expire'],
        ['request', 'use', 'expire', 'revoke', 'deny'],
      ]) {
        const wanted = log.filter(
          (entry) =>
            (agent_id === undefined || entry.agent_id === agent_id) &&
            (event_types === undefined || event_types.includes(entry.event_type)),
        );
        const fields = { ...(agent_id && { agent_id }), ...(event_types && { event_types }) };
        expect(await sequences(account, fields)).toEqual(wanted.map(({ sequence }) => sequence));
      }
    }
  });

  it.each(['agent_01h455vb4pex5vsknk084sn02q', 'nonsense', ''])(
    'has no rows for the unknown agent %j',
    async (agent_id) => {
      const { account, agent } = await makeAccount();
      await agent.request();
      const { shown } = await makeExport(account, { agent_id });
      expect([shown.status, shown.row_count, shown.agent_id]).toEqual(['completed', 0, agent_id]);
    },
  );

  it('has no rows for an agent of another account', async () => {
    const { account } = await makeAccount();
    const foreign = await makeAccount();
    await foreign.agent.request();
    expect(await sequences(account, { agent_id: foreign.agent.id })).toEqual([]);
    expect(await sequences(foreign.account, { agent_id: foreign.agent.id })).toEqual([1]);
  });

  it('has exactly the entries within the account’s retention at the time of the request', async () => {
    const { account, agent, world } = await makeAccount({ plan: 'free' });
    await agent.request();
    world.advance(DAY);
    await agent.request();
    world.advance(6 * DAY);
    const id = await startExport(account);
    world.advance(2 * DAY);
    await world.work();
    expect((await readExport(account, id)).row_count).toBe(2);
    world.advance(-2 * DAY + 1);
    expect(await sequences(account)).toEqual([2]);
  });

  it('omits entries of deleted agents, before and after their erasure', async () => {
    const { account, agent, world } = await makeAccount();
    const leaving = await account.agent();
    await leaving.request();
    await agent.request();
    await leaving.request();
    await account.must(204, 'DELETE', `/v1/agents/${leaving.id}`);
    expect(await sequences(account)).toEqual([2]);
    await world.sweep();
    expect(await sequences(account)).toEqual([2]);
  });

  it('is recorded in the activity with its id and the user token that requested it', async () => {
    const { account } = await makeAccount();
    const id = await startExport(account);
    const { body } = await account.must(200, 'GET', '/v1/activity?action=export.requested');
    expect(body.data).toMatchObject([{ target: id, actor: account.tokenId }]);
  });

  it('is answered with 503, not `too_many_exports`, while the database fails', async () => {
    const database = new FaultyDatabase(env.DB);
    const account = await new World({ DB: database.binding }).account();
    database.refuse(/insert into "files"/);
    const answer = await account.call('POST', '/v1/audit/export', ALWAYS);
    expect([answer.status, answer.body.code]).toEqual([503, 'unavailable']);
  });

  it('completes even if the queue loses or refuses its message', async () => {
    const { account, world } = await makeAccount();
    world.queue.broken = true;
    const ids = [await startExport(account)];
    world.queue.broken = false;
    ids.push(await startExport(account));
    world.queue.take();
    await world.sweep();
    await world.work();
    for (const id of ids) expect((await readExport(account, id)).status).toBe('completed');
  });
});

describe('an invalid export request', () => {
  it.each<[string, Json, string]>([
    [
      'an end before the start',
      { start_date: '2026-02-01', end_date: '2026-01-31' },
      'body.start_date',
    ],
    [
      'a start at the midnight that ends the last day',
      { start_date: '2026-02-01T00:00:00Z', end_date: '2026-01-31' },
      'body.start_date',
    ],
    ['a day that does not exist', { start_date: '2026-02-30' }, 'body.start_date'],
    ['an hour that does not exist', { end_date: '2026-02-01T24:00:00Z' }, 'body.end_date'],
    ['a time without an offset', { end_date: '2026-02-01T12:00:00' }, 'body.end_date'],
    ['no start', { start_date: undefined }, 'body.start_date'],
    ['no end', { end_date: undefined }, 'body.end_date'],
    ['a number for a date', { start_date: 1_769_860_800_000 }, 'body.start_date'],
    ['an unknown format', { format: 'xlsx' }, 'body.format'],
    ['a format in capitals', { format: 'CSV' }, 'body.format'],
    ['an unknown event type', { event_types: ['request', 'created'] }, 'body.event_types'],
    ['no event type', { event_types: [] }, 'body.event_types'],
    ['an event type twice', { event_types: ['deny', 'deny'] }, 'body.event_types'],
    ['event types as a string', { event_types: 'deny' }, 'body.event_types'],
    ['an agent that is not a string', { agent_id: 7 }, 'body.agent_id'],
    ['include_details as a string', { include_details: 'true' }, 'body.include_details'],
    ['a read-only field', { row_count: 1 }, 'body.row_count'],
  ])('is rejected with 400 and changes nothing: %s', async (_, fields, path) => {
    const { account } = await makeAccount();
    const answer = await account.call('POST', '/v1/audit/export', { ...ALWAYS, ...fields });
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request']);
    expect(answer.body.errors[0].path.startsWith(path)).toBe(true);
    expect((await account.must(200, 'GET', '/v1/audit/export')).body.data).toEqual([]);
  });
});

describe('five processing exports', () => {
  it('are the maximum of an account', async () => {
    const { account, world } = await makeAccount();
    const ids = [];
    for (let i = 0; i < 5; i++) ids.push(await startExport(account));
    const refused = await account.call('POST', '/v1/audit/export', ALWAYS);
    expect([refused.status, refused.body.code]).toEqual([429, 'too_many_exports']);
    expect(refused.headers.get('Retry-After')).toMatch(/^\d+$/);
    const other = await world.account();
    await startExport(other);
    expect(
      (await account.must(200, 'GET', '/v1/activity?action=export.requested')).body.data,
    ).toHaveLength(5);
    await world.work();
    await startExport(account);
    for (const id of ids) expect((await readExport(account, id)).status).toBe('completed');
  });

  it('are the maximum even with concurrent requests', async () => {
    const { account } = await makeAccount();
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => account.call('POST', '/v1/audit/export', ALWAYS)),
    );
    const statuses = answers.map(({ status }) => status).toSorted();
    expect(statuses).toEqual([...Array(5).fill(202), ...Array(7).fill(429)]);
  });
});

describe('the list of exports', () => {
  it('is newest first, in pages, and has only exports of the account', async () => {
    const { account, world } = await makeAccount();
    const ids: string[] = [];
    for (let i = 0; i < 7; i++) {
      world.advance(SECOND);
      ids.unshift((await makeExport(account)).id);
    }
    await makeExport(await world.account());
    const seen: string[] = [];
    for (let cursor = ''; ; ) {
      const { body } = await account.must(
        200,
        'GET',
        `/v1/audit/export?limit=3${cursor && `&cursor=${cursor}`}`,
      );
      seen.push(...body.data.map(({ export_id }: Json) => export_id));
      if (!body.has_more) break;
      cursor = body.next_cursor;
    }
    expect(seen).toEqual(ids);
  });

  it('has no reports, and the endpoint of a single export does not find reports', async () => {
    const { account } = await makeAccount();
    const ids = [await startExport(account), await startExport(account)];
    await env.DB.prepare(
      `update files set kind = 1
       where (account, id) = (select account, id from files where account = (select max(number) from accounts) limit 1)`,
    ).run();
    const { body } = await account.must(200, 'GET', '/v1/audit/export');
    expect(body.data).toHaveLength(1);
    const [report] = ids.filter((id) => id !== body.data[0].export_id);
    await account.must(404, 'GET', `/v1/audit/export/${report}`);
  });

  it('rejects a cursor of another account', async () => {
    const { account } = await makeAccount();
    await startExport(account);
    await startExport(account);
    const { body } = await account.must(200, 'GET', '/v1/audit/export?limit=1');
    const { account: other } = await makeAccount();
    const answer = await other.call('GET', `/v1/audit/export?limit=1&cursor=${body.next_cursor}`);
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_cursor']);
  });
});

it('an export is not found by another account, with the prefix of reports, or with an invalid id', async () => {
  const { account } = await makeAccount();
  const id = await startExport(account);
  const other = await makeAccount();
  await other.account.must(404, 'GET', `/v1/audit/export/${id}`);
  for (const text of [id.replace('export_', 'report_'), id.toUpperCase(), 'x', `${id}x`]) {
    await account.must(404, 'GET', `/v1/audit/export/${text}`);
  }
});

describe('the deletion of an agent', () => {
  it('fails only those processing exports that may contain its entries', async () => {
    const { account, agent, world } = await makeAccount();
    const staying = await account.agent();
    await agent.request();
    await staying.request();
    const ids = {
      all: await startExport(account),
      own: await startExport(account, { agent_id: agent.id }),
      other: await startExport(account, { agent_id: staying.id }),
      nobody: await startExport(account, { agent_id: 'nobody' }),
    };
    await account.must(204, 'DELETE', `/v1/agents/${agent.id}`);
    for (const id of [ids.all, ids.own]) {
      expect(await readExport(account, id)).toMatchObject({
        status: 'failed',
        error: 'agent_deleted',
        download_url: null,
      });
    }
    await world.work();
    for (const id of [ids.other, ids.nobody])
      expect((await readExport(account, id)).status).toBe('completed');
    for (const id of [ids.all, ids.own])
      expect((await readExport(account, id)).status).toBe('failed');
  });

  it('expires completed exports and deletes their files', async () => {
    const { account, agent, world } = await makeAccount();
    await agent.request();
    const { id, shown } = await makeExport(account);
    const path = shown.download_url.slice(world.env.PUBLIC_URL?.length);
    await account.must(204, 'DELETE', `/v1/agents/${agent.id}`);
    const answer = await world.call('GET', path);
    expect([answer.status, answer.body.code]).toEqual([410, 'download_expired']);
    expect(await readExport(account, id)).toMatchObject({
      status: 'expired',
      download_url: null,
      error: null,
    });
    await world.sweep();
    expect((await env.FILES.list({ prefix: `files/${id}` })).objects).toEqual([]);
  });

  it('in another account changes nothing', async () => {
    const { account } = await makeAccount();
    const { id } = await makeExport(account);
    const other = await makeAccount();
    await other.account.must(204, 'DELETE', `/v1/agents/${other.agent.id}`);
    expect((await readExport(account, id)).status).toBe('completed');
  });
});

it('an export expires 24 hours after completion, and the next sweep deletes its file', async () => {
  const { account, world } = await makeAccount();
  const { id, shown } = await makeExport(account);
  const path = shown.download_url.slice(world.env.PUBLIC_URL?.length);
  world.advance(DAY - 1);
  await world.sweep();
  await world.must(200, 'GET', path);
  world.advance(1);
  const late = await world.call('GET', path);
  expect([late.status, late.body.code]).toEqual([410, 'download_expired']);
  expect(await readExport(account, id)).toMatchObject({
    status: 'expired',
    download_url: null,
    row_count: 0,
  });
  await world.sweep();
  expect((await env.FILES.list({ prefix: `files/${id}` })).objects).toEqual([]);
  expect((await readExport(account, id)).status).toBe('expired');
});

import { describe, expect, it } from 'vitest';
import { type Answer, type Json, type TestAccount, World } from '../support/world';

async function makeAgent() {
  const account = await new World().account();
  return { world: account.world, account, agent: await account.agent() };
}

async function sequences(account: TestAccount, query: string): Promise<number[]> {
  const { body } = await account.must(200, 'GET', `/v1/audit?${query}`);
  return body.data.map(({ sequence }: Json) => sequence);
}

describe('a client that stores the last sequence', () => {
  it('sees the entries after it, oldest first', async () => {
    const { account, agent } = await makeAgent();
    for (let i = 0; i < 5; i++) await agent.request();
    expect(await sequences(account, 'order=asc&after_sequence=0')).toEqual([1, 2, 3, 4, 5]);
    expect(await sequences(account, 'order=asc&after_sequence=3')).toEqual([4, 5]);
    expect(await sequences(account, 'order=asc&after_sequence=5')).toEqual([]);
    expect(await sequences(account, 'order=asc&after_sequence=4294967295')).toEqual([]);
    expect(
      await sequences(account, 'order=asc&after_sequence=1&event_type=request&limit=2'),
    ).toEqual([2, 3]);
  });

  it('misses no entry while entries are added', async () => {
    const { account, agent } = await makeAgent();
    const seen: number[] = [];
    let writing = true;
    const write = async () => {
      for (let i = 0; i < 10; i++)
        await Promise.all(Array.from({ length: 4 }, () => agent.request()));
      writing = false;
    };
    const tail = async () => {
      for (;;) {
        const wasWriting = writing;
        const page = await sequences(
          account,
          `order=asc&limit=7&after_sequence=${seen.at(-1) ?? 0}`,
        );
        seen.push(...page);
        if (!wasWriting && page.length === 0) break;
      }
    };
    await Promise.all([write(), tail()]);
    expect(seen).toEqual(Array.from({ length: 40 }, (_, i) => i + 1));
  });

  it('goes on with the same filters and the cursor of each page', async () => {
    await (await makeAgent()).agent.request();
    const { account, agent } = await makeAgent();
    for (let i = 0; i < 5; i++) await agent.request();
    const filters = 'order=asc&after_sequence=0&limit=2';
    const pages = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body }: Answer = await account.must(
        200,
        'GET',
        `/v1/audit?${filters}${cursor && `&cursor=${cursor}`}`,
      );
      pages.push(body.data.map(({ sequence }: Json) => sequence));
      cursor = body.next_cursor;
    }
    expect(pages).toEqual([[1, 2], [3, 4], [5]]);
  });

  it.each(['', '&after_sequence=2'])(
    'needs the sequence that the cursor was made with, not %j',
    async (changed) => {
      const { account, agent } = await makeAgent();
      for (let i = 0; i < 5; i++) await agent.request();
      const { body } = await account.must(
        200,
        'GET',
        '/v1/audit?order=asc&after_sequence=1&limit=2',
      );
      const query = `order=asc&limit=2${changed}&cursor=${body.next_cursor}`;
      expect((await account.call('GET', `/v1/audit?${query}`)).body.code).toBe('invalid_cursor');
    },
  );

  it.each(['', 'order=desc&'])('cannot read newest first (%j)', async (order) => {
    const { account } = await makeAgent();
    const { status, body } = await account.call('GET', `/v1/audit?${order}after_sequence=0`);
    expect([status, body.code, body.errors[0].path]).toEqual([
      400,
      'invalid_request',
      'query.after_sequence',
    ]);
  });

  it.each(['-1', '1.5', '1e3', 'abc', '', '99999999999999999999'])(
    'cannot send %j as the sequence',
    async (value) => {
      const { account } = await makeAgent();
      const { status, body } = await account.call(
        'GET',
        `/v1/audit?order=asc&after_sequence=${value}`,
      );
      expect([status, body.errors[0].path]).toEqual([400, 'query.after_sequence']);
    },
  );
});

describe('a page', () => {
  it.each(['asc', 'desc'])(
    'is followed by the next entries in order %s, while entries are added',
    async (order) => {
      const { account, agent } = await makeAgent();
      for (let i = 0; i < 10; i++) await agent.request();
      const seen: number[] = [];
      for (let cursor = ''; ; ) {
        const { body } = await account.must(
          200,
          'GET',
          `/v1/audit?limit=3&order=${order}${cursor}`,
        );
        seen.push(...body.data.map(({ sequence }: Json) => sequence));
        if (!body.has_more || seen.length > 50) break;
        cursor = `&cursor=${body.next_cursor}`;
        if (seen.length < 8) await agent.request();
      }
      const wanted = {
        asc: Array.from({ length: 12 }, (_, i) => i + 1),
        desc: [10, 9, 8, 7, 6, 5, 4, 3, 2, 1],
      }[order];
      expect(seen).toEqual(wanted);
    },
  );

  it('has 50 entries by default, and accepts a limit of 1,000', async () => {
    const { account, agent } = await makeAgent();
    for (let i = 0; i < 3; i++)
      await Promise.all(Array.from({ length: 17 }, () => agent.request()));
    expect(await sequences(account, '')).toHaveLength(50);
    const { body } = await account.must(200, 'GET', '/v1/audit?limit=1000');
    expect([body.data.length, body.has_more, body.next_cursor]).toEqual([51, false, null]);
    const whole = await account.must(200, 'GET', '/v1/audit?limit=51');
    expect([whole.body.data.length, whole.body.has_more, whole.body.next_cursor]).toEqual([
      51,
      false,
      null,
    ]);
  });
});

describe('an entry', () => {
  it('is the same when read by its id as in the list', async () => {
    const { account, agent } = await makeAgent();
    await agent.approved();
    for (const entry of await account.log()) {
      expect((await account.must(200, 'GET', `/v1/audit/${entry.id}`)).body).toEqual(entry);
    }
  });

  it('is invisible to every other account', async () => {
    const { world, account, agent } = await makeAgent();
    const { id } = await agent.request();
    const [entry] = await account.log();
    const stranger = await world.account();
    await (await stranger.agent()).request({ action: 'other.action' });
    await stranger.must(404, 'GET', `/v1/audit/${entry.id}`);
    for (const filter of [`agent_id=${agent.id}`, `permission_id=${id}`, 'action=email.send']) {
      expect(await sequences(stranger, filter)).toEqual([]);
    }
    expect((await stranger.log()).map(({ sequence, user_id }) => [sequence, user_id])).toEqual([
      [1, stranger.id],
    ]);
  });

  it.each([
    'audit_01h455vb4pex5vsknk084sn02q',
    'perm_01h455vb4pex5vsknk084sn02q',
    'x',
    '%00',
    '%ff',
  ])('is not found under the id %s', async (id) => {
    const { account } = await makeAgent();
    const { status, body } = await account.call('GET', `/v1/audit/${id}`);
    expect([status, body.code]).toEqual([404, 'not_found']);
  });

  it('never has an earlier time than the entry before it', async () => {
    const { world, account, agent } = await makeAgent();
    await agent.request();
    world.advance(-10_000);
    await agent.request();
    world.advance(10_001);
    await agent.request();
    expect((await account.log()).map(({ created_at }) => created_at)).toEqual([
      '2026-01-31T12:00:00.000Z',
      '2026-01-31T12:00:00.000Z',
      '2026-01-31T12:00:00.001Z',
    ]);
  });
});

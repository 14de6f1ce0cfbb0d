import { beforeAll, describe, expect, it } from 'vitest';
import {
  type Answer,
  type Json,
  type TestAccount,
  type TestAgent,
  World,
  withoutContents,
} from '../support/world';

let world: World;
let account: TestAccount;
let first: TestAgent;
let second: TestAgent;
/** The names of the permissions, by id. */
const names = new Map<string, string>();

async function ask(name: string, agent: TestAgent, fields: Json, decision?: string) {
  world.advance(1);
  const { id } = await agent.request({ expires_in: 86_400, ...fields });
  names.set(id, name);
  if (decision) await account.must(200, 'POST', `/v1/permissions/${id}/${decision}`);
}

beforeAll(async () => {
  world = new World();
  account = await world.account();
  [first, second] = [await account.agent(), await account.agent()];
  await ask('p1', first, { action: 'mail.send' });
  await ask('p2', second, { action: 'mail.send' }, 'approve');
  await ask('p3', first, { action: 'mail.read' }, 'approve');
  await ask('p4', first, { action: 'mail.send' }, 'deny');
  await ask('p5', second, { action: 'mail.read' }, 'deny');
  await ask('p6', first, { action: 'mail.send', expires_in: 60 });
  world.advance(60_000);
  await world.sweep();
  await ask('p7', second, { action: 'mail.send', expires_in: 60 });
  await ask('p8', first, { action: 'mail.read', expires_in: 60 });
  world.advance(60_000);
  // p6 has expired and was swept; p7 and p8 have expired but were not swept: they are listed as
  // neither pending nor expired.
  await ask('p9', first, { action: 'mail.read' });
});

type Caller = { call(method: string, path: string): Promise<Answer> };

/** The names on every page of a list. */
async function list(caller: Caller, query: string, limit = 100): Promise<string> {
  const seen: string[] = [];
  for (let cursor = ''; ; ) {
    const { status, body } = await caller.call(
      'GET',
      `/v1/permissions?limit=${limit}${query}${cursor}`,
    );
    expect(status).toBe(200);
    expect(body.data.length).toBeLessThanOrEqual(limit);
    expect(typeof body.next_cursor).toBe(body.has_more ? 'string' : 'object');
    seen.push(...body.data.map(({ id }: Json) => names.get(id)));
    if (!body.has_more) return seen.join(' ');
    cursor = `&cursor=${body.next_cursor}`;
  }
}

const FILTERS: [filter: string, ofAccount: string, ofFirst: string][] = [
  ['', 'p9 p8 p7 p6 p5 p4 p3 p2 p1', 'p9 p8 p6 p4 p3 p1'],
  ['&status=pending', 'p9 p1', 'p9 p1'],
  ['&status=approved', 'p3 p2', 'p3'],
  ['&status=denied', 'p5 p4', 'p4'],
  ['&status=expired', 'p6', 'p6'],
  ['&action=mail.send', 'p7 p6 p4 p2 p1', 'p6 p4 p1'],
  ['&action=mail.read', 'p9 p8 p5 p3', 'p9 p8 p3'],
  ['&action=mail', '', ''],
  ['&action=MAIL.SEND', '', ''],
  ['&action=mail.send&status=pending', 'p1', 'p1'],
  ['&action=mail.send&status=expired', 'p6', 'p6'],
  ['&action=mail.read&status=expired', '', ''],
  ['&action=mail.read&status=approved', 'p3', 'p3'],
];

describe.each([1, 2, 100])('a list with %d items per page', (limit) => {
  it.each(FILTERS)(
    'has exactly the permissions that match %j, newest first',
    async (filter, ofAccount, ofFirst) => {
      expect(await list(account, filter, limit)).toBe(ofAccount);
      expect(await list(first, filter, limit)).toBe(ofFirst);
      expect(await list(account, `${filter}&agent_id=${first.id}`, limit)).toBe(ofFirst);
      expect(await list(first, `${filter}&agent_id=${first.id}`, limit)).toBe(ofFirst);
    },
  );
});

it('the list of an agent has no permission of another agent, whatever the filters', async () => {
  expect(await list(first, `&agent_id=${second.id}`)).toBe('');
  expect(await list(first, `&agent_id=${second.id}&action=mail.send`)).toBe('');
  expect(await list(second, '')).toBe('p7 p5 p2');
});

it.each(['agent_01h455vb4pex5vsknk084sn02q', 'user_01h455vb4pex5vsknk084sn02q', 'x', '%ff'])(
  'a list for the unknown agent %s is empty',
  async (id) => {
    expect(await list(account, `&agent_id=${id}`)).toBe('');
    expect(await list(first, `&agent_id=${id}`)).toBe('');
    expect(await list(account, `&agent_id=${id}&action=mail.send&status=pending`)).toBe('');
  },
);

it('the list of an account has no permission of another account', async () => {
  const stranger = await world.account();
  expect(await list(stranger, '')).toBe('');
  expect(await list(stranger, `&agent_id=${first.id}`)).toBe('');
  expect(await list(stranger, '&action=mail.send')).toBe('');
});

it('a list shows each permission as GET /v1/permissions/:id does', async () => {
  for (const caller of [account, first]) {
    const { body } = await caller.must(200, 'GET', '/v1/permissions');
    for (const permission of body.data) {
      const { body: read } = await caller.must(200, 'GET', `/v1/permissions/${permission.id}`);
      expect(permission).toEqual(withoutContents(read));
    }
  }
});

it('a list shows the value of a token only to its agent', async () => {
  const values = async (caller: TestAccount | TestAgent) =>
    (await caller.must(200, 'GET', '/v1/permissions?status=approved')).body.data.map(
      ({ token }: Json) => typeof token.value,
    );
  expect(await values(account)).toEqual(['undefined', 'undefined']);
  expect(await values(first)).toEqual(['string']);
});

it('a page has 20 items by default, and requests that are added meanwhile do not shift the next page', async () => {
  const agent = await (await world.account()).agent();
  const made: string[] = [];
  for (let i = 0; i < 25; i++) {
    world.advance(1);
    made.unshift((await agent.request()).id);
  }
  const page = (await agent.must(200, 'GET', '/v1/permissions')).body;
  world.advance(1);
  await agent.request();
  const rest = (await agent.must(200, 'GET', `/v1/permissions?cursor=${page.next_cursor}`)).body;
  expect(page.data).toHaveLength(20);
  expect([...page.data, ...rest.data].map(({ id }) => id)).toEqual(made);
});

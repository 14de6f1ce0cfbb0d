import { env } from 'cloudflare:test';
import { expect, it } from 'vitest';
import { entryId } from '../../src/ledger/entry-id';
import { idBytes, sequenceOfId, timeOfId } from '../../src/lib/typeid';
import { type Json, World } from '../support/world';

const ZEROS = new Uint8Array(22);

it.each([1, 2, 1_023, 1_024, 2 ** 20 - 1, 2 ** 20, 2 ** 31, 2 ** 32 - 1])(
  'the id of entry %i is a UUIDv7 that names its time and sequence',
  (sequence) => {
    const createdAt = Date.UTC(2026, 10, 27, 12, 0, 0, 1);
    for (const random of [ZEROS, new Uint8Array(22).fill(255)]) {
      const id = entryId({ createdAt, sequence, random });
      const bytes = idBytes(id);
      expect((bytes[6] ?? 0) >> 4).toBe(7);
      expect((bytes[8] ?? 0) >> 6).toBe(2);
      expect(timeOfId(id)).toBe(createdAt);
      expect(sequenceOfId(id)).toBe(sequence);
    }
  },
);

it('an id has 42 random bits, none of them of the salt', () => {
  const idOf = (random: Uint8Array) => entryId({ createdAt: 0, sequence: 7, random });
  const flip = (bit: number) =>
    ZEROS.map((byte, at) => byte ^ (at === bit >> 3 ? 0x80 >> (bit & 7) : 0));
  const changes = Array.from({ length: 22 * 8 }, (_, bit) => idOf(flip(bit)) !== idOf(ZEROS));
  expect(changes.slice(0, 16 * 8)).toEqual(Array(16 * 8).fill(false));
  expect(changes.filter(Boolean)).toHaveLength(42);
});

it('an id that differs from that of the entry at its place finds nothing', async () => {
  const world = new World();
  const [first, second] = [await world.account(), await world.account()];
  await (await first.agent()).approved();
  await (await second.agent()).approved();
  const [{ id }] = (await second.log()) as [{ id: string }];
  await second.must(200, 'GET', `/v1/audit/${id}`);
  const last = id.endsWith('0') ? '1' : '0';
  await second.must(404, 'GET', `/v1/audit/${id.slice(0, -1)}${last}`);
  await second.must(404, 'GET', `/v1/audit/${id.slice(0, -1)}${last}/proof`);
  // The same place in another account's log holds another entry.
  await first.must(404, 'GET', `/v1/audit/${id}`);
  await first.must(404, 'GET', `/v1/audit/${id}/proof`);
  const { results } = await env.DB.prepare('select count(*) as count from audit_entries').all();
  expect(results).toEqual([{ count: 4 }]);
});

it.each(['asc', 'desc'])('the entries of a permission are found in order %s', async (order) => {
  const world = new World();
  const [other, account] = [await world.account(), await world.account()];
  await (await other.agent()).approved();
  const [agent, neighbour] = [await account.agent(), await account.agent()];
  const { id, token } = await agent.approved({ max_uses: 5 });
  await neighbour.approved();
  for (let uses = 0; uses < 5; uses++)
    await agent.must(200, 'POST', '/v1/tokens/use', { token: token.value });
  const log = await account.log();
  const own = log.filter(({ permission_request_id }) => permission_request_id === id);
  expect(own).toHaveLength(7);
  if (order === 'desc') own.reverse();
  const list = async (query: string, of = account) => {
    const entries: Json[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const path = `/v1/audit?permission_id=${id}&order=${order}&limit=2${query}`;
      const { body } = await of.must(200, 'GET', `${path}${cursor && `&cursor=${cursor}`}`);
      entries.push(...body.data);
      cursor = body.next_cursor;
    }
    return entries;
  };
  const uses = own.filter(({ event_type }) => event_type === 'use');
  expect(await list('')).toEqual(own);
  expect(await list('&event_type=use')).toEqual(uses);
  expect(await list(`&agent_id=${agent.id}`)).toEqual(own);
  expect(await list(`&agent_id=${neighbour.id}`)).toEqual([]);
  expect(await list('&action=other.action')).toEqual([]);
  expect(await list('&action=email.send')).toEqual(own);
  expect(await list('', other)).toEqual([]);
});

import { expect, it } from 'vitest';
import { World, withoutContents } from '../support/world';

const CALLERS = 50;

it('exactly one of 50 concurrent approvals and denials succeeds', async () => {
  const account = await new World().account();
  const agent = await account.agent();
  const { id } = await agent.request();
  const decisions = Array.from({ length: CALLERS }, (_, i) =>
    account.call('POST', `/v1/permissions/${id}/${i % 2 ? 'approve' : 'deny'}`, {
      reason: `decision ${i}`,
    }),
  );
  const answers = await Promise.all(decisions);
  const winners = answers.filter(({ status }) => status === 200);
  expect(winners).toHaveLength(1);
  expect(
    answers.filter(({ status, body }) => status === 409 && body.code === 'not_pending'),
  ).toHaveLength(CALLERS - 1);
  const decided = (await account.log()).filter(({ event_type }) => event_type !== 'request');
  expect(decided).toHaveLength(1);
  const permission = (await account.must(200, 'GET', `/v1/permissions/${id}`)).body;
  expect(withoutContents(permission)).toEqual(winners[0]?.body);
  expect(decided[0].details.decision_reason).toBe(permission.decision_reason);
  expect(decided[0].event_type).toBe(permission.status === 'approved' ? 'approve' : 'deny');
});

it('exactly 10 of 50 concurrent uses of a token with 10 uses succeed', async () => {
  const account = await new World().account();
  const agent = await account.agent();
  const { token } = await agent.approved({ max_uses: 10 });
  const uses = Array.from({ length: CALLERS }, (_, i) =>
    (i % 2 ? account : agent).call('POST', '/v1/tokens/use', { token: token.value }),
  );
  const answers = await Promise.all(uses);
  const used = answers.filter(({ status }) => status === 200).map(({ body }) => body.uses);
  expect(used.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  const refused = answers.filter(({ status }) => status !== 200);
  expect(
    new Set(refused.map(({ status, body }) => `${status} ${body.code} ${body.reason}`)),
  ).toEqual(new Set(['409 token_not_active used']));
  expect(Math.max(...answers.map(({ cost }) => cost.trips))).toBe(2);
  expect((await account.log('&event_type=use')).length).toBe(10);
  const { body: statistics } = await account.must(200, 'GET', `/v1/agents/${agent.id}/stats`);
  expect(statistics.tokens_used).toBe(1);
});

it('entries of concurrent requests are numbered without gaps or duplicates', async () => {
  const account = await new World().account();
  const agents = await Promise.all(Array.from({ length: 5 }, () => account.agent()));
  await Promise.all(Array.from({ length: CALLERS }, (_, i) => agents[i % 5]?.request()));
  const sequences = (await account.log()).map(({ sequence }) => sequence);
  expect(sequences).toEqual(Array.from({ length: CALLERS }, (_, i) => i + 1));
});

it('exactly one key is current after concurrent rotations', async () => {
  const world = new World();
  const account = await world.account();
  const agent = await account.agent();
  const rotations = Array.from({ length: 8 }, () =>
    account.must(200, 'POST', `/v1/agents/${agent.id}/rotate-key`, { grace_period: 60 }),
  );
  const keys = (await Promise.all(rotations)).map(({ body }) => body.api_key);
  world.advance(60_000);
  const answers = await Promise.all(
    [agent.key, ...keys].map((token) => world.call('GET', '/v1/permissions', { token })),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(answers.filter(({ status }) => status === 401)).toHaveLength(8);
});

import { describe, expect, it } from 'vitest';
import { type Json, makeAgent, type TestAccount, type TestAgent, World } from '../support/world';

/**
 * Resources that look like `account:main`, or like another one of the list, and what is wrong with
 * them.
 */
const REFUSED: [resource: string, fault: string][] = [
  ['account:main ', 'a blank'],
  ['account:main\u00a0', 'a blank'],
  ['account:main\u2800', 'a blank'],
  ['account:main\u3164', 'a blank'],
  ['account:main\n', 'a blank'],
  ['account: main', '<kind>:<identifier>'],
  ['account:\u3000main', 'U+3000'],
  [' account:main', 'a blank'],
  ['account:ma\u00a0in', 'U+00A0'],
  ['account:ma\u200bin', 'U+200B'],
  ['account:ma\u00adin', 'U+00AD'],
  ['account:ma\u202ein', 'U+202E'],
  ['account:ma\tin', 'U+0009'],
  ['account:ma\u034fin', 'U+034F'],
  ['account:ma\u{e0069}in', 'U+E0069'],
  ['account:main\ufe0f', 'U+FE0F'],
  ['account:1\ufe0f', 'U+FE0F'],
  ['account:m\ufe0ein', 'U+FE0E'],
];

const TAKEN = [
  'account:main',
  'account:a b',
  'account:☺\ufe0f',
  'account:☺\ufe0e x',
  'account:“é😀” 日本',
  'k-1_x:y:z',
];

/**
 * An account that is not the first one, with a policy that denies `account:main` and one that
 * approves the rest.
 */
async function makeGuarded(): Promise<{ account: TestAccount; agent: TestAgent }> {
  const world = new World();
  const first = await makeAgent(world);
  await first.agent.request();
  const { account, agent } = await makeAgent(world);
  const policy = { actions: ['*'], token_ttl: null };
  await account.must(201, 'POST', '/v1/policies', {
    ...{
      ...policy,
      name: 'Not this one',
      effect: 'deny',
      resources: ['account:main', 'account:☺'],
    },
  });
  await account.must(201, 'POST', '/v1/policies', {
    ...policy,
    name: 'Others',
    effect: 'approve',
    resources: ['*'],
  });
  return { account, agent };
}

const faultOf = ({ status, body }: { status: number; body: Json }) => [
  status,
  JSON.stringify(body.errors),
];

describe('a resource', () => {
  it('that looks like another one is refused, so no denial is evaded', async () => {
    const { account, agent } = await makeGuarded();
    for (const [resource, fault] of REFUSED) {
      const asked = { action: 'payment.send', resource };
      const refused = [400, expect.stringMatching(/"path":"body.resource"/)];
      const answers = [
        await agent.call('POST', '/v1/permissions', asked),
        await account.call('POST', '/v1/policies/simulate', asked),
      ];
      for (const answer of answers) {
        expect([resource, ...faultOf(answer)]).toEqual([resource, ...refused]);
        expect([resource, faultOf(answer)[1]]).toEqual([resource, expect.stringContaining(fault)]);
      }
    }
    expect((await account.must(200, 'GET', '/v1/permissions')).body.data).toEqual([]);
  });

  it('may have spaces, pictographs with a selector, and letters of every script', async () => {
    const { account, agent } = await makeGuarded();
    for (const resource of TAKEN) {
      const { id } = await agent.request({ action: 'payment.send', resource });
      const { body } = await account.must(200, 'GET', `/v1/permissions/${id}`);
      const status = resource === 'account:main' ? 'denied' : 'approved';
      expect([body.resource, body.status]).toEqual([resource, status]);
    }
  });

  it('or an action that looks like that of a token is refused at its use', async () => {
    const { account, agent } = await makeGuarded();
    const { id } = await agent.request({ action: 'payment.send', resource: 'account:a b' });
    const { body } = await agent.must(200, 'GET', `/v1/permissions/${id}`);
    const token = body.token.value;
    for (const fields of [
      { resource: 'account:a b ' },
      { resource: 'account:a\u00a0b' },
      { action: 'payment.send ' },
      { action: 'payment\u200b.send' },
    ]) {
      const answer = await account.call('POST', '/v1/tokens/use', { token, ...fields });
      expect([fields, answer.status, answer.body.errors[0].path]).toEqual([
        fields,
        400,
        `body.${Object.keys(fields)[0]}`,
      ]);
    }
    const right = { token, action: 'payment.send', resource: 'account:a b' };
    expect((await account.must(200, 'POST', '/v1/tokens/use', right)).body.remaining_uses).toBe(0);
  });
});

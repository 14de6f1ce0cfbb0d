import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { guardTool } from '../../src/packages/client/adapters/ai-sdk.ts';
import { GuardError, type GuardOptions, type Permission } from '../../src/packages/client/index.ts';
import { makeAgent, type TestAccount } from '../support/world';
import { answerOf, makeClient, PAYMENT, type Payment } from './process';

const INPUT: Payment = { amount: 120, to: '4711' };

/** Everything that a program could log of an error. */
function printed(error: unknown): string {
  const { message, stack } = error as Error;
  const own = Object.values(Object.getOwnPropertyDescriptors(error as Error)).map(
    ({ value }) => value,
  );
  const options = { depth: Number.POSITIVE_INFINITY, showHidden: true };
  return [
    String(error),
    message,
    stack,
    JSON.stringify(error),
    JSON.stringify(own),
    inspect(error, options),
  ].join('\n');
}

/**
 * A world with two accounts, whose second one is guarded, and the secrets that were sent or
 * received.
 */
async function stage() {
  await makeAgent();
  const { world, account, agent } = await makeAgent();
  const secrets = new Set([agent.key]);
  /** The path that fails, and how. */
  let fault: { path: string; answer: () => Response } | null = null;
  const client = makeClient(world, agent.key, {
    maxRetries: 0,
    fetch: async (url, request) => {
      const { pathname } = url as URL;
      if (pathname === fault?.path) return fault.answer();
      const answer = await answerOf(world, url as URL, request ?? {});
      const { token } = (await answer
        .clone()
        .json()
        .catch(() => ({}))) as Partial<Permission>;
      if (token?.value) secrets.add(token.value);
      return answer;
    },
  });
  const break_ = (path: string, answer: () => Response) => {
    fault = { path, answer };
  };
  return { world, account, agent, client, secrets, break: break_ };
}

type Scene = Awaited<ReturnType<typeof stage>>;

async function approve(account: TestAccount, body: object = {}): Promise<void> {
  const { data } = (await account.must(200, 'GET', '/v1/permissions?status=pending')).body;
  await account.must(200, 'POST', `/v1/permissions/${data[0].id}/approve`, body);
}

/** What happens to an approved request before the call goes on, and the code of the error. */
const cases: [
  code: string,
  happen: (scene: Scene) => unknown,
  options?: Partial<GuardOptions<Payment>>,
][] = [
  ['grant_narrowed', () => {}],
  [
    'already_used',
    async ({ client }) => void (await client.guard(async () => 0, OPTIONS)(INPUT, CALL)),
  ],
  ['permission_lapsed', ({ world }) => world.advance(8 * 86_400_000)],
  [
    'permission_denied',
    async ({ account }) => {
      const { data } = (await account.must(200, 'GET', '/v1/permissions')).body;
      const { body } = await account.must(200, 'GET', `/v1/permissions/${data[0].id}`);
      await account.must(200, 'POST', '/v1/tokens/revoke', { token_id: body.token.id });
    },
  ],
  [
    'unreachable',
    ({ break: fail }) =>
      fail('/v1/tokens/use', () => Promise.reject(new TypeError('reset')) as never),
  ],
  ['unreachable', ({ break: fail }) => fail('/v1/tokens/use', () => new Response('{"value": eyJ'))],
  [
    'token_scope',
    ({ break: fail }) =>
      fail('/v1/tokens/use', () => Response.json({ code: 'token_scope' }, { status: 403 })),
  ],
  [
    'own',
    () => {},
    { fits: () => Promise.reject(Object.assign(new Error('no'), { code: 'own' })) },
  ],
];
const OPTIONS = { ...PAYMENT, mode: 'suspend', fits: () => true } as const;
const CALL = { externalId: 'call-1' };

it.each(cases)(
  'the error %s holds no key and no token in its text, JSON or inspection',
  async (code, happen, more) => {
    const scene = await stage();
    const { client, account, secrets } = scene;
    const narrowed = code === 'grant_narrowed' ? { fits: () => false } : {};
    const options = { ...OPTIONS, ...narrowed, ...more };
    await client
      .guard(async () => 0, options)(INPUT, CALL)
      .catch(() => {});
    await approve(account, { scope: { amount: 100 } });
    // The agent reads its token, as the guard does.
    const page = await client.listPermissions({ external_id: CALL.externalId });
    await client.getPermission(page.data[0]?.id ?? '');
    expect(secrets.size).toBe(2);
    await happen(scene);
    const error = await client
      .guard(async () => 0, options)(INPUT, CALL)
      .catch((reason) => reason);
    expect(error.code).toBe(code);
    const tool = guardTool(
      client,
      { execute: async () => 0 },
      { ...OPTIONS, ...narrowed, ...more },
    );
    const execute = tool.execute as unknown as (...call: unknown[]) => Promise<unknown>;
    const told = await execute(INPUT, { toolCallId: CALL.externalId, messages: [] }).catch(
      (reason) => reason,
    );
    const texts = [error, told, client].map(printed).join('\n');
    expect(texts).toContain(code);
    for (const secret of secrets)
      expect(texts.includes(secret), 'the secret is printed').toBe(false);
    if (error instanceof GuardError) expect(error.permission?.token).not.toHaveProperty('value');
  },
);

it.each([401, 403, 404, 500])('a refusal with %i holds no key', async (status) => {
  const { client, agent, break: fail } = await stage();
  fail('/v1/permissions', () => Response.json({ code: 'refused', detail: 'No.' }, { status }));
  const error = await client
    .guard(
      async () => 0,
      PAYMENT,
    )(INPUT)
    .catch((reason) => reason);
  expect(printed(error)).toContain('refused');
  expect(printed(error)).not.toContain(agent.key);
});

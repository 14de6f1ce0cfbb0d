import { describe, expect, it, vi } from 'vitest';
import {
  AlreadyUsed,
  GuardError,
  type GuardedEnd,
  OutcomeUnknown,
  PermissionPending,
} from '../../src/packages/client/index.ts';
import { depth } from '../support/depth';
import { makeAgent } from '../support/world';
import { describeGuard } from './conformance';
import { answerOf, makeClient, PAYMENT, type Payment } from './process';

describeGuard('guard()', ({ client, act, mode, fits }) => {
  const guarded = client.guard(act, { ...PAYMENT, mode, ...(fits && { fits }) });
  return (input, externalId) => guarded(input, { externalId });
});

/** A client of an agent, and a function that records its runs. */
async function stage() {
  const { world, account, agent } = await makeAgent();
  const act = vi.fn(async ({ amount }: Payment) => `paid ${amount}`);
  return { world, account, agent, act, client: makeClient(world, agent.key) };
}

describe('guard()', () => {
  it.each<[string, unknown, string]>([
    ['undefined', undefined, 'input is undefined'],
    ['a field that is undefined', { to: undefined }, 'input.to is undefined'],
    ['not a number', { list: [1, Number.NaN] }, 'input.list[1] is NaN'],
    ['an infinite number', Number.POSITIVE_INFINITY, 'input is Infinity'],
    ['a bigint', { amount: 1n }, 'input.amount is bigint'],
    ['a function', { act: () => 0 }, 'input.act is function'],
    ['a date', { at: new Date(0) }, 'input.at is an object of the class Date'],
    ['a map', new Map(), 'input is an object of the class Map'],
    ['a lone surrogate', { to: '\ud800' }, 'input.to is a string with a lone surrogate'],
    [
      'a key with a lone surrogate',
      { '\udfff': 1 },
      'input: a key is a string with a lone surrogate',
    ],
    ['a hole in a list', Object.assign([1], { 2: 2 }), 'input[1] is undefined'],
    ['a symbol as key', { [Symbol('a')]: 1 }, 'input is an object with a symbol as key'],
  ])('throws before it asks when the input holds %s', async (_, input, message) => {
    const fetch = vi.fn();
    const client = makeClient(await stage().then(({ world }) => world), 'csa_unused', { fetch });
    const guarded = client.guard(async (value: unknown) => value, {
      action: 'a.b',
      resource: 'c:d',
    });
    await expect(guarded(input)).rejects.toThrow(
      new TypeError(`${message}, which JSON cannot hold.`),
    );
    expect(fetch).not.toHaveBeenCalled();
  });

  it('throws before it asks when the scope holds what JSON cannot', async () => {
    const fetch = vi.fn();
    const { world, act } = await stage();
    const client = makeClient(world, 'csa_unused', { fetch });
    const scope = () => ({ amount: undefined }) as never;
    const guarded = client.guard(act, { ...PAYMENT, scope });
    await expect(guarded({ amount: 5, to: '1' })).rejects.toThrow('scope.amount is undefined');
    expect(fetch).not.toHaveBeenCalled();
  });

  it('throws for an input that holds itself', async () => {
    const { client } = await stage();
    const input: { self?: unknown } = {};
    input.self = input;
    await expect(
      client.guard(async () => 0, { action: 'a.b', resource: 'c:d' })(input),
    ).rejects.toThrow('a cycle');
  });

  it('tells the function which request was approved, also when a policy approved it at once', async () => {
    const { client, account, agent } = await stage();
    const policy = {
      name: 'Payments',
      effect: 'approve',
      actions: ['payment.*'],
      resources: ['account:*'],
    };
    await account.must(201, 'POST', '/v1/policies', policy);
    const guarded = client.guard((_: Payment, _limits, request) => request, PAYMENT);
    const request = await guarded({ amount: 5, to: '1' }, { externalId: 'invoice-1' });
    const { body } = await agent.must(200, 'GET', '/v1/permissions?external_id=invoice-1');
    expect(request).toEqual({ permissionId: body.data[0].id, externalId: 'invoice-1' });
  });

  it('asks for what its options say of the input', async () => {
    const { client, agent, act } = await stage();
    const guarded = client.guard(act, {
      ...PAYMENT,
      mode: 'suspend',
      reason: ({ amount }) => `Invoice of ${amount}`,
      preview: ({ to }) => ({ title: `Pay ${to}` }),
      externalId: ({ to }) => `invoice-${to}`,
    });
    const error = await guarded({ amount: 5, to: '4711' }).catch((reason) => reason);
    expect(error).toBeInstanceOf(PermissionPending);
    const { body } = await agent.must(200, 'GET', `/v1/permissions/${error.permissionId}`);
    expect(body).toMatchObject({
      action: 'payment.send',
      resource: 'account:4711',
      scope: { amount: 500 },
      reason: 'Invoice of 5',
      preview: { title: 'Pay 4711' },
      input: { amount: 5, to: '4711' },
      external_id: 'invoice-4711',
      status: 'pending',
    });
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      externalId: 'invoice-4711',
      permissionId: body.id,
      input: { amount: 5, to: '4711' },
      inputDigest: body.input_digest,
      expiresAt: body.expires_at,
    });
    expect(Date.parse(body.expires_at) - Date.parse(body.created_at)).toBe(604_800_000);
  });

  it('gives a call without an external id one of its own, by which it goes on', async () => {
    const { client, account, act } = await stage();
    const guarded = client.guard(act, { ...PAYMENT, mode: 'suspend' });
    const input = { amount: 5, to: '1' };
    const first = await guarded(input).catch((error) => error);
    const second = await guarded(input).catch((error) => error);
    expect(first.externalId).not.toBe(second.externalId);
    await account.must(200, 'POST', `/v1/permissions/${first.permissionId}/approve`);
    expect(await guarded(input, { externalId: first.externalId })).toBe('paid 5');
    await expect(guarded(input, { externalId: second.externalId })).rejects.toBeInstanceOf(
      PermissionPending,
    );
  });

  it('sends only the digest of a hidden input, which may be larger than 16 KiB', async () => {
    const { client, account, agent } = await stage();
    const guarded = client.guard(async ({ text }: { text: string }) => text.length, {
      action: 'file.write',
      resource: 'file:a',
      mode: 'suspend',
      hideInput: true,
    });
    const input = { text: 'x'.repeat(50_000) };
    const { permissionId, externalId } = await guarded(input).catch((error) => error);
    const { body } = await agent.must(200, 'GET', `/v1/permissions/${permissionId}`);
    expect([body.input, body.input_digest]).toEqual([null, expect.stringMatching(/^sha-256:/)]);
    await account.must(200, 'POST', `/v1/permissions/${permissionId}/approve`);
    expect(await guarded(input, { externalId })).toBe(50_000);
  });

  it('waits no longer than it is told, and says where to decide', async () => {
    const { client, world, act } = await stage();
    const asked = world.now;
    const onPending = vi.fn();
    const guarded = client.guard(act, { ...PAYMENT, wait: 90_000, onPending });
    const error = await guarded({ amount: 5, to: '1' }).catch((reason) => reason);
    expect(error).toBeInstanceOf(PermissionPending);
    expect(world.now - asked).toBeGreaterThanOrEqual(90_000);
    expect(world.now - asked).toBeLessThan(100_000);
    expect(onPending.mock.calls).toEqual([
      [
        {
          permissionId: error.permissionId,
          externalId: error.externalId,
          url: `https://countersign.test/console/permissions/${error.permissionId}`,
        },
      ],
    ]);
    expect(act).not.toHaveBeenCalled();
  });

  it('goes on waiting through an outage of the service', async () => {
    const { world, account, agent, act } = await stage();
    let polls = 0;
    const client = makeClient(world, agent.key, { maxRetries: 0 });
    const getPermission = client.getPermission.bind(client);
    client.getPermission = async (id, query, options) => {
      polls++;
      if (polls <= 20)
        return makeClient(world, agent.key, { maxRetries: 0, fetch: failingFetch }).getPermission(
          id,
        );
      if (polls === 21) await account.must(200, 'POST', `/v1/permissions/${id}/approve`);
      return getPermission(id, query, options);
    };
    expect(await client.guard(act, PAYMENT)({ amount: 5, to: '1' })).toBe('paid 5');
  });

  it('is unreachable when the service does not come back', async () => {
    const { world, agent, act } = await stage();
    let asked = false;
    const client = makeClient(world, agent.key, {
      maxRetries: 0,
      fetch: async (url, request) => {
        if (asked) throw new TypeError('fetch failed');
        asked = true;
        return answerOf(world, url as URL, request ?? {});
      },
    });
    const error = await client
      .guard(
        act,
        PAYMENT,
      )({ amount: 5, to: '1' })
      .catch((reason) => reason);
    expect(error.code).toBe('unreachable');
    expect(error.permissionId).toMatch(/^perm_/);
    expect(act).not.toHaveBeenCalled();
  });

  it('ends the wait with the signal, and does not run', async () => {
    const { client, world, act } = await stage();
    const controller = new AbortController();
    world.whileAsleep = async () => controller.abort(new Error('The user left.'));
    const guarded = client.guard(act, PAYMENT);
    await expect(guarded({ amount: 5, to: '1' }, { signal: controller.signal })).rejects.toThrow(
      'The user left.',
    );
    expect(act).not.toHaveBeenCalled();
  });

  it.each<[string, (stop: () => void) => (request: string) => void]>([
    ['while it waits', (stop) => (request) => request.startsWith('GET /v1/permissions/') && stop()],
    [
      'while the request is on its way',
      (stop) => (request) => request === 'POST /v1/permissions' && stop(),
    ],
  ])('withdraws its request when the signal ends the call %s', async (_, when) => {
    const { world, account, agent, act } = await stage();
    // The account has another request, which stays.
    const { id: other } = await agent.request({ action: 'other.act' });
    const controller = new AbortController();
    const watch = when(() => controller.abort(new Error('The user left.')));
    const client = makeClient(world, agent.key, {
      fetch: async (url, request) => {
        watch(`${request?.method} ${(url as URL).pathname}`);
        request?.signal?.throwIfAborted();
        return answerOf(world, url as URL, request ?? {});
      },
    });
    const call = { externalId: 'a', signal: controller.signal };
    await expect(client.guard(act, PAYMENT)({ amount: 5, to: '1' }, call)).rejects.toThrow(
      'The user left.',
    );
    const { body } = await account.must(200, 'GET', '/v1/permissions');
    const statuses = body.data.map(({ action, status }: { action: string; status: string }) => [
      action,
      status,
    ]);
    expect(statuses.sort()).toEqual([
      ['other.act', 'pending'],
      ['payment.send', 'expired'],
    ]);
    await account.must(200, 'POST', `/v1/permissions/${other}/approve`);
    expect(act).not.toHaveBeenCalled();
  });

  it('withdraws its request when onPending throws', async () => {
    const { client, agent, act } = await stage();
    const onPending = () => Promise.reject(new Error('No chat'));
    await expect(
      client.guard(act, { ...PAYMENT, onPending })({ amount: 5, to: '1' }),
    ).rejects.toThrow('No chat');
    const { body } = await agent.must(200, 'GET', '/v1/permissions?status=pending');
    expect(body.data).toEqual([]);
  });

  it.each<[string, object]>([
    ['in suspend mode', { mode: 'suspend' }],
    ['where a later call goes on with it', { abandoned: 'keep' }],
    ['when the wait is over', { wait: '30s' }],
  ])('keeps its request %s', async (_, options) => {
    const { client, world, agent, act } = await stage();
    const controller = new AbortController();
    if ('abandoned' in options)
      world.whileAsleep = async () => controller.abort(new Error('The user left.'));
    const guarded = client.guard(act, { ...PAYMENT, ...options });
    await guarded({ amount: 5, to: '1' }, { signal: controller.signal }).catch(() => {});
    const { body } = await agent.must(200, 'GET', '/v1/permissions?status=pending');
    expect(body.data).toHaveLength(1);
  });

  it('ends soon after the signal although the service does not answer to the withdrawal', async () => {
    const { world, agent, act } = await stage();
    const controller = new AbortController();
    const timeouts: unknown[] = [];
    world.whileAsleep = async () => controller.abort(new Error('The user left.'));
    const client = makeClient(world, agent.key);
    client.withdrawPermission = async (_id, options) => {
      timeouts.push(options);
      throw new Error('no answer');
    };
    const guarded = client.guard(act, PAYMENT);
    const call = { signal: controller.signal };
    await expect(guarded({ amount: 5, to: '1' }, call)).rejects.toThrow('The user left.');
    expect(timeouts).toEqual([{ timeout: 5_000, maxRetries: 0 }]);
  });

  it.each<[string, object, string]>([
    [
      'an option',
      { ressource: 'a:b' },
      'guard() has no option "ressource". Did you mean resource? There are: action,',
    ],
    ['an option in another case', { TokenTTL: 5 }, 'Did you mean tokenTtl?'],
    ['an option of an adapter', { refusals: 'throw' }, 'guard() has no option "refusals".'],
    [
      'a duration',
      { expiresIn: '5 minutes' },
      'expiresIn is "5 minutes", not a length of time: give a number of seconds',
    ],
    [
      'a duration without a unit',
      { wait: '90' },
      'wait is "90", not a length of time: give a number of milliseconds',
    ],
    ['a negative duration', { tokenTtl: -1 }, 'tokenTtl is -1, not'],
    ['an end', { abandoned: 'drop' }, 'The abandoned "drop" is not withdraw, keep.'],
  ])('refuses %s that does not exist before anything is asked', async (_, options, message) => {
    const { client, act } = await stage();
    const guard = () => client.guard(act, { ...PAYMENT, ...options } as never);
    expect(guard).toThrow(TypeError);
    expect(guard).toThrow(message);
  });

  it('refuses an option of a call that does not exist', async () => {
    const { client, act } = await stage();
    const call = client.guard(act, PAYMENT)({ amount: 5, to: '1' }, { externalID: 'a' } as never);
    await expect(call).rejects.toThrow(
      'A guarded call has no option "externalID". Did you mean externalId?',
    );
  });

  it('takes lengths of time as texts', async () => {
    const { client, world, agent, act } = await stage();
    const asked = world.now;
    const times = { wait: '2m', expiresIn: '1h', tokenTtl: '1d' } as const;
    const error = await client
      .guard(act, { ...PAYMENT, ...times })({ amount: 5, to: '1' })
      .catch((reason) => reason);
    expect(error).toBeInstanceOf(PermissionPending);
    expect(world.now - asked).toBeGreaterThanOrEqual(120_000);
    expect(world.now - asked).toBeLessThan(130_000);
    const { body } = await agent.must(200, 'GET', `/v1/permissions/${error.permissionId}`);
    expect(Date.parse(body.expires_at) - Date.parse(body.created_at)).toBe(3_600_000);
  });

  it('refuses a mode that does not exist before anything is asked', async () => {
    const { client, act } = await stage();
    expect(() => client.guard(act, { ...PAYMENT, mode: 'supend' as never })).toThrow(
      new TypeError('The mode "supend" is not wait, suspend, shadow.'),
    );
  });

  it('in shadow mode runs the function, and sends nothing', async () => {
    const fetch = vi.fn();
    const { world, act } = await stage();
    const onShadow = vi.fn();
    const client = makeClient(world, 'csa_unused', { fetch });
    const input = { amount: 5, to: '1' };
    expect(await client.guard(act, { ...PAYMENT, mode: 'shadow', onShadow })(input)).toBe('paid 5');
    expect(onShadow.mock.calls[0]?.[0]).toMatchObject({
      action: 'payment.send',
      input,
      scope: { amount: 500 },
    });
    expect(fetch).not.toHaveBeenCalled();
  });

  it('passes on a refusal that no decision can change', async () => {
    const { client, act } = await stage();
    const guarded = client.guard(act, { ...PAYMENT, action: 'Pay' });
    const error = await guarded({ amount: 5, to: '1' }).catch((reason) => reason);
    expect(error).not.toBeInstanceOf(GuardError);
    expect(error).toMatchObject({
      status: 400,
      code: 'invalid_request',
      errors: [{ path: 'body.action' }],
    });
    expect(act).not.toHaveBeenCalled();
  });

  describe('reports', () => {
    /** A guard whose calls a policy approves, so that nothing but the act takes time. */
    async function approvedStage() {
      const scene = await stage();
      const policy = { effect: 'approve', actions: ['payment.*'], resources: ['*'] };
      await scene.account.must(201, 'POST', '/v1/policies', { ...policy, name: 'Payments' });
      const outcome = async () => {
        const { body } = await scene.agent.must(200, 'GET', '/v1/permissions?limit=1');
        return body.data[0].outcome;
      };
      return { ...scene, outcome };
    }
    const input = { amount: 5, to: '1' };

    it('how the function ended, and lets its result or error through', async () => {
      const { client, outcome } = await approvedStage();
      const guarded = (fn: () => unknown) => client.guard(async () => fn(), PAYMENT)(input);
      const fail = (error: unknown) => () => {
        throw error;
      };
      expect(await guarded(() => 'paid')).toBe('paid');
      expect(await outcome()).toMatchObject({ status: 'succeeded', summary: null });
      await expect(guarded(fail(new RangeError('4711')))).rejects.toThrow(new RangeError('4711'));
      expect(await outcome()).toMatchObject({ status: 'failed', summary: null });
      await expect(guarded(fail('no error'))).rejects.toBe('no error');
      expect(await outcome()).toMatchObject({ status: 'failed' });
      const unknown = new OutcomeUnknown('The bank did not answer.');
      await expect(guarded(fail(unknown))).rejects.toBe(unknown);
      const summary = 'The bank did not answer.';
      expect(await outcome()).toMatchObject({ status: 'unknown', summary });
    });

    it('what `summary` says, and nothing where that fails', async () => {
      const { client, outcome } = await approvedStage();
      const ended: GuardedEnd[] = [];
      const say = (text: () => unknown) => (end: GuardedEnd) => {
        ended.push(end);
        return text() as string;
      };
      const run = (text: () => unknown) =>
        client.guard(async () => 'paid', { ...PAYMENT, summary: say(text) })(input);
      await run(() => 'Booked as 4711');
      expect(await outcome()).toMatchObject({ status: 'succeeded', summary: 'Booked as 4711' });
      await run(() => `${'x'.repeat(2_000)}\ud800\0`);
      expect((await outcome()).summary).toBe('x'.repeat(1_000));
      await run(() => {
        throw new Error('no words');
      });
      expect(await outcome()).toMatchObject({ status: 'succeeded', summary: null });
      expect(ended).toEqual(Array(3).fill({ output: 'paid' }));
    });

    it.runIf(depth.isDeep).each<[string, () => Promise<Response>]>([
      ['hangs', () => new Promise(() => {})],
      ['cannot be sent', () => Promise.reject(new TypeError('fetch failed'))],
      ['is refused', async () => Response.json({ code: 'conflict' }, { status: 409 })],
      ['fails', async () => new Response('', { status: 503 })],
    ])(
      'without failing the call or delaying it by more than a second when it %s',
      async (_, answer) => {
        const { world, agent, act } = await approvedStage();
        const client = makeClient(world, agent.key, {
          fetch: (url, request) =>
            String(url).endsWith('/outcome')
              ? answer()
              : answerOf(world, url as URL, request ?? {}),
        });
        const start = performance.now();
        expect(await client.guard(act, PAYMENT)(input)).toBe('paid 5');
        expect(performance.now() - start).toBeLessThan(1_900);
      },
    );

    it.runIf(depth.isDeep)('again in the background when the first report hangs', async () => {
      const { world, agent, act, outcome } = await approvedStage();
      let reports = 0;
      const client = makeClient(world, agent.key, {
        fetch: (url, request) => {
          if (String(url).endsWith('/outcome') && reports++ === 0) return new Promise(() => {});
          return answerOf(world, url as URL, request ?? {});
        },
      });
      await client.guard(act, PAYMENT)(input);
      await vi.waitFor(async () => expect((await outcome()).status).toBe('succeeded'));
    });

    it('to who resumes after a crash, in `AlreadyUsed.outcome`', async () => {
      const { world, client, agent } = await approvedStage();
      const call = async (fn: () => Promise<unknown>, externalId: string) =>
        client
          .guard(fn, PAYMENT)(input, { externalId })
          .catch((error) => error);
      const again = async (externalId: string) => {
        const error = await call(async () => 'twice', externalId);
        if (!(error instanceof AlreadyUsed)) throw error;
        return [error.outcome?.status, error.message];
      };
      await call(async () => 'paid', 'a');
      expect(await again('a')).toEqual(['succeeded', expect.stringContaining('succeeded then')]);
      await call(() => Promise.reject(new Error('closed')), 'b');
      expect(await again('b')).toEqual(['failed', expect.stringContaining('failed then')]);
      const crashed = makeClient(world, agent.key, {
        fetch: (url, request) =>
          String(url).endsWith('/outcome')
            ? Promise.reject(new TypeError('fetch failed'))
            : answerOf(world, url as URL, request ?? {}),
      });
      await crashed.guard(async () => 'paid', PAYMENT)(input, { externalId: 'c' });
      expect(await again('c')).toEqual(['awaited', expect.stringContaining('not reported yet')]);
      world.advance(600_000);
      expect(await again('c')).toEqual(['unknown', expect.stringContaining('is unknown')]);
      const plain = { action: 'payment.send', resource: 'account:1', scope: { amount: 500 } };
      const { token } = await agent.request({ ...plain, input, external_id: 'd' });
      const digest = { input_digest: (await agent.request({ ...plain, input })).input_digest };
      await agent.must(200, 'POST', '/v1/tokens/use', { token: token.value, ...digest });
      expect(await again('d')).toEqual([undefined, expect.stringContaining('is unknown')]);
    });
  });

  it('lets through what the function throws', async () => {
    const { client, world, account } = await stage();
    world.whileAsleep = async () => {
      const { body } = await account.must(200, 'GET', '/v1/permissions?status=pending');
      if (body.data[0])
        await account.must(200, 'POST', `/v1/permissions/${body.data[0].id}/approve`);
    };
    const guarded = client.guard(() => Promise.reject(new RangeError('No money')), PAYMENT);
    await expect(guarded({ amount: 5, to: '1' })).rejects.toThrow(new RangeError('No money'));
  });
});

const failingFetch = () => Promise.reject(new TypeError('fetch failed'));

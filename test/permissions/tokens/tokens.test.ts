import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import { ORIGIN, type TestAgent, World } from '../../support/world';

async function makeAgent() {
  const account = await new World().account();
  return { world: account.world, account, agent: await account.agent() };
}

async function readValue(agent: TestAgent, id: string): Promise<string | undefined> {
  return (await agent.must(200, 'GET', `/v1/permissions/${id}`)).body.token.value;
}

/** Verifies a token like a third party, with the keys that the service publishes. */
async function verify(world: World, value: string) {
  const { body } = await world.must(200, 'GET', '/.well-known/jwks.json');
  return jwtVerify(value, createLocalJWKSet(body), {
    issuer: ORIGIN,
    audience: ORIGIN,
    typ: 'at+jwt',
    algorithms: ['EdDSA'],
    currentDate: new Date(world.now),
  });
}

describe('a token', () => {
  it('is a JWT with the agent, the action, the resource and the scope', async () => {
    const { world, agent } = await makeAgent();
    const asked = {
      action: 'a.b',
      resource: 'c:“d” 😀',
      scope: { amount: 5, to: ['x'] },
      max_uses: 2,
    };
    const { id, token } = await agent.approved(asked, {
      scope: { amount: 4, to: ['x'], more: 1 },
      token_ttl: 60,
    });
    const { payload, protectedHeader } = await verify(world, token.value);
    expect(payload).toEqual({
      iss: ORIGIN,
      aud: ORIGIN,
      sub: agent.id,
      client_id: agent.id,
      iat: Date.UTC(2026, 0, 31, 12) / 1_000,
      exp: Date.UTC(2026, 0, 31, 12, 1) / 1_000,
      jti: token.id,
      authorization_details: [
        {
          type: 'countersign',
          action: 'a.b',
          resource: 'c:“d” 😀',
          scope: { amount: 4, to: ['x'], more: 1 },
          permission_id: id,
        },
      ],
    });
    expect(protectedHeader).toEqual({ alg: 'EdDSA', typ: 'at+jwt', kid: expect.any(String) });
  });

  it('names a published key, of which only the public part is published', async () => {
    const { world, agent } = await makeAgent();
    const { token } = await agent.approved();
    const answer = await world.must(200, 'GET', '/.well-known/jwks.json');
    const { kid } = decodeProtectedHeader(token.value);
    const key = {
      kty: 'OKP',
      crv: 'Ed25519',
      x: expect.stringMatching(/^[\w-]{43}$/),
      use: 'sig',
      alg: 'EdDSA',
    };
    // The second key signs logs.
    expect(answer.body).toEqual({
      keys: [
        { ...key, kid },
        { ...key, kid: expect.stringMatching(/^log-[\w-]{43}$/) },
      ],
    });
  });

  it('never lives longer than requested, and carries its expiry', async () => {
    const { world, agent } = await makeAgent();
    world.advance(999);
    const { token } = await agent.approved({ token_ttl: 30 });
    expect(Date.parse(token.expires_at)).toBeLessThanOrEqual(world.now + 30_000);
    expect(Date.parse(token.expires_at)).toBeGreaterThan(world.now + 29_000);
    const { payload } = await verify(world, token.value);
    expect((payload.exp ?? 0) * 1_000).toBe(Date.parse(token.expires_at));
  });

  it('is the same on every read while it is active', async () => {
    const { world, agent } = await makeAgent();
    const { id, token } = await agent.approved({ max_uses: 2 });
    for (const wait of [1, 61_000, 300_000]) {
      world.advance(wait);
      expect(await readValue(agent, id)).toBe(token.value);
    }
    await agent.must(200, 'POST', '/v1/tokens/use', { token: token.value });
    expect(await readValue(agent, id)).toBe(token.value);
    const { body } = await agent.must(200, 'GET', '/v1/permissions');
    expect(body.data[0].token.value).toBe(token.value);
  });

  it('is shown only to its agent', async () => {
    const { account, agent } = await makeAgent();
    const { id, token } = await agent.approved();
    const signature = token.value.slice(-40);
    const answers = [
      await account.must(200, 'GET', `/v1/permissions/${id}`),
      await account.must(200, 'GET', '/v1/permissions'),
      await account.must(200, 'GET', '/v1/audit'),
      await account.must(409, 'POST', `/v1/permissions/${id}/approve`),
      await (await account.agent()).must(404, 'GET', `/v1/permissions/${id}`),
    ];
    for (const { text } of answers) expect(text).not.toContain(signature);
    expect(answers[0]?.body.token).not.toHaveProperty('value');
  });

  it.each(['used', 'revoked', 'expired'])('is shown to nobody if it is %s', async (status) => {
    const { world, account, agent } = await makeAgent();
    const { id, token } = await agent.approved();
    const end = {
      used: () => agent.must(200, 'POST', '/v1/tokens/use', { token: token.value }),
      revoked: () => account.must(200, 'POST', '/v1/tokens/revoke', { token_id: token.id }),
      expired: async () => world.advance(900_000),
    }[status];
    await end?.();
    const { token: ended } = (await agent.must(200, 'GET', `/v1/permissions/${id}`)).body;
    expect(ended).toEqual({
      id: token.id,
      status,
      max_uses: 1,
      uses: status === 'used' ? 1 : 0,
      expires_at: token.expires_at,
    });
  });

  it('differs from every other token', async () => {
    const { agent } = await makeAgent();
    const values = [await agent.approved(), await agent.approved()].map(({ token }) => token.value);
    expect(new Set(values).size).toBe(2);
  });
});

it('the keys are published without a credential and may be cached', async () => {
  const { status, headers } = await new World().call('GET', '/.well-known/jwks.json');
  expect(status).toBe(200);
  expect(headers.get('Content-Type')).toContain('json');
  expect(headers.get('Cache-Control')).toMatch(/^public, max-age=\d+$/);
});

import { SignJWT, UnsecuredJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import {
  type Answer,
  type Json,
  type TestAccount,
  type TestAgent,
  World,
} from '../../support/world';

async function makeToken(fields: Json = {}) {
  const account = await new World().account();
  const agent = await account.agent();
  const permission = await agent.approved({ max_uses: 3, ...fields });
  return { world: account.world, account, agent, permission, token: permission.token };
}

function use(caller: TestAccount | TestAgent, token: unknown, fields: Json = {}): Promise<Answer> {
  return caller.call('POST', '/v1/tokens/use', { token, ...fields });
}

async function refusal(answer: Promise<Answer>) {
  const { status, body } = await answer;
  return [status, body.code, body.reason];
}

const refused = (reason: string) => [409, 'token_not_active', reason];

describe('a use of a token', () => {
  it('shows what the token allows, and the remaining uses', async () => {
    const { account, agent, permission, token } = await makeToken({ scope: { amount: 5 } });
    const answers = [
      await use(account, token.value),
      await use(agent, token.value),
      await use(account, token.value),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    for (const [i, { body }] of answers.entries()) {
      expect(body).toEqual({
        active: true,
        token_id: token.id,
        permission_id: permission.id,
        agent_id: agent.id,
        action: 'email.send',
        resource: 'mailbox:support',
        scope: { amount: 5 },
        uses: i + 1,
        remaining_uses: 2 - i,
        expires_at: token.expires_at,
      });
    }
    const { body } = await account.must(200, 'GET', `/v1/permissions/${permission.id}`);
    expect([body.token.status, body.token.uses]).toEqual(['used', 3]);
  });

  it('may name the action and the resource, and is refused if they do not match', async () => {
    const { account, token } = await makeToken();
    const right = { action: 'email.send', resource: 'mailbox:support' };
    expect((await use(account, token.value, right)).status).toBe(200);
    const wrong = [
      { action: 'email.read' },
      { resource: 'mailbox:other' },
      { ...right, action: 'email.sen' },
      { ...right, resource: 'mailbox:Support' },
      { action: 'EMAIL' },
      { resource: '' },
      { resource: 'other' },
    ];
    for (const fields of wrong)
      expect(await refusal(use(account, token.value, fields))).toEqual(refused('mismatch'));
    expect((await use(account, token.value)).body.uses).toBe(2);
  });

  it('is accepted until the expiry of the token, and not one millisecond longer', async () => {
    const { world, account, agent, token } = await makeToken({ token_ttl: 30 });
    world.advance(29_999);
    expect((await use(account, token.value)).status).toBe(200);
    world.advance(1);
    expect(await refusal(use(account, token.value))).toEqual(refused('expired'));
    expect(await refusal(use(agent, token.value))).toEqual(refused('expired'));
    await world.sweep();
    expect(await refusal(use(account, token.value))).toEqual(refused('expired'));
  });

  it('is refused when no use is left', async () => {
    const { account, token } = await makeToken({ max_uses: 1 });
    expect((await use(account, token.value)).body.remaining_uses).toBe(0);
    expect(await refusal(use(account, token.value))).toEqual(refused('used'));
  });

  it('is refused once the token is revoked', async () => {
    const { account, token } = await makeToken();
    await account.must(200, 'POST', '/v1/tokens/revoke', { token: token.value });
    expect(await refusal(use(account, token.value))).toEqual(refused('revoked'));
  });

  it('is refused while the agent is switched off', async () => {
    const { account, agent, token } = await makeToken();
    const switchTo = (is_active: boolean) =>
      account.must(200, 'PUT', `/v1/agents/${agent.id}`, { is_active });
    await switchTo(false);
    expect(await refusal(use(account, token.value))).toEqual(refused('agent_inactive'));
    await switchTo(true);
    expect((await use(account, token.value)).body.uses).toBe(1);
  });

  it('is refused as unknown if the token belongs to another account or another agent', async () => {
    const { world, account, token } = await makeToken();
    const stranger = await world.account();
    const others = [await account.agent(), stranger, await stranger.agent()];
    for (const caller of others)
      expect(await refusal(use(caller, token.value))).toEqual(refused('unknown'));
    expect((await use(account, token.value)).body.uses).toBe(1);
  });

  it('needs the scope tokens:use', async () => {
    const { world, account, token } = await makeToken();
    const limited = await account.limitedToken('permissions:decide', 'permissions:read');
    const { status, body } = await world.call('POST', '/v1/tokens/use', {
      token: limited,
      body: { token: token.value },
    });
    expect([status, body.code]).toEqual([403, 'insufficient_scope']);
  });

  it('that is refused does not count and writes no entry', async () => {
    const { account, permission, token } = await makeToken();
    const before = await account.log();
    await use(account, token.value, { action: 'a.b' });
    await use(account, `${token.value}x`);
    expect(await account.log()).toEqual(before);
    expect(
      (await account.must(200, 'GET', `/v1/permissions/${permission.id}`)).body.token.uses,
    ).toBe(0);
  });
});

describe('a forged token', () => {
  it('is unknown when any part of it was changed', async () => {
    const { account, token } = await makeToken();
    const [header, payload, signature] = token.value.split('.');
    const claims = JSON.parse(
      new TextDecoder().decode(Uint8Array.fromBase64(payload, { alphabet: 'base64url' })),
    );
    const encode = (value: unknown) =>
      new TextEncoder()
        .encode(JSON.stringify(value))
        .toBase64({ alphabet: 'base64url', omitPadding: true });
    const flipped = signature.startsWith('A') ? `B${signature.slice(1)}` : `A${signature.slice(1)}`;
    const forgeries = [
      `${header}.${encode({ ...claims, exp: claims.exp + 3_600 })}.${signature}`,
      `${header}.${encode({ ...claims, authorization_details: [] })}.${signature}`,
      `${header}.${payload}.${flipped}`,
      `${header}.${payload}.`,
      `${header}.${payload}`,
      `${encode({ alg: 'none', typ: 'at+jwt' })}.${payload}.`,
      `${encode({ alg: 'EdDSA', typ: 'at+jwt', kid: 'other' })}.${payload}.${signature}`,
      `${header}.${payload}.${signature}.${signature}`,
      ` ${token.value}`,
      token.id,
      token.value.slice(1),
      'x',
    ];
    for (const forgery of forgeries)
      expect(await refusal(use(account, forgery))).toEqual(refused('unknown'));
    expect((await use(account, token.value)).body.uses).toBe(1);
  });

  it('is unknown in any other base64url spelling, even of the same bytes', async () => {
    const { account, token } = await makeToken();
    const last = token.value.at(-1) ?? '';
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const spellings = [...alphabet]
      .filter((other) => other !== last)
      .map((other) => token.value.slice(0, -1) + other);
    for (const spelling of [
      ...spellings,
      `${token.value}=`,
      `${token.value}==`,
      `${token.value}\n`,
    ]) {
      expect(await refusal(use(account, spelling))).toEqual(refused('unknown'));
    }
    expect((await use(account, token.value)).body.uses).toBe(1);
  });

  it('is unknown without a signature', async () => {
    const { account, token } = await makeToken();
    const claims = JSON.parse(
      atob(token.value.split('.')[1].replaceAll('-', '+').replaceAll('_', '/')),
    );
    expect(await refusal(use(account, new UnsecuredJWT(claims).encode()))).toEqual(
      refused('unknown'),
    );
  });

  it('is unknown if it was signed with the public key as a shared secret', async () => {
    const { world, account, token } = await makeToken();
    const { keys } = (await world.must(200, 'GET', '/.well-known/jwks.json')).body;
    const [{ x, kid }] = keys;
    const secrets = [
      Uint8Array.fromBase64(x, { alphabet: 'base64url' }),
      new TextEncoder().encode(x),
      new TextEncoder().encode(JSON.stringify(keys[0])),
    ];
    for (const secret of secrets) {
      const forged = new SignJWT({ jti: token.id, sub: 'x' }).setProtectedHeader({
        alg: 'HS256',
        typ: 'at+jwt',
        kid,
      });
      expect(await refusal(use(account, await forged.sign(secret)))).toEqual(refused('unknown'));
    }
  });

  it('is unknown if another service signed it', async () => {
    const { account, token } = await makeToken();
    const other = new World({ ROOT_SECRET: btoa('another root secret, 32 bytes ..') });
    const foreign = await (await (await other.account()).agent()).approved();
    expect(await refusal(use(account, foreign.token.value))).toEqual(refused('unknown'));
    expect((await use(account, token.value)).status).toBe(200);
  });
});

import { env } from 'cloudflare:test';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { expect, it } from 'vitest';
import { AUDIENCE } from '../support/identity-client';
import { TestAccount, World } from '../support/world';

const ISSUER = 'https://id.example.com/tenant';
const pair = await generateKeyPair('RS256', { extractable: true });
const others = await generateKeyPair('RS256', { extractable: true });
it.fails('a forged JWT of a known person costs no page', async () => {
  await env.DB.prepare('delete from provider_keys').run();
  const world = new World({ OIDC_ISSUER: ISSUER, OIDC_AUDIENCE: AUDIENCE });
  world.internet.on('id.example.com', () =>
    Response.json({ issuer: ISSUER, jwks_uri: 'https://keys.example.com/jwks' }),
  );
  const keys = [{ ...(await exportJWK(pair.publicKey)), kid: 'first', use: 'sig', alg: 'RS256' }];
  world.internet.on('keys.example.com', () => Response.json({ keys }));
  const now = Math.floor(world.now / 1000);
  const token = (key: CryptoKey, sub: string) =>
    new SignJWT({ iss: ISSUER, aud: AUDIENCE, sub, iat: now, exp: now + 600 })
      .setProtectedHeader({ alg: 'RS256', kid: 'first' })
      .sign(key);
  const good = await token(pair.privateKey, 'ada');
  const me = await world.must(200, 'GET', '/v1/me', { token: good });
  const account = new TestAccount(world, me.body.id, good, '');
  const agent = await account.agent();
  for (let n = 0; n < 30; n++) await agent.request();
  const a = await world.must(401, 'GET', '/v1/audit?limit=1000', {
    token: await token(others.privateKey, 'ada'),
  });
  const b = await world.must(401, 'GET', '/v1/audit?limit=1000', {
    token: await token(others.privateKey, 'eve'),
  });
  expect(a.cost.read).toBeLessThan(b.cost.read + 10);
});

import { expect, it } from 'vitest';
import { World } from '../support/world';

const OLD = btoa('the old root secret, 32 bytes...');
const NEW = btoa('the new root secret, 32 bytes...');

/** An account whose credentials and token were created with the old secret. */
async function makeRotation() {
  const old = new World({ ROOT_SECRET: OLD });
  const account = await old.account();
  const agent = await account.agent();
  const approved = await agent.approved({ max_uses: 5 });
  const keys = (await old.must(200, 'GET', '/.well-known/jwks.json')).body.keys;
  return { old, account, agent, approved, keys };
}

it('old credentials are accepted while the old secret is configured', async () => {
  const { account, agent } = await makeRotation();
  const both = new World({ ROOT_SECRET: `${NEW},${OLD}` });
  await both.must(200, 'GET', '/v1/me', { token: account.token });
  await both.must(200, 'GET', '/v1/permissions', { token: agent.key });
});

it('old permission tokens are accepted while the old secret is configured, and are shown with the same value', async () => {
  const { account, agent, approved } = await makeRotation();
  const both = new World({ ROOT_SECRET: `${NEW}, ${OLD}` });
  const { body } = await both.must(200, 'GET', `/v1/permissions/${approved.id}`, {
    token: agent.key,
  });
  expect(body.token.value).toBe(approved.token.value);
  const use = { token: approved.token.value };
  expect(
    (await both.must(200, 'POST', '/v1/tokens/use', { token: account.token, body: use })).body.uses,
  ).toBe(1);
});

it('the keys of every configured secret are published, the newest first', async () => {
  const { keys } = await makeRotation();
  const published = async (secret: string) =>
    (await new World({ ROOT_SECRET: secret }).must(200, 'GET', '/.well-known/jwks.json')).body.keys;
  const [newest, newestOfLogs] = await published(NEW);
  const [old, oldOfLogs] = keys;
  expect(await published(`${NEW},${OLD}`)).toEqual([newest, old, newestOfLogs, oldOfLogs]);
});

it('new credentials and tokens are created with the newest secret', async () => {
  const { account, agent } = await makeRotation();
  const both = new World({ ROOT_SECRET: `${NEW},${OLD}` });
  const issued = (await both.must(201, 'POST', '/v1/me/tokens', { token: account.token })).body
    .token;
  const path = `/v1/agents/${agent.id}/rotate-key`;
  const key = (await both.must(200, 'POST', path, { token: account.token })).body.api_key;
  const asked = { action: 'a.b', resource: 'c:d' };
  const { id } = (await both.must(201, 'POST', '/v1/permissions', { token: key, body: asked }))
    .body;
  await both.must(200, 'POST', `/v1/permissions/${id}/approve`, { token: issued });
  const { value } = (await both.must(200, 'GET', `/v1/permissions/${id}`, { token: key })).body
    .token;
  const later = new World({ ROOT_SECRET: NEW });
  await later.must(200, 'GET', '/v1/me', { token: issued });
  await later.must(200, 'GET', '/v1/permissions', { token: key });
  await later.must(200, 'POST', '/v1/tokens/use', { token: issued, body: { token: value } });
});

it('old credentials and tokens are refused after the old secret is removed', async () => {
  const { account, agent, approved } = await makeRotation();
  const both = new World({ ROOT_SECRET: `${NEW},${OLD}` });
  const issued = (await both.must(201, 'POST', '/v1/me/tokens', { token: account.token })).body
    .token;
  const later = new World({ ROOT_SECRET: NEW });
  for (const token of [account.token, agent.key]) {
    const { status, body } = await later.call('GET', '/v1/permissions', { token });
    expect([status, body.code]).toEqual([401, 'unauthorized']);
  }
  const use = { token: approved.token.value };
  const { status, body } = await later.call('POST', '/v1/tokens/use', { token: issued, body: use });
  expect([status, body.reason]).toEqual([409, 'unknown']);
});

it('old cursors are accepted while the old secret is configured', async () => {
  const { old, account, agent } = await makeRotation();
  old.advance(1);
  await agent.request();
  const { next_cursor } = (await account.must(200, 'GET', '/v1/permissions?limit=1')).body;
  const read = (secret: string) =>
    new World({ ROOT_SECRET: secret }).call('GET', `/v1/permissions?cursor=${next_cursor}`, {
      token: account.token,
    });
  const { status, body } = await read(`${NEW},${OLD}`);
  expect([status, body.data.length]).toEqual([200, 1]);
});

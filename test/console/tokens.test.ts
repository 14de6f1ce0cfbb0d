import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import '../support/shards';
import { makeCredential } from '../../src/lib/credential';
import { Browser } from '../support/browser';
import { depth } from '../support/depth';
import { type FaultMode, FaultyDatabase } from '../support/faults';
import { awaitWindow } from '../support/limiter';
import { makeMember, type TestMember } from '../support/members';
import { orderMove, settleMoves } from '../support/moves';
import { countRows, dumpTables } from '../support/tables';
import { makeWebhook } from '../support/webhooks';
import { type Answer, type Json, ORIGIN, type TestAccount, World } from '../support/world';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const EVERYTHING = [
  'account:read',
  'account:write',
  'permissions:read',
  'permissions:decide',
  'agents:read',
];
const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes));
const code = ({ status, body }: Answer) => [status, body?.code];
const place = ({ status, headers }: Answer) => [status, headers.get('Location')];

/** Signs in with a token. */
async function enter(world: World, token: string): Promise<Browser> {
  const browser = new Browser(world);
  expect(place(await browser.signInWithToken(token))).toEqual([303, '/console']);
  return browser;
}

/** A user token that the account or a member makes, and a session of it. */
async function enterWithNew(account: TestAccount, fields: Json = {}, member?: TestMember) {
  const token = member?.token ?? account.token;
  const { body } = await account.world.must(201, 'POST', '/v1/me/tokens', { token, body: fields });
  return {
    id: body.id as string,
    token: body.token as string,
    browser: await enter(account.world, body.token),
  };
}

const sessionsOf = async (world: World, token: string): Promise<Json[]> =>
  (await world.must(200, 'GET', '/v1/me/sessions', { token })).body.data;

async function expectEnded(browser: Browser): Promise<void> {
  expect(place(await browser.get('/console'))).toEqual([302, '/console/sign-in']);
  expect(
    code(await browser.send('POST', '/console/sign-out', { headers: { Origin: ORIGIN } })),
  ).toEqual([...[401, 'unauthorized']]);
}

describe('a sign-in with a user token', () => {
  it('of a member acts as the member, and is named on the pages, in the sessions and in the activity', async () => {
    const account = await new World().account({ name: 'Example' });
    const { world } = account;
    const member = await makeMember(account, 'admin', 'ada@example.com');
    const owner = await makeMember(account, 'owner');
    world.advance(2 * MINUTE);
    const { id, browser } = await enterWithNew(account, { name: 'CI', scopes: EVERYTHING }, member);
    expect(browser.cookie).toMatch(/^__Host-countersign=css_/);
    const page = await browser.get('/console/me');
    for (const text of [
      'ada@example.com',
      'admin, by user token',
      'Example',
      'CI',
      'Laptop',
      'permissions:decide',
    ]) {
      expect(page.text).toContain(text);
    }
    expect(page.cost.trips).toBe(2);
    const sessions = await sessionsOf(world, member.token);
    expect(sessions.map(({ token_id }) => token_id)).toEqual([id, null]);
    const { body: activity } = await account.must(
      200,
      'GET',
      '/v1/activity?action=session.created&limit=1',
    );
    expect(activity.data[0]).toMatchObject({
      actor: member.id,
      action: 'session.created',
      target: sessions[0].id,
    });
    const { body: tokens } = await world.must(200, 'GET', '/v1/me/tokens', { token: member.token });
    expect(tokens.data[0]).toMatchObject({ id, last_used_at: new Date(world.now).toISOString() });
    // Nobody else sees or ends it.
    for (const token of [owner.token, account.token]) {
      expect((await sessionsOf(world, token)).map(({ id }) => id)).not.toContain(sessions[0].id);
      expect(
        code(await world.call('DELETE', `/v1/me/sessions/${sessions[0].id}`, { token })),
      ).toEqual([...[404, 'not_found']]);
    }
    await world.must(204, 'DELETE', `/v1/me/sessions/${sessions[0].id}`, { token: member.token });
    await expectEnded(browser);
  });

  it('of the account acts for the account: it decides what no reviewers have to decide', async () => {
    const account = await new World().account({ name: 'Example' });
    const { world } = account;
    const approver = await makeMember(account, 'approver');
    const agent = await account.agent();
    await account.must(201, 'POST', '/v1/policies', {
      ...{ name: 'Reviewed', effect: 'review', actions: ['money.*'], resources: ['*'] },
      review: { roles: ['approver'] },
    });
    world.advance(1);
    const free = await agent.request();
    const reviewed = await agent.request({ action: 'money.transfer', resource: 'account:1' });
    const browser = await enter(world, account.token);
    const inbox = await browser.get('/console');
    expect([inbox.status, inbox.cost.trips]).toEqual([200, 2]);
    for (const text of ['Anybody who may decide', 'token of the account', '1 waits for you']) {
      expect(inbox.text).toContain(text);
    }
    expect((await browser.get('/console?for=others')).text).toContain('Members review');
    expect((await browser.get(`/console/permissions/${reviewed.id}`)).text).toContain(
      'a token of the account can neither approve nor deny it',
    );
    const refused = await browser.submit(`/console/permissions/${reviewed.id}/decide`, {
      decision: 'deny',
      reason: '',
    });
    expect(refused.status).toBe(403);
    expect(refused.text).toContain('a token of the account can neither approve nor deny it');
    const several = await browser.submit('/console/deny', { id: reviewed.id, reason: '' });
    expect(several.text).toContain('only a member with their own credential can decide');
    const card = await browser.get(`/console/permissions/${free.id}`);
    expect([card.cost.trips, card.text.includes('data-key="approve"')]).toEqual([2, true]);
    const decided = await browser.submit(`/console/permissions/${free.id}/decide`, {
      decision: 'approve',
      reason: '',
    });
    expect(place(decided)).toEqual([303, `/console/permissions/${free.id}`]);
    const [entry] = (await account.log(`&permission_id=${free.id}&event_type=approve`)) as Json[];
    expect(entry.details).toMatchObject({ decided_by: account.id, decided_via: 'console' });
    expect((await browser.get(`/console/permissions/${free.id}`)).text).toContain(
      '>a token of the account<',
    );
    const me = await browser.get('/console/me');
    expect([me.status, me.cost.trips]).toEqual([200, 2]);
    for (const text of ['not as one of its members', 'Passkeys belong to members'])
      expect(me.text).toContain(text);
    for (const text of ['data-remove', 'data-passkey', 'Make a user token'])
      expect(me.text).not.toContain(text);
    const [session] = await sessionsOf(world, account.token);
    expect(session).toMatchObject({ token_id: account.tokenId });
    expect(await sessionsOf(world, approver.token)).toHaveLength(1);
    const { body: activity } = await account.must(
      200,
      'GET',
      '/v1/activity?action=session.created&limit=1',
    );
    expect(activity.data[0]).toMatchObject({ actor: account.tokenId, target: session.id });
    expect(place(await browser.submit('/console/sign-out'))).toEqual([303, '/console/sign-in']);
    expect(await sessionsOf(world, account.token)).toEqual([]);
  });

  it('takes a token with space around it, and begins a session of its own each time', async () => {
    const account = await new World().account();
    const first = await enter(account.world, account.token);
    const second = await enter(account.world, `  ${account.token}\r\n`);
    expect(first.cookie).not.toBe(second.cookie);
    expect(await sessionsOf(account.world, account.token)).toHaveLength(2);
  });

  it('has a form in which the browser keeps no token', async () => {
    const { text } = await new Browser(new World()).get('/console/sign-in');
    expect(/<input[^>]*name="token"[^>]*>/.exec(text)?.[0]).toMatch(
      /(?=.*type="password")(?=.*autocomplete="off")(?=.*required)/,
    );
  });
});

/** An account with something of each kind, and their ids. */
async function makeSecrets() {
  const account = await new World().account();
  const member = await makeMember(account, 'admin', 'secret@example.com');
  const agent = await account.agent({ name: 'Secret agent', owner_id: member.id });
  const perm = await agent.request({ preview: { title: 'Secret request' } });
  const { body: policy } = await account.must(201, 'POST', '/v1/policies', {
    ...{ name: 'Secret policy', effect: 'review', actions: ['never.*'], resources: ['*'] },
  });
  const webhook = await makeWebhook(account, { description: 'Secret webhook' });
  const email = { kind: 'email', name: 'Secret channel' };
  const { body: channel } = await account.must(201, 'POST', '/v1/channels', email);
  const ids: Record<string, string> = {
    ...{
      channel: channel.id,
      member: member.id,
      agent: agent.id,
      perm: perm.id,
      policy: policy.id,
      webhook: webhook.id,
    },
  };
  return { account, agent, ids };
}

describe('a session of a user token', () => {
  it('may do only what the token may do, which no page or change exceeds', async () => {
    const account = await new World().account({ name: 'Secret Ltd' });
    const owner = await makeMember(account, 'owner', 'olga@example.com');
    const { id } = await (await account.agent()).request();
    const { browser } = await enterWithNew(
      account,
      { name: 'Reader', scopes: ['permissions:read'] },
      owner,
    );
    const card = await browser.get(`/console/permissions/${id}`);
    expect(card.status).toBe(200);
    expect(card.text).toContain('The user token with which you signed in cannot decide');
    const me = await browser.get('/console/me');
    expect(me.text).toContain('may not read the account');
    // The names of the account and its people need account:read.
    for (const { text } of [card, me])
      for (const name of ['Secret Ltd', 'olga']) expect(text).not.toContain(name);
    const attempts: [string, Record<string, string>][] = [
      [`/console/permissions/${id}/decide`, { decision: 'approve', reason: '' }],
      [`/console/permissions/${id}/statement`, { decision: 'approve', reason: '' }],
      ['/console/deny', { id, reason: '' }],
      [`/console/permissions/${id}/revoke`, {}],
      [`/console/me/tokens/${account.tokenId}/delete`, {}],
      [`/console/me/sessions/${(await sessionsOf(account.world, owner.token))[0].id}/end`, {}],
    ];
    const before = await countRows(env.DB);
    for (const [path, fields] of attempts) {
      expect([path, ...code(await browser.submit(path, fields, 'application/json'))]).toEqual([
        path,
        403,
        'insufficient_scope',
      ]);
    }
    expect(await countRows(env.DB)).toEqual(before);
    expect(place(await browser.submit('/console/sign-out'))).toEqual([303, '/console/sign-in']);
  });

  it.each([
    ['permissions:decide', '/console/permissions/:perm/decide', { decision: 'nonsense' }],
    ['permissions:decide', '/console/permissions/:perm/statement', { decision: 'nonsense' }],
    ['permissions:decide', '/console/permissions/:perm/revoke', {}],
    ['permissions:decide', '/console/deny', { id: ':perm' }],
    ['agents:write', '/console/agents/:agent', { name: '' }],
    ['agents:write', '/console/agents/:agent/delete', {}],
    ['agents:write', '/console/agents/:agent/rotate-key', {}],
    ['policies:write', '/console/policies/:policy', { do: 'add' }],
    ['policies:write', '/console/policies/new', { do: 'try' }],
    ['webhooks:write', '/console/webhooks/:webhook/edit', {}],
    ['webhooks:write', '/console/webhooks/:webhook/test', {}],
    ['channels:write', '/console/channels/:channel/edit', {}],
    ['channels:write', '/console/channels/:channel/test', {}],
    ['account:write', '/console/members/:member', { name: '' }],
    ['account:write', '/console/members/:member/status', {}],
    ['audit:export', '/console/audit/export', { format: 'nonsense' }],
    ['audit:read', '/console/audit/members/:member', null],
  ])('with only %s sees no page in the answer of %s', async (scope, pattern, fields) => {
    const { account, ids } = await makeSecrets();
    const { browser } = await enterWithNew(account, { scopes: [scope] });
    const fill = (text: string) => text.replace(/:(\w+)/g, (all, name) => ids[name] ?? all);
    const sent =
      fields &&
      Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, fill(value)]));
    const answer = sent
      ? await browser.submit(fill(pattern), sent)
      : await browser.get(fill(pattern));
    expect(answer.status).toBe(403);
    expect(answer.text).toMatch(
      /lacks the scope (permissions|agents|policies|webhooks|channels|account|audit):read\./,
    );
    expect(answer.text).not.toContain('Secret');
  });

  it.each([
    ['permissions:read', null, 'Back to the inbox'],
    ['agents:read', '/console/agents', 'Go to Agents'],
    ['audit:export', '/console/exports', 'Go to Exports'],
    ['tokens:use', '/console/me', 'Go to My sign-in'],
  ])(
    'with only %s begins on the first page that it may see, and goes on there from an error',
    async (scope, path, label) => {
      const account = await new World().account();
      const { browser } = await enterWithNew(account, { scopes: [scope] });
      const first = await browser.get('/console');
      expect(place(first)).toEqual(path ? [302, path] : [200, null]);
      expect((await browser.get(path ?? '/console')).status).toBe(200);
      const refused = await browser.send('GET', '/console/policies', {
        headers: { Accept: 'text/html' },
      });
      expect(refused.text).toContain(`href="${path ?? '/console'}">${label}</a>`);
      // A part of the inbox, which a page loads by itself, is never another page.
      expect((await browser.get('/console?part=list')).status).toBe(path ? 403 : 200);
    },
  );

  it('names all scopes that it lacks', async () => {
    const account = await new World().account();
    const { browser } = await enterWithNew(account, { scopes: ['agents:read'] });
    const { body } = await browser.submit('/console/deny', {}, 'application/json');
    expect(body.detail).toContain(
      'lacks the scopes permissions:read and permissions:decide. Sign in with one that has them',
    );
  });

  it('sees no member where it changes an agent, and leaves the owner as it is', async () => {
    const { account, ids } = await makeSecrets();
    const { browser } = await enterWithNew(account, { scopes: ['agents:read', 'agents:write'] });
    const path = `/console/agents/${ids.agent}`;
    const page = await browser.get(path);
    expect([page.status, page.text.includes('Keep as it is')]).toEqual([200, true]);
    const form = await browser.get('/console/agents/new');
    expect([form.status, form.text.includes('owner_id')]).toEqual([200, false]);
    for (const { text } of [page, form]) expect(text).not.toContain('secret@example.com');
    const agent = async () => (await account.must(200, 'GET', `/v1/agents/${ids.agent}`)).body;
    const { owner_id, updated_at } = await agent();
    expect(
      (await browser.submit(path, { name: 'Renamed', owner_id: owner_id ?? '', updated_at }))
        .status,
    ).toBe(303);
    expect(await agent()).toMatchObject({ name: 'Renamed', owner_id });
    expect((await browser.submit('/console/agents', { name: 'New' })).status).toBe(201);
  });

  it('sees only the ids of past requests, and of the agents that ask', async () => {
    const { account, agent, ids } = await makeSecrets();
    await account.must(200, 'POST', `/v1/permissions/${ids.perm}/deny`, {});
    const writer = await enterWithNew(account, { scopes: ['policies:read', 'policies:write'] });
    const draft = {
      name: 'Mail',
      effect: 'approve',
      actions: '*',
      resources: '*',
      priority: '0',
      do: 'try',
    };
    const tried = await writer.browser.submit('/console/policies/new', draft);
    expect([tried.status, tried.text.includes(`<code>${ids.perm}`)]).toEqual([200, true]);
    await agent.request();
    const reader = await enterWithNew(account, { scopes: ['permissions:read'] });
    const inbox = await reader.browser.get('/console');
    expect(inbox.text).toContain(ids.agent);
    expect(inbox.text).not.toContain('Secret agent');
    expect(tried.text).not.toMatch(/Secret (agent|request)/);
  });

  it('has the scopes of the token that the role has now', async () => {
    const account = await new World().account();
    const member = await makeMember(account, 'admin');
    const { id } = await (await account.agent()).request();
    const { browser } = await enterWithNew(account, { scopes: EVERYTHING }, member);
    await account.must(200, 'PUT', `/v1/members/${member.id}`, { role: 'auditor' });
    const fields = { decision: 'approve', reason: '' };
    expect(
      code(await browser.submit(`/console/permissions/${id}/decide`, fields, 'application/json')),
    ).toEqual([403, 'insufficient_scope']);
    await account.must(200, 'PUT', `/v1/members/${member.id}`, { role: 'approver' });
    expect((await browser.submit(`/console/permissions/${id}/decide`, fields)).status).toBe(303);
  });

  it.each(['owner', 'the account'])(
    'of %s changes no passkeys and makes no user tokens',
    async (who) => {
      const account = await new World().account();
      const owner = await makeMember(account, 'owner');
      const browser = await enter(account.world, who === 'owner' ? owner.token : account.token);
      const [passkey] = (
        await account.world.must(200, 'GET', '/v1/me/passkeys', { token: owner.token })
      ).body.data;
      const before = await countRows(env.DB);
      const answers = [
        await browser.change('POST', '/console/me/passkeys/options'),
        await browser.change('DELETE', `/console/me/passkeys/${passkey.id}`),
        await browser.submit('/console/me/tokens', { name: 'More' }, 'application/json'),
      ];
      // With a challenge that the member got in a session of the member's own.
      const { body: options } = await owner.browser.change('POST', '/console/me/passkeys/options');
      const response = await browser.authenticator.create(options);
      answers.push(
        await browser.change('POST', '/console/me/passkeys', { name: 'Mine', response }),
      );
      expect(answers.map(code)).toEqual(answers.map(() => [403, 'person_required']));
      expect(await countRows(env.DB)).toEqual(before);
      const { text } = await browser.get('/console/me');
      for (const part of ['data-remove', 'data-passkey', 'Make a user token'])
        expect(text).not.toContain(part);
    },
  );

  it('deletes own tokens only with account:write', async () => {
    const account = await new World().account();
    const spare = (await account.must(201, 'POST', '/v1/me/tokens', { name: 'Spare' })).body.id;
    const path = `/console/me/tokens/${spare}/delete`;
    const reader = await enterWithNew(account, { scopes: ['account:read'] });
    expect((await reader.browser.get('/console/me')).text).not.toContain('/delete"');
    expect(code(await reader.browser.submit(path, {}, 'application/json'))).toEqual([
      403,
      'insufficient_scope',
    ]);
    const writer = await enterWithNew(account, { scopes: ['account:read', 'account:write'] });
    expect((await writer.browser.get('/console/me')).text).toContain(path);
    expect(place(await writer.browser.submit(path))).toEqual([303, '/console/me']);
    // Also the one with which it was started: then it ends.
    expect((await writer.browser.submit(`/console/me/tokens/${writer.id}/delete`)).status).toBe(
      303,
    );
    await expectEnded(writer.browser);
  });

  it('shows the name of the token as text', async () => {
    const account = await new World().account();
    const name = '<script>alert(1)</script>"><img src=x>\u202ecba';
    const { browser } = await enterWithNew(account, { name });
    for (const path of ['/console/me', '/console']) {
      const { text } = await browser.get(path);
      expect(text).not.toContain('<script>alert');
      expect(text).not.toContain('<img');
      expect(text).toContain('&lt;script&gt;alert(1)');
    }
  });

  it('is no credential of the API', async () => {
    const account = await new World().account();
    const browser = await enter(account.world, account.token);
    const secret = browser.cookie.split('=')[1] ?? '';
    expect(code(await browser.send('GET', '/v1/me'))).toEqual([401, 'unauthorized']);
    expect(code(await account.world.call('GET', '/v1/me', { token: secret }))).toEqual([
      401,
      'unauthorized',
    ]);
  });

  it.runIf(depth.isDeep)('follows the account to other shards', async () => {
    const account = await new World({ DB_01: env.DB_01, DB_02: env.DB_02 }).account();
    const { world } = account;
    const member = await makeMember(account, 'auditor', 'ada@example.com');
    const home = account.token.slice(4, 6);
    const databases: Record<string, D1Database> = {
      '00': env.DB,
      '01': env.DB_01,
      '02': env.DB_02,
    };
    const browsers = [await enter(world, account.token), await enter(world, member.token)];
    let place = home;
    for (const next of ['01', '02', '00'].filter((name) => name !== home)) {
      await orderMove(world, account.id, next, databases[place]);
      await settleMoves(world);
      place = next;
      for (const browser of browsers) expect((await browser.get('/console/me')).status).toBe(200);
      expect((await enter(world, member.token)).cookie).not.toBe('');
    }
    await account.must(204, 'DELETE', `/v1/members/${member.id}`);
    await expectEnded(browsers[1] as Browser);
  });
});

describe('a session of a user token ends', () => {
  it('when the token is deleted, with its row', async () => {
    const account = await new World().account();
    const { id, browser } = await enterWithNew(account);
    const other = await enter(account.world, account.token);
    const before = (await countRows(env.DB)).sessions ?? 0;
    await account.must(204, 'DELETE', `/v1/me/tokens/${id}`);
    await expectEnded(browser);
    expect(await sessionsOf(account.world, account.token)).toHaveLength(1);
    expect((await countRows(env.DB)).sessions).toBe(before - 1);
    expect((await other.get('/console')).status).toBe(200);
  });

  it('when the token expires, also before the token is erased', async () => {
    const account = await new World().account();
    const { world } = account;
    const end = new Date(world.now + HOUR).toISOString();
    const { browser } = await enterWithNew(account, { expires_at: end });
    world.advance(HOUR - 1);
    expect((await browser.get('/console')).status).toBe(200);
    world.advance(1);
    await expectEnded(browser);
    expect(await sessionsOf(world, account.token)).toEqual([]);
    await world.sweep();
    await expectEnded(browser);
    world.advance(7 * 24 * HOUR);
    await world.sweep();
    expect((await countRows(env.DB)).sessions).toBe(0);
  });

  it.each(['suspended', 'removed'])('for good when its member is %s', async (status) => {
    const account = await new World().account();
    const member = await makeMember(account, 'owner');
    await makeMember(account, 'owner');
    const { browser } = await enterWithNew(account, {}, member);
    const operator = await makeMember(account, 'owner');
    const before = (await countRows(env.DB)).sessions ?? 0;
    const call = { token: operator.token };
    if (status === 'removed')
      await account.world.must(204, 'DELETE', `/v1/members/${member.id}`, call);
    else
      await account.world.must(200, 'PUT', `/v1/members/${member.id}`, {
        ...call,
        body: { status },
      });
    await expectEnded(browser);
    // That of the token, and that of the passkey.
    expect((await countRows(env.DB)).sessions).toBe(before - 2);
  });

  it('after twelve hours without a request, and after seven days in any case', async () => {
    const account = await new World().account();
    const { world } = account;
    const idle = await enter(world, account.token);
    const used = await enter(world, account.token);
    const open = await enter(world, account.token);
    const refresh = () =>
      open.send('GET', '/console?part=list', { headers: { 'HX-Request': 'true' } });
    for (let hours = 0; hours < 7 * 24 - 8; hours += 8) {
      world.advance(8 * HOUR);
      expect((await used.get('/console')).status).toBe(200);
      // A page that updates itself is no use of the session.
      expect((await refresh()).status).toBe(hours === 0 ? 200 : 401);
    }
    await expectEnded(idle);
    await expectEnded(open);
    world.advance(8 * HOUR);
    await expectEnded(used);
  });

  it('with the account, and pauses while that is switched off', async () => {
    const account = await new World().account();
    const { world } = account;
    const browser = await enter(world, account.token);
    const operate = (method: string, status: number, body?: unknown) =>
      world.must(status, method, `/v1/admin/users/${account.id}`, {
        token: env.ADMIN_TOKEN ?? '',
        ...(body ? { body } : {}),
      });
    await operate('PATCH', 200, { is_active: false });
    expect(code(await browser.get('/console'))).toEqual([403, 'account_inactive']);
    await operate('PATCH', 200, { is_active: true });
    expect((await browser.get('/console')).status).toBe(200);
    await operate('DELETE', 202);
    await expectEnded(browser);
  });
});

describe('the sign-in page refuses', () => {
  it('every token that does not work with the same words, writes nothing and shows nothing of it', async () => {
    const account = await new World().account();
    const { world } = account;
    const expired = (
      await account.must(201, 'POST', '/v1/me/tokens', { expires_at: '2026-01-31T12:01:00Z' })
    ).body;
    const deleted = (await account.must(201, 'POST', '/v1/me/tokens', {})).body;
    await account.must(204, 'DELETE', `/v1/me/tokens/${deleted.id}`);
    const { body: invited } = await account.must(201, 'POST', '/v1/members', {
      email: 'x@example.com',
      role: 'admin',
    });
    world.advance(MINUTE);
    const tokens = [
      expired.token,
      deleted.token,
      makeCredential('user', '00', random),
      makeCredential('user', '77', random),
      `${account.token.slice(0, -1)}${account.token.endsWith('a') ? 'b' : 'a'}`,
      (await enter(world, account.token)).cookie.split('=')[1] ?? '',
      new URL(invited.invitation.url).pathname.split('/').at(-1) ?? '',
      'eyJhbGciOiJub25lIn0.e30.x',
      '<script>alert(1)</script>',
      '\u202e"><img src=x>',
      'x'.repeat(10_000),
      '',
    ];
    const before = await countRows(env.DB);
    for (const token of tokens) {
      const browser = new Browser(world);
      const { status, text } = await browser.signInWithToken(token);
      expect([status, browser.cookie]).toEqual([401, '']);
      expect(text).toContain(
        'This is no valid user token: it may be mistyped, deleted or expired.',
      );
      expect(text).toContain('You are not signed in.');
      if (token) expect(text).not.toContain(token);
    }
    expect(await countRows(env.DB)).toEqual(before);
  });

  it('another kind of credential, and says what it is', async () => {
    const account = await new World().account();
    const { key } = await account.agent();
    const before = await countRows(env.DB);
    const refused = async (credential: string) => {
      const { status, text, cost } = await new Browser(account.world).signInWithToken(credential);
      expect(text).not.toContain(credential);
      expect([status, cost.trips]).toEqual([403, 0]);
      return text;
    };
    expect(await refused(key)).toContain('This is the key of an agent, not a user token.');
    expect(await refused(makeCredential('agent', '00', random))).toContain(
      'This is the key of an agent',
    );
    expect(await refused(env.ADMIN_TOKEN ?? '')).toContain(
      'This is the token of the operator, not a user token.',
    );
    expect(await countRows(env.DB)).toEqual(before);
  });

  it('a token of a member who is suspended, or of an account that is switched off', async () => {
    const account = await new World().account();
    await account.world.must(200, 'PATCH', `/v1/admin/users/${account.id}`, {
      ...{ token: env.ADMIN_TOKEN ?? '', body: { is_active: false } },
    });
    const { status, text } = await new Browser(account.world).signInWithToken(account.token);
    expect(status).toBe(403);
    expect(text).toContain('The account is inactive');
  });

  it('what comes from another site, or is no form', async () => {
    const account = await new World().account();
    const browser = new Browser(account.world);
    const foreign = await browser.signInWithToken(account.token, {
      Origin: 'https://evil.example.com',
    });
    expect([foreign.status, foreign.text.includes(account.token)]).toEqual([403, false]);
    const attempts: Json[] = [
      { raw: `token=${account.token}&token=x` },
      { raw: '{"token": 1}', headers: { 'Content-Type': 'application/json' } },
      { raw: `token=${account.token}`, headers: { 'Content-Type': 'text/plain' } },
      { raw: `token=${'x'.repeat(1024 * 1024)}`, status: 413 },
      {},
    ];
    for (const { headers, status = 401, ...call } of attempts) {
      const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
      const answer = await browser.send('POST', '/console/sign-in/token', {
        ...{ ...call, headers: { Origin: ORIGIN, Accept: 'text/html', ...form, ...headers } },
      });
      expect([answer.status, browser.cookie]).toEqual([status, '']);
    }
  });

  it('too many failures from one address, but no valid token', async () => {
    await awaitWindow();
    const { LIMITER_OF_3: ADDRESS_LIMITER, ACCOUNT_LIMITER } = env;
    const limiters = { ADDRESS_LIMITER, ACCOUNT_LIMITER, CREDENTIAL_LIMITER: ACCOUNT_LIMITER };
    const world = new World({ RATE_LIMITS: 'on', ...limiters });
    const from = { 'CF-Connecting-IP': `203.0.113.7-${crypto.randomUUID()}` };
    const statuses = [];
    for (let i = 0; i < 5; i++) {
      statuses.push(
        (await new Browser(world).signInWithToken(makeCredential('user', '00', random), from))
          .status,
      );
    }
    expect(statuses).toEqual([401, 401, 401, 429, 429]);
    const { token } = await new World().account();
    expect((await new Browser(world).signInWithToken(token, from)).status).toBe(303);
  });
});

describe('when a user token is deleted while a request is in flight', () => {
  /**
   * An account on a database that can fail, what waits there, and a session of a token that can be
   * deleted.
   */
  async function arrange() {
    const database = new FaultyDatabase(env.DB);
    const world = new World({ DB: database.binding });
    const account = await world.account();
    const agent = await account.agent();
    const [one, approved] = [await agent.request(), await agent.approved()];
    const spare = (await account.must(201, 'POST', '/v1/me/tokens', {})).body.id;
    const entered = await enterWithNew(account);
    const end = () =>
      new World()
        .must(204, 'DELETE', `/v1/me/tokens/${entered.id}`, { token: account.token })
        .then(() => undefined);
    return { database, world, account, end, one, approved, spare, ...entered };
  }

  type Arranged = Awaited<ReturnType<typeof arrange>>;
  const CHANGES: Record<string, (arranged: Arranged) => Promise<[string, Record<string, string>]>> =
    {
      'approve a request': async ({ one }) => [
        `/console/permissions/${one.id}/decide`,
        { decision: 'approve' },
      ],
      'deny a request': async ({ one }) => [
        `/console/permissions/${one.id}/decide`,
        { decision: 'deny' },
      ],
      'revoke a token': async ({ approved }) => [`/console/permissions/${approved.id}/revoke`, {}],
      'delete another user token': async ({ spare }) => [`/console/me/tokens/${spare}/delete`, {}],
      'end a session': async ({ world, account }) => {
        await enter(world, account.token);
        return [`/console/me/sessions/${(await sessionsOf(world, account.token))[0].id}/end`, {}];
      },
      'sign out': async () => ['/console/sign-out', {}],
    };

  it.each(Object.entries(CHANGES))('it does not %s', async (_, plan) => {
    const arranged = await arrange();
    const { database, browser, end } = arranged;
    const [path, fields] = await plan(arranged);
    const csrf = await browser.csrf();
    let before: unknown;
    database.before(2, async () => {
      await end();
      before = await dumpTables(env.DB);
    });
    const raw = new URLSearchParams({ csrf, reason: '', ...fields }).toString();
    const headers = { Origin: ORIGIN, 'Content-Type': 'application/x-www-form-urlencoded' };
    const answer = await browser.send('POST', path, { raw, headers });
    expect(before).toBeDefined();
    expect(code(answer)).toEqual([401, 'unauthorized']);
    expect(await dumpTables(env.DB)).toEqual(before);
  });

  it('it denies none of several requests that are left', async () => {
    const { database, account, browser, end, one } = await arrange();
    const csrf = await browser.csrf();
    // Authentication, reading the request, and denying it.
    database.before(3, end);
    const raw = new URLSearchParams({ csrf, reason: '', id: one.id }).toString();
    const headers = { Origin: ORIGIN, 'Content-Type': 'application/x-www-form-urlencoded' };
    expect(code(await browser.send('POST', '/console/deny', { raw, headers }))).toEqual([
      401,
      'unauthorized',
    ]);
    expect((await account.must(200, 'GET', `/v1/permissions/${one.id}`)).body.status).toBe(
      'pending',
    );
  });

  it('nobody is signed in with it', async () => {
    const { database, world, token, end } = await arrange();
    let before: unknown;
    database.before(2, async () => {
      await end();
      before = await dumpTables(env.DB);
    });
    const browser = new Browser(world);
    const { status, text } = await browser.signInWithToken(token);
    expect([status, browser.cookie]).toEqual([401, '']);
    expect(text).toContain('This is no valid user token');
    expect(await dumpTables(env.DB)).toEqual(before);
  });

  it.each(['before', 'after'] satisfies FaultMode[])(
    'a write whose connection is lost %s it is written',
    async (mode) => {
      const { database, account, browser, end, one } = await arrange();
      const csrf = await browser.csrf();
      database.arm({ call: 2, mode });
      database.before(2, end);
      const raw = new URLSearchParams({ csrf, decision: 'approve', reason: '' }).toString();
      const headers = { Origin: ORIGIN, 'Content-Type': 'application/x-www-form-urlencoded' };
      const answer = await browser.send('POST', `/console/permissions/${one.id}/decide`, {
        raw,
        headers,
      });
      database.arm(null);
      expect(answer.status).toBeGreaterThanOrEqual(401);
      expect((await account.must(200, 'GET', `/v1/permissions/${one.id}`)).body.status).toBe(
        'pending',
      );
    },
  );
});

it('a session whose token expires before the write writes nothing', async () => {
  const database = new FaultyDatabase(env.DB);
  const world = new World({ DB: database.binding });
  const account = await world.account();
  const agent = await account.agent();
  const { id } = await agent.request();
  const { browser } = await enterWithNew(account, {
    expires_at: new Date(world.now + MINUTE).toISOString(),
  });
  const csrf = await browser.csrf();
  world.advance(MINUTE - 1);
  // Another entry moves the time of the log past the end of the token.
  const { id: second } = await agent.request();
  const elsewhere = new World();
  elsewhere.now = world.now + MINUTE;
  database.before(2, async () => {
    await elsewhere.must(200, 'POST', `/v1/permissions/${second}/deny`, {
      token: account.token,
      body: {},
    });
  });
  const raw = new URLSearchParams({ csrf, decision: 'approve', reason: '' }).toString();
  const headers = { Origin: ORIGIN, 'Content-Type': 'application/x-www-form-urlencoded' };
  const answer = await browser.send('POST', `/console/permissions/${id}/decide`, { raw, headers });
  expect(code(answer)).toEqual([503, 'unavailable']);
  expect((await account.must(200, 'GET', `/v1/permissions/${id}`)).body.status).toBe('pending');
});

import { describe, expect, it } from 'vitest';
import { Browser } from '../../support/browser';
import { makeMember, type TestMember } from '../../support/members';
import { makeWebhook } from '../../support/webhooks';
import { type Json, type TestAccount, World } from '../../support/world';

const POLICY = { name: 'Mailings', effect: 'deny', actions: ['email.*'], resources: ['*'] };
const CHANNEL = { kind: 'email', name: 'Reviewers' };
const RECORDS: [path: string, body: Json][] = [
  ['/v1/webhooks', { url: 'https://hooks.example.com/one' }],
  ['/v1/channels', CHANNEL],
  ['/v1/policies', POLICY],
];

/** An account that is not the first of its database. The other one has people and records too. */
async function scene() {
  const world = new World();
  const other = await world.account();
  await makeMember(other, 'admin');
  await makeWebhook(other);
  const account = await world.account();
  return { world, other, account };
}

const as = (
  account: TestAccount,
  { token }: TestMember,
  method: string,
  path: string,
  body?: Json,
) => account.world.call(method, path, { token, ...(body && { body }) });

async function create(
  account: TestAccount,
  member: TestMember,
  path: string,
  fields: Json,
): Promise<Json> {
  const { status, body } = await as(account, member, 'POST', path, fields);
  expect(status).toBe(201);
  return body;
}

describe('created_by', () => {
  it.each(RECORDS)(
    'of %s names the member, or the account for its own token, in every answer',
    async (path, fields) => {
      const { account } = await scene();
      const admin = await makeMember(account, 'admin');
      const made = await create(account, admin, path, fields);
      account.world.advance(1);
      const { body: ofToken } = await account.must(201, 'POST', path, fields);
      expect([made.created_by, ofToken.created_by]).toEqual([admin.id, account.id]);
      const change = path === '/v1/webhooks' ? { description: 'Changed' } : { name: 'Changed' };
      const changed = await account.must(200, 'PUT', `${path}/${made.id}`, change);
      const got = await account.must(200, 'GET', `${path}/${made.id}`);
      const { body: list } = await account.must(200, 'GET', path);
      const listed = list.data.map(({ id, created_by }: Json) => [id, created_by]);
      expect([changed.body.created_by, got.body.created_by]).toEqual([admin.id, admin.id]);
      expect(listed).toEqual([
        [ofToken.id, account.id],
        [made.id, admin.id],
      ]);
    },
  );

  it('of a user token names the operator, the account or the member', async () => {
    const { world, account } = await scene();
    const { body: ofOperator } = await world.must(
      201,
      'POST',
      `/v1/admin/users/${account.id}/tokens`,
      {
        token: world.env.ADMIN_TOKEN ?? '',
        body: {},
      },
    );
    world.advance(1);
    const { body: ofAccount } = await account.must(201, 'POST', '/v1/me/tokens', {});
    const { body: list } = await account.must(200, 'GET', '/v1/me/tokens');
    expect([ofOperator.created_by, ofAccount.created_by]).toEqual(['operator', account.id]);
    expect(list.data.map((token: Json) => token.created_by)).toEqual([
      account.id,
      'operator',
      'operator',
    ]);
    const admin = await makeMember(account, 'admin');
    const { body: own } = await as(account, admin, 'GET', '/v1/me/tokens');
    expect(own.data.map((token: Json) => token.created_by)).toEqual([admin.id]);
  });

  it('is null for what was made before it was recorded', async () => {
    const { world, account } = await scene();
    const { body: policy } = await account.must(201, 'POST', '/v1/policies', POLICY);
    await world.env.DB.prepare('update policies set created_by = null').run();
    expect(
      (await account.must(200, 'GET', `/v1/policies/${policy.id}`)).body.created_by,
    ).toBeNull();
  });
});

describe('leaves', () => {
  it('lists what a member made that stays, and nothing of others, before and after the removal', async () => {
    const { world, account } = await scene();
    const [admin, colleague] = [
      await makeMember(account, 'admin'),
      await makeMember(account, 'admin'),
    ];
    const webhook = await create(account, admin, '/v1/webhooks', {
      url: 'https://hooks.example.com/a',
    });
    const channel = await create(account, admin, '/v1/channels', CHANNEL);
    const { id: connection } = await create(account, admin, '/v1/connections', {
      name: 'Mail',
      base_url: 'https://mail.example.com',
      agent_ids: [(await account.agent()).id],
    });
    const policy = await create(account, admin, '/v1/policies', POLICY);
    const own = await create(account, admin, '/v1/me/tokens', {});
    for (const [path, fields] of RECORDS) await create(account, colleague, path, fields);
    const { body: token } = await account.must(201, 'POST', '/v1/me/tokens', {});
    const set = 'update user_tokens set created_by = ? where created_by = ? and member is null';
    await world.env.DB.prepare(set).bind(admin.id, account.id).run();

    const leaves = {
      webhooks: [webhook.id],
      channels: [channel.id],
      connections: [connection],
      policies: [policy.id],
      tokens: [token.id],
    };
    expect(JSON.stringify(leaves)).not.toContain(own.id);
    const shown = await account.must(200, 'GET', `/v1/members/${admin.id}`);
    expect(shown.body.leaves).toEqual(leaves);
    const lesser = await account.limitedToken('account:read');
    expect(
      (await world.must(200, 'GET', `/v1/members/${admin.id}`, { token: lesser })).body.leaves,
    ).toEqual(leaves);

    await account.must(204, 'DELETE', `/v1/members/${admin.id}`);
    expect((await account.must(200, 'GET', `/v1/members/${admin.id}`)).body.leaves).toEqual(leaves);
  });

  it('is on the page that removes the member, with links, in two trips', async () => {
    const { account } = await scene();
    const [owner, admin] = [await makeMember(account, 'owner'), await makeMember(account, 'admin')];
    const webhook = await create(account, admin, '/v1/webhooks', {
      url: 'https://hooks.example.com/left',
    });
    const policy = await create(account, admin, '/v1/policies', { ...POLICY, name: 'Left behind' });
    const page = await owner.browser.get(`/console/members/${admin.id}`);
    expect([page.status, page.cost.trips]).toEqual([200, 2]);
    for (const part of [
      webhook.url,
      webhook.id,
      'Left behind',
      policy.id,
      'stays and still works',
    ]) {
      expect(page.text).toContain(part);
    }
    const without = await owner.browser.get(`/console/members/${owner.id}`);
    expect(without.text).not.toContain('stays and still works');
  });
});

describe('the open invitations that a member made', () => {
  const invite = (
    account: TestAccount,
    member: TestMember,
    role = 'auditor',
    email = `${crypto.randomUUID()}@x.example`,
  ) => create(account, member, '/v1/members', { email, role });
  const join = async ({ world }: TestAccount, { invitation: { url } }: Json) => {
    const browser = new Browser(world);
    const page = await browser.get(new URL(url).pathname);
    return page.status === 200 ? (await browser.join(url)).status : page.status;
  };

  it('end when the member is removed, also the one that the member made for themselves', async () => {
    const { account } = await scene();
    const admin = await makeMember(account, 'admin');
    const again = await invite(account, admin, 'admin', 'again@example.com');
    const colleague = await makeMember(account, 'admin');
    const kept = await invite(account, colleague);
    await account.must(204, 'DELETE', `/v1/members/${admin.id}`);
    expect(await join(account, again)).toBe(404);
    expect((await account.must(200, 'GET', `/v1/members/${again.id}`)).body.status).toBe('invited');
    expect(await join(account, kept)).toBe(201);
    const { body: renewed } = await account.must(201, 'POST', `/v1/members/${again.id}/invitation`);
    expect(await join(account, { invitation: renewed })).toBe(201);
  });

  it('end when the member is suspended, and belong to who renewed them', async () => {
    const { account } = await scene();
    const [admin, colleague] = [
      await makeMember(account, 'admin'),
      await makeMember(account, 'admin'),
    ];
    const [first, second] = [await invite(account, admin), await invite(account, colleague)];
    const renew = (member: TestMember, { id }: Json) =>
      as(account, member, 'POST', `/v1/members/${id}/invitation`);
    const { body: taken } = await renew(colleague, first);
    const { body: given } = await renew(admin, second);
    await account.must(200, 'PUT', `/v1/members/${admin.id}`, { status: 'suspended' });
    expect(await join(account, { invitation: given })).toBe(404);
    expect(await join(account, { invitation: taken })).toBe(201);
  });

  it('end when the member gets a role that could not have made them', async () => {
    const { account } = await scene();
    const [owner, other] = [await makeMember(account, 'owner'), await makeMember(account, 'owner')];
    const [newOwner, newAdmin] = [
      await invite(account, owner, 'owner'),
      await invite(account, owner, 'admin'),
    ];
    const change = (fields: Json) => as(account, other, 'PUT', `/v1/members/${owner.id}`, fields);
    expect((await change({ name: 'Renamed' })).status).toBe(200);
    expect((await change({ role: 'admin' })).status).toBe(200);
    expect(await join(account, newOwner)).toBe(404);
    const auditor = await invite(account, owner);
    expect((await change({ role: 'approver' })).status).toBe(200);
    expect([await join(account, newAdmin), await join(account, auditor)]).toEqual([404, 404]);
  });

  it('are shown as ended on the page of the invited member', async () => {
    const { account } = await scene();
    const [owner, admin] = [await makeMember(account, 'owner'), await makeMember(account, 'admin')];
    const invited = await invite(account, admin);
    await account.must(204, 'DELETE', `/v1/members/${admin.id}`);
    const { text } = await owner.browser.get(`/console/members/${invited.id}`);
    expect(text).toContain('The invitation ended on');
  });

  it('stay open when a member of another account goes', async () => {
    const { account, other } = await scene();
    const [admin, stranger] = [
      await makeMember(account, 'admin'),
      await makeMember(other, 'admin'),
    ];
    const invited = await invite(account, admin);
    await other.must(204, 'DELETE', `/v1/members/${stranger.id}`);
    expect(await join(account, invited)).toBe(201);
  });
});

import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { RECEIVER_KINDS } from '../../../src/db/schema';
import { type Id, idBytes, makeId, withPrefix } from '../../../src/lib/typeid';
import {
  delegateAt,
  type StoredSettings,
  storedSettings,
  wants,
} from '../../../src/receivers/channels/settings/settings';
import { FaultyDatabase } from '../../support/faults';
import { makeMember, type TestMember } from '../../support/members';
import { type Answer, type Json, type TestAccount, World } from '../../support/world';

const PATH = '/v1/me/notifications';
const STORED = { channels: null, events: null, quiet_hours: null, delegate: null };
const NOTHING = { ...STORED, push: [] };
const NIGHT = { start: '22:00', end: '07:00', time_zone: 'Europe/Berlin' };

/** An account with a member who calls. */
async function makeCaller(world = new World(), role = 'approver') {
  const account = await world.account();
  const member = await makeMember(account, role);
  return { world, account, member, ...calls(account, member) };
}

function calls({ world }: TestAccount, { token }: TestMember) {
  return {
    get: async () => (await world.must(200, 'GET', PATH, { token })).body,
    put: (body: unknown) => world.call('PUT', PATH, { token, body }),
  };
}

/** The status of a refusal, and its errors as `path: message`. */
function refusal({ status, body }: Answer) {
  return [status, ...(body.errors ?? []).map(({ path, message }: Json) => `${path}: ${message}`)];
}

const code = ({ status, body }: Answer) => [status, body.code];

/** Stores a channel, or a webhook, and returns the id of a channel with these bits. */
async function insertReceiver(
  account: TestAccount,
  kind: (typeof RECEIVER_KINDS)[number],
): Promise<Id<'chan'>> {
  const id = makeId('webhook', account.world.now, crypto.getRandomValues(new Uint8Array(10)));
  await env.DB.prepare(
    `insert into receivers (account, id, kind, name, url, events, is_active, secret, starts_after, created_at, updated_at)
     select number, ?, ?, 'Channel', '', '[]', 1, x'', 0, 0, 0 from accounts where id = ?`,
  )
    .bind(idBytes(id), RECEIVER_KINDS.indexOf(kind), idBytes(account.id))
    .run();
  return withPrefix('chan', id);
}

/** The stored settings of a member. */
async function readStored(member: { id: string }): Promise<StoredSettings | null> {
  const row = await env.DB.prepare('select settings from notification_settings where member = ?')
    .bind(idBytes(member.id))
    .first<{ settings: string }>();
  return storedSettings(row ? { settings: JSON.parse(row.settings) } : undefined);
}

describe('the settings of a member', () => {
  it('are all null at first', async () => {
    const { member, get } = await makeCaller();
    expect(await get()).toEqual({ ...NOTHING, updated_at: null });
    expect(await readStored(member)).toBeNull();
  });

  it('change field by field', async () => {
    const { world, account, get, put } = await makeCaller();
    const other = await makeMember(account, 'auditor');
    const chosen = [await insertReceiver(account, 'email'), await insertReceiver(account, 'slack')];
    const changes = [
      { channels: chosen },
      { events: ['webhook.disabled', 'permission.requested'] },
      { quiet_hours: NIGHT },
      {
        delegate: {
          member_id: other.id,
          from: '2026-02-01T00:00:00.000Z',
          until: '2026-02-08T00:00:00.000Z',
        },
      },
      { channels: [], events: [] },
      { quiet_hours: { start: '00:00', end: '23:59', time_zone: 'asia/kathmandu' } },
      { delegate: { member_id: other.id, from: null, until: null } },
      { channels: null },
      { events: null, quiet_hours: null, delegate: null },
    ];
    let expected: Json = NOTHING;
    for (const change of changes) {
      world.advance(1_000);
      expected = { ...expected, ...change };
      const { status, body } = await put(change);
      expect(status).toBe(200);
      expect(body).toEqual({ ...expected, updated_at: new Date(world.now).toISOString() });
      expect(await get()).toEqual(body);
    }
    expect(expected).toEqual(NOTHING);
  });

  it('show the times of a delegate in UTC, and null for those that are not given', async () => {
    const { account, put } = await makeCaller();
    const { id: member_id } = await makeMember(account, 'auditor');
    const { body } = await put({ delegate: { member_id, from: '2026-02-01T01:00:00+01:00' } });
    expect(body.delegate).toEqual({ member_id, from: '2026-02-01T00:00:00.000Z', until: null });
    expect((await put({ delegate: { member_id } })).body.delegate).toEqual({
      member_id,
      from: null,
      until: null,
    });
  });

  it('are read in one round trip to the database, and changed in two', async () => {
    const { world, account, member, put } = await makeCaller();
    const channels = [await insertReceiver(account, 'email')];
    expect((await put({ channels })).cost.trips).toBe(2);
    expect((await world.must(200, 'GET', PATH, { token: member.token })).cost.trips).toBe(1);
  });

  it('leave a record of which fields changed, but not of what the member chose', async () => {
    const { account, member, put } = await makeCaller();
    expect((await put({ events: [], quiet_hours: NIGHT })).status).toBe(200);
    expect((await put({})).status).toBe(400);
    const { body } = await account.must(200, 'GET', '/v1/activity?action=notifications.updated');
    expect(body.data).toMatchObject([
      { actor: member.id, target: member.id, changes: ['events', 'quiet_hours'] },
    ]);
    expect(JSON.stringify(body)).not.toContain('Berlin');
  });

  it.each(['owner', 'admin', 'approver', 'developer', 'auditor'])(
    'are those of the caller alone, as %s',
    async (role) => {
      const { account, get, put } = await makeCaller(new World(), role);
      const other = calls(account, await makeMember(account, role));
      expect((await put({ events: ['permission.decided'] })).status).toBe(200);
      expect(await other.get()).toEqual({ ...NOTHING, updated_at: null });
      expect((await other.put({ channels: [] })).status).toBe(200);
      expect(await get()).toMatchObject({ channels: null, events: ['permission.decided'] });
    },
  );

  it('need the scope account:read, and a member', async () => {
    const { world, account, member } = await makeCaller(new World(), 'admin');
    const token = async (...scopes: string[]) =>
      (await world.must(201, 'POST', '/v1/me/tokens', { token: member.token, body: { scopes } }))
        .body.token;
    const [lesser, enough] = [await token('permissions:read'), await token('account:read')];
    for (const [method, body] of [['GET'], ['PUT', { events: [] }]] as const) {
      const call = (token: string) => world.call(method, PATH, { token, body });
      expect(code(await call(account.token))).toEqual([403, 'person_required']);
      expect(code(await call(lesser))).toEqual([403, 'insufficient_scope']);
      expect((await call(enough)).status).toBe(200);
    }
  });
});

describe('a change is refused', () => {
  it('without a field, and with an unknown one', async () => {
    const { get, put } = await makeCaller();
    expect(refusal(await put({}))).toEqual([400, 'body: must set at least one field']);
    expect(refusal(await put({ event: [] }))).toEqual([
      400,
      'body.event: is not a field of this endpoint, which takes channels, events, quiet_hours, delegate',
    ]);
    expect(refusal(await put({ updated_at: null }))[1]).toMatch(
      /^body\.updated_at: is not a field/,
    );
    expect((await get()).updated_at).toBeNull();
  });

  it('for events that are unknown or named twice', async () => {
    const { put } = await makeCaller();
    const names =
      'permission.requested, permission.escalated, permission.decided, permission.expired, ' +
      'permission.outcome_missing, webhook.disabled, account.stopped, account.resumed';
    expect(refusal(await put({ events: ['audit.created'] }))).toEqual([
      400,
      `body.events.0: must be one of ${names}`,
    ]);
    expect(refusal(await put({ events: ['webhook.disabled', 'webhook.disabled'] }))).toEqual([
      400,
      'body.events: must name each event once',
    ]);
    expect(refusal(await put({ events: 'webhook.disabled' }))[1]).toBe(
      'body.events: must be a list',
    );
  });

  it('for channels that the account does not have', async () => {
    const { world, account, get, put } = await makeCaller();
    const own = await insertReceiver(account, 'email');
    const webhook = await insertReceiver(account, 'webhook');
    const foreign = await insertReceiver(await world.account(), 'slack');
    const none = 'is not a channel of this account';
    expect(refusal(await put({ channels: [webhook] }))).toEqual([400, `body.channels.0: ${none}`]);
    expect(
      refusal(await put({ channels: [foreign, own, makeId('chan', 0, new Uint8Array(10))] })),
    ).toEqual([400, `body.channels.0: ${none}`, `body.channels.2: ${none}`]);
    expect(refusal(await put({ channels: [withPrefix('webhook', own)] }))).toEqual([
      400,
      'body.channels.0: must be the id of a channel',
    ]);
    expect((await get()).updated_at).toBeNull();
  });

  it('for more than 50 channels, and for one that is named twice', async () => {
    const { account, put } = await makeCaller();
    const channels: string[] = [];
    while (channels.length < 51) channels.push(await insertReceiver(account, 'email'));
    expect(refusal(await put({ channels }))).toEqual([
      400,
      'body.channels: must have at most 50 members',
    ]);
    expect((await put({ channels: channels.slice(1) })).status).toBe(200);
    expect(refusal(await put({ channels: [channels[0], channels[1], channels[0]] }))).toEqual([
      400,
      'body.channels: must name each channel once',
    ]);
  });

  it.each([
    [{ start: '24:00' }, 'start: must be a time of day from 00:00 to 23:59, such as 07:00'],
    [{ start: '7:00' }, 'start: must be a time of day from 00:00 to 23:59, such as 07:00'],
    [{ end: '06:60' }, 'end: must be a time of day from 00:00 to 23:59, such as 07:00'],
    [{ end: '07:00\n' }, 'end: must be a time of day from 00:00 to 23:59, such as 07:00'],
    [{ end: '22:00' }, 'end: must not be the same as `start`'],
    [{ end: undefined }, 'end: is required'],
    [
      { time_zone: 'Europe/Atlantis' },
      'time_zone: must be a name of the IANA time zone database, such as Europe/Berlin',
    ],
    [
      { time_zone: '+01:00' },
      'time_zone: must be a name of the IANA time zone database, such as Europe/Berlin',
    ],
    [
      { time_zone: '' },
      'time_zone: must be a name of the IANA time zone database, such as Europe/Berlin',
    ],
    [{ time_zone: 'x'.repeat(65) }, 'time_zone: must be at most 64 characters long'],
    [{ time_zone: 1 }, 'time_zone: must be text'],
  ])('for the quiet hours %j', async (part, message) => {
    const { put } = await makeCaller();
    expect(refusal(await put({ quiet_hours: { ...NIGHT, ...part } }))).toEqual([
      400,
      `body.quiet_hours.${message}`,
    ]);
  });

  it('for a delegate who ends before the beginning', async () => {
    const { account, put } = await makeCaller();
    const { id: member_id } = await makeMember(account, 'auditor');
    const from = '2026-02-01T00:00:00.000Z';
    for (const until of [from, '2026-01-31T23:59:59.999Z']) {
      expect(refusal(await put({ delegate: { member_id, from, until } }))).toEqual([
        400,
        'body.delegate.until: must be after `from`',
      ]);
    }
    expect(refusal(await put({ delegate: { member_id, from: 'tomorrow' } }))[1]).toMatch(
      /^body\.delegate\.from: must be/,
    );
  });

  it('for a delegate who is not another active member of the account', async () => {
    const { world, account, member, get, put } = await makeCaller();
    const suspended = await makeMember(account, 'auditor');
    await account.must(200, 'PUT', `/v1/members/${suspended.id}`, { status: 'suspended' });
    const removed = await makeMember(account, 'auditor');
    await account.must(204, 'DELETE', `/v1/members/${removed.id}`);
    const { body: invited } = await account.must(201, 'POST', '/v1/members', {
      email: 'a@example.com',
      role: 'admin',
    });
    const foreign = await makeMember(await world.account(), 'approver');
    const unknown = makeId('member', 0, new Uint8Array(10));
    for (const member_id of [
      member.id,
      suspended.id,
      removed.id,
      invited.id,
      foreign.id,
      unknown,
    ]) {
      expect(refusal(await put({ events: [], delegate: { member_id } }))).toEqual([
        400,
        'body.delegate.member_id: must be another active member of this account',
      ]);
    }
    expect(refusal(await put({ delegate: { member_id: account.id } }))).toEqual([
      400,
      'body.delegate.member_id: must be the id of a member',
    ]);
    expect(await get()).toEqual({ ...NOTHING, updated_at: null });
  });
});

describe('at the same time', () => {
  /** A member whose next change is stored only after `happens`. */
  async function makeRacing() {
    const database = new FaultyDatabase(env.DB);
    const { account, member, ...caller } = await makeCaller(new World({ DB: database.binding }));
    const elsewhere = (method: string, path: string, token: string, body?: unknown) =>
      new World().call(method, path, { token, ...(body !== undefined && { body }) });
    const race = (body: unknown, happens: () => Promise<unknown>) => {
      database.before(2, happens);
      return caller.put(body);
    };
    return { account, member, ...caller, elsewhere, race };
  }

  it('changes of different fields all take effect, of a new row and of an old one', async () => {
    const { member, get, race, elsewhere } = await makeRacing();
    const first = await race({ events: [] }, () =>
      elsewhere('PUT', PATH, member.token, { quiet_hours: NIGHT }),
    );
    expect(first.body).toMatchObject({ events: [], quiet_hours: NIGHT });
    const second = await race({ quiet_hours: null }, () =>
      elsewhere('PUT', PATH, member.token, { channels: [] }),
    );
    expect(second.body).toMatchObject({ channels: [], events: [], quiet_hours: null });
    expect(await get()).toEqual(second.body);
  });

  it('many changes of different fields all take effect', async () => {
    const { account, get, put } = await makeCaller();
    const { id: member_id } = await makeMember(account, 'auditor');
    const delegate = { member_id, from: null, until: null };
    const changes = [{ events: [] }, { channels: [] }, { quiet_hours: NIGHT }, { delegate }];
    const answers = await Promise.all(changes.map(put));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(await get()).toMatchObject({ events: [], channels: [], quiet_hours: NIGHT, delegate });
  });

  it('a delegate who is suspended is refused', async () => {
    const { account, get, race, elsewhere } = await makeRacing();
    const { id: member_id } = await makeMember(account, 'auditor');
    const suspend = () =>
      elsewhere('PUT', `/v1/members/${member_id}`, account.token, { status: 'suspended' });
    expect(refusal(await race({ delegate: { member_id } }, suspend))).toEqual([
      400,
      'body.delegate.member_id: must be another active member of this account',
    ]);
    expect((await get()).updated_at).toBeNull();
  });

  it('a member who is removed changes nothing more', async () => {
    const { account, member, race, elsewhere } = await makeRacing();
    const remove = () => elsewhere('DELETE', `/v1/members/${member.id}`, account.token);
    expect(code(await race({ events: [] }, remove))).toEqual([401, 'unauthorized']);
    expect(await readStored(member)).toBeNull();
  });
});

describe('a member who is removed', () => {
  it('leaves no settings', async () => {
    const { account, member, put } = await makeCaller();
    const other = await makeMember(account, 'auditor');
    await put({ events: [] });
    await calls(account, other).put({ events: [] });
    expect(await readStored(member)).toEqual({ ...STORED, events: [] });
    await account.must(204, 'DELETE', `/v1/members/${member.id}`);
    expect(await readStored(member)).toBeNull();
    expect(await readStored(other)).not.toBeNull();
  });

  it('stays the delegate of others, who can still change other fields', async () => {
    const { account, member, get, put } = await makeCaller();
    const delegate = await makeMember(account, 'auditor');
    await put({ delegate: { member_id: delegate.id } });
    await account.must(204, 'DELETE', `/v1/members/${delegate.id}`);
    expect((await put({ events: [] })).status).toBe(200);
    expect((await get()).delegate.member_id).toBe(delegate.id);
    expect(delegateAt(await readStored(member), Date.now())).toBe(delegate.id);
  });
});

it('a member who is suspended keeps the settings, and cannot change them', async () => {
  const { account, member, put } = await makeCaller();
  await put({ events: [] });
  await account.must(200, 'PUT', `/v1/members/${member.id}`, { status: 'suspended' });
  expect(await readStored(member)).toEqual({ ...STORED, events: [] });
  expect(code(await put({ events: null }))).toEqual([401, 'unauthorized']);
});

describe('the sender', () => {
  const [one, two] = [
    'chan_01m7x1m1tre75vaz5yvpbmvt6m',
    'chan_01m7x1m1tre75vaz5yvpbmvt6n',
  ] as const;
  const settings = (fields: Partial<StoredSettings>): StoredSettings => ({ ...STORED, ...fields });

  it('finds that members want everything unless they chose', () => {
    const asked = { channelId: one, event: 'permission.requested' } as const;
    expect(wants(null, asked)).toBe(true);
    expect(wants(settings({}), asked)).toBe(true);
    expect(wants(settings({ channels: [two, one] }), asked)).toBe(true);
    expect(wants(settings({ channels: [two] }), asked)).toBe(false);
    expect(wants(settings({ channels: [] }), asked)).toBe(false);
    expect(wants(settings({ events: ['permission.requested'] }), asked)).toBe(true);
    expect(wants(settings({ events: ['permission.decided'] }), asked)).toBe(false);
    expect(wants(settings({ events: [] }), asked)).toBe(false);
    expect(wants(settings({ channels: [one], events: [] }), asked)).toBe(false);
    expect(wants(settings({ channels: [], events: ['permission.requested'] }), asked)).toBe(false);
  });

  it('finds the delegate from the beginning until the end', () => {
    const member_id = 'member_01m7x1m1tre75vaz5yvpbmvt6m';
    const [from, until] = ['2026-02-01T00:00:00.000Z', '2026-02-02T00:00:00.000Z'];
    const at = (times: { from: string | null; until: string | null }, time: string) =>
      delegateAt(settings({ delegate: { member_id, ...times } }), Date.parse(time));
    expect(delegateAt(null, 0)).toBeNull();
    expect(delegateAt(settings({}), 0)).toBeNull();
    expect(at({ from: null, until: null }, from)).toBe(member_id);
    expect(at({ from, until }, '2026-01-31T23:59:59.999Z')).toBeNull();
    expect(at({ from, until }, from)).toBe(member_id);
    expect(at({ from, until }, '2026-02-01T23:59:59.999Z')).toBe(member_id);
    expect(at({ from, until }, until)).toBeNull();
    expect(at({ from: null, until }, '2020-01-01T00:00:00Z')).toBe(member_id);
    expect(at({ from, until: null }, '2040-01-01T00:00:00Z')).toBe(member_id);
  });
});

import { describe, expect, it } from 'vitest';
import { readHiddenFields, readText } from '../support/html';
import { makeMember } from '../support/members';
import { type Json, type TestAccount, World } from '../support/world';

const PATH = '/console/me/notifications';
const EVENTS = [
  ...['permission.requested', 'permission.escalated', 'permission.decided', 'permission.expired'],
  'permission.outcome_missing',
  'webhook.disabled',
];

async function enter(role = 'admin') {
  const account = await new World().account();
  return { account, member: await makeMember(account, role) };
}

async function makeChannel(account: TestAccount, name: string): Promise<string> {
  return (await account.must(201, 'POST', '/v1/channels', { kind: 'email', name })).body.id;
}

async function settingsOf(account: TestAccount, { token }: { token: string }): Promise<Json> {
  return (await account.world.must(200, 'GET', '/v1/me/notifications', { token })).body;
}

const place = ({ status, headers }: { status: number; headers: Headers }) => [
  status,
  headers.get('Location'),
];

describe('the notifications on the own page', () => {
  it('are chosen in a form, and what is not touched stays as it is', async () => {
    const { account, member } = await enter();
    const { browser } = member;
    const other = await makeMember(account, 'approver', 'grace@example.com');
    expect(readText((await browser.get('/console/me')).text)).toContain(
      'The account has no channel for e-mail yet',
    );
    const channels = [await makeChannel(account, 'One <b>'), await makeChannel(account, 'Two')];
    const page = await browser.get('/console/me');
    expect([page.cost.trips, page.text.includes('One &lt;b&gt;')]).toEqual([2, true]);
    expect(page.text).toContain('<option value="Europe/Berlin">');
    const shown = {
      ...{
        offered: channels,
        channels,
        events: EVENTS,
        quiet_start: '',
        quiet_end: '',
        time_zone: 'Europe/Berlin',
      },
      ...{ delegate: '', first_day: '', last_day: '', updated_at: '' },
    };
    expect(place(await browser.submit(PATH, shown))).toEqual([303, '/console/me']);
    expect((await settingsOf(account, member)).updated_at).toBeNull();

    const fields = {
      ...{
        channels: channels.slice(0, 1),
        events: EVENTS.slice(0, 2),
        quiet_start: '22:00',
        quiet_end: '07:00',
      },
      ...{ delegate: other.id, first_day: '2026-02-01', last_day: '2026-02-14' },
    };
    expect((await browser.submit(PATH, { ...shown, ...fields })).status).toBe(303);
    const settings = await settingsOf(account, member);
    expect(settings).toMatchObject({
      ...{ channels: channels.slice(0, 1), events: EVENTS.slice(0, 2) },
      quiet_hours: { start: '22:00', end: '07:00', time_zone: 'Europe/Berlin' },
      delegate: {
        member_id: other.id,
        from: '2026-02-01T00:00:00.000Z',
        until: '2026-02-15T00:00:00.000Z',
      },
    });
    const again = await browser.get('/console/me');
    for (const value of ['22:00', '07:00', 'Europe/Berlin', '2026-02-01', '2026-02-14']) {
      expect(again.text).toContain(`value="${value}"`);
    }
    expect(again.text).toContain(`value="${other.id}" selected`);

    // Times that the API can say, and the form cannot, are kept unless somebody changes the days.
    account.world.advance(1);
    const delegate = { member_id: other.id, from: '2026-02-01T09:30:00.000Z', until: null };
    const { token } = member;
    await account.world.must(200, 'PUT', '/v1/me/notifications', { token, body: { delegate } });
    const { updated_at } = readHiddenFields((await browser.get('/console/me')).text, PATH);
    const kept = { ...shown, ...fields, last_day: '', updated_at: updated_at ?? '' };
    account.world.advance(1);
    expect((await browser.submit(PATH, { ...kept, events: [] })).status).toBe(303);
    expect(await settingsOf(account, member)).toMatchObject({ events: [], delegate });

    // A form that was opened before does not undo that.
    const late = await browser.submit(PATH, { ...kept, delegate: '', events: [] });
    expect([late.status, late.text.includes('is now: somebody else')]).toEqual([409, true]);
    expect((await settingsOf(account, member)).delegate).toEqual(delegate);
  });

  it('show what is wrong at each field', async () => {
    const { account, member } = await enter();
    const typed = {
      ...{
        events: EVENTS,
        quiet_start: '25:00',
        quiet_end: '07:00',
        time_zone: 'Mars/"><b>',
        updated_at: '',
      },
      ...{ delegate: member.id, first_day: 'x', last_day: '' },
    };
    const wrong = await member.browser.submit(PATH, typed);
    expect(wrong.status).toBe(400);
    for (const field of ['quiet_start', 'time_zone', 'first_day'])
      expect(wrong.text).toContain(`id="field-${field}-fault"`);
    expect(wrong.text).toContain('value="Mars/&quot;&gt;&lt;b&gt;"');
    const same = { ...typed, quiet_start: '07:00', time_zone: 'UTC', first_day: '' };
    expect((await member.browser.submit(PATH, same)).text).toContain('id="field-quiet_end-fault"');
    const own = await member.browser.submit(PATH, { ...same, quiet_start: '', quiet_end: '' });
    expect([own.status, own.text.includes('must be another active member')]).toEqual([400, true]);
    const stranger = await new World().account();
    const foreign = await makeChannel(stranger, 'Foreign');
    const named = {
      events: EVENTS,
      offered: [foreign, 'chan_x'],
      channels: foreign,
      updated_at: '',
    };
    expect((await member.browser.submit(PATH, named)).status).toBe(400);
    expect((await settingsOf(account, member)).updated_at).toBeNull();
  });

  it('name no channels to those who may not read them, whose choice of channels stays', async () => {
    const { account, member } = await enter('approver');
    const channel = await makeChannel(account, 'Secret channel');
    await account.world.must(200, 'PUT', '/v1/me/notifications', {
      token: member.token,
      body: { channels: [channel] },
    });
    const page = await member.browser.get('/console/me');
    expect(page.text).not.toContain('Secret channel');
    const { updated_at = '' } = readHiddenFields(page.text, PATH);
    const changed = { events: 'permission.requested', updated_at };
    expect((await member.browser.submit(PATH, changed)).status).toBe(303);
    expect(await settingsOf(account, member)).toMatchObject({
      channels: [channel],
      events: ['permission.requested'],
    });
  });

  it('are of members only, and of a page of the console', async () => {
    const { account, member } = await enter();
    const { browser } = await makeMember(account, 'owner');
    await browser.signInWithToken(account.token);
    expect((await browser.get('/console/me')).text).not.toContain('id="notifications"');
    expect((await browser.submit(PATH, { events: [] })).status).toBe(403);
    expect((await member.browser.submit(PATH, { csrf: 'x', events: [] })).status).toBe(403);
    expect((await settingsOf(account, member)).updated_at).toBeNull();
  });
});

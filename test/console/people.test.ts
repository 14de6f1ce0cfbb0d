import { describe, expect, it } from 'vitest';
import '../support/shards';
import { Browser } from '../support/browser';
import { makeMember } from '../support/members';
import { type Answer, type Json, ORIGIN, type TestAccount, World } from '../support/world';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const HOSTILE = '<script>alert(1)</script>"><img src=x>\u202e';

/** Sends a form in which a field may occur several times. */
async function submit(browser: Browser, path: string, fields: [string, string][]): Promise<Answer> {
  const raw = new URLSearchParams([['csrf', await browser.csrf()], ...fields]).toString();
  const headers = {
    Origin: ORIGIN,
    'Content-Type': 'application/x-www-form-urlencoded',
    Accept: 'text/html',
  };
  return browser.send('POST', path, { raw, headers });
}

async function invite(account: TestAccount, fields: Json = {}) {
  const body = { email: `${crypto.randomUUID()}@example.com`, role: 'auditor', ...fields };
  return (await account.must(201, 'POST', '/v1/members', body)).body;
}

/** The field with which a form says which state of a member it shows. */
async function shownState(account: TestAccount, id: string): Promise<[string, string]> {
  return ['updated_at', (await account.must(200, 'GET', `/v1/members/${id}`)).body.updated_at];
}

async function scene(role = 'owner') {
  const account = await new World().account({ name: 'Example Ltd' });
  return { account, ...(await makeMember(account, role)) };
}

/** The text of a page without its elements. */
function textOf({ text }: Answer): string {
  return text
    .slice(text.indexOf('<main'))
    .replace(/<[^>]*>/g, '')
    .replace(/\s+/g, ' ');
}

const where = ({ status, headers }: Answer) => [status, headers.get('Location')];

describe('the members page', () => {
  it('lists the people with role, status, ways to sign in and when they were seen, in two trips', async () => {
    const { account, browser } = await scene();
    await invite(account, { name: 'Ada Lovelace', email: 'ada@example.com' });
    account.world.advance(5 * MINUTE);
    const page = await browser.get('/console/members');
    expect([page.status, page.cost.trips]).toEqual([200, 2]);
    const text = textOf(page);
    expect(text).toMatch(/Ada Lovelace\s*ada@example.com\s*auditor invited\s*has not joined yet/);
    expect(text).toContain('(you)');
    expect(text).toMatch(/owner active\s*passkey, seen (5 min|under 1 min) ago/);
    expect(text).toMatch(/Approve and deny requests\s*owner, admin, approver/);
    expect(text).toMatch(/remove owners\s*owner\s*$/);
  });

  it('says when an invitation has expired', async () => {
    const { account, browser } = await scene();
    await invite(account, { name: 'Ada Lovelace', email: 'ada@example.com' });
    account.world.advance(7 * DAY);
    await browser.signIn();
    expect(textOf(await browser.get('/console/members'))).toMatch(
      /auditor invited\s*the invitation has expired/,
    );
  });

  it('filters by role and status in the address; removed members are shown only when asked for', async () => {
    const { account, browser } = await scene();
    const gone = await invite(account, { name: 'Gone' });
    await account.must(204, 'DELETE', `/v1/members/${gone.id}`);
    await invite(account, { name: 'Ada', role: 'developer' });
    const names = async (query: string) =>
      [
        ...(await browser.get(`/console/members${query}`)).text.matchAll(
          /members\/member_\w+"><bdi>(\w+)/g,
        ),
      ].map(([, name]) => name);
    expect(await names('?status=removed')).toEqual(['Gone']);
    expect(await names('?status=invited&role=developer')).toEqual(['Ada']);
    expect(await names('?role=developer&status=')).toEqual(['Ada']);
    expect(await names('?role=approver')).toEqual([]);
    expect(await names('?status=nonsense')).toContain('Ada');
  });

  it('goes on with the next page, as does the activity', async () => {
    const { account, browser } = await scene();
    await Promise.all(Array.from({ length: 51 }, () => invite(account)));
    for (const [path, query, row] of [
      ['members', '?role=auditor&status=', 'data-row'],
      ['activity', '?actor=&action=member.invited&start_date=&end_date=', 'class="what"'],
    ]) {
      const first = await browser.get(`/console/${path}${query}`);
      expect(first.text.split(row ?? '')).toHaveLength(51);
      const next =
        /href="([^"]+)" rel="next"/.exec(first.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
      const last = await browser.get(next);
      expect(last.text).not.toContain('rel="next"');
      expect(last.text.split(row ?? '').length).toBeGreaterThan(1);
    }
  });

  it.each(['approver', 'developer', 'auditor'])(
    'shows %ss no way to change anything, and refuses it',
    async (role) => {
      const { account, browser, id } = await scene(role);
      const other = await invite(account, { name: 'Ada' });
      const list = await browser.get('/console/members');
      expect(list.text).not.toContain('/console/members/new');
      const page = await browser.get(`/console/members/${other.id}`);
      expect([page.status, page.text.includes('action="/console/members/')]).toEqual([200, false]);
      expect((await browser.get('/console/members/new')).status).toBe(403);
      const refused = [
        await submit(browser, '/console/members', [
          ['email', 'x@example.com'],
          ['role', 'auditor'],
        ]),
        await submit(browser, `/console/members/${id}`, [['role', 'owner']]),
        await submit(browser, `/console/members/${other.id}/status`, [['status', 'suspended']]),
        await submit(browser, `/console/members/${other.id}/remove`, [['confirm', 'Ada']]),
        await submit(browser, `/console/members/${other.id}/invitation`, []),
      ];
      for (const answer of refused)
        expect([answer.status, textOf(answer)]).toEqual([403, expect.stringContaining(role)]);
    },
  );
});

describe('an invitation in the console', () => {
  it('is made with a form, whose answer shows the address once', async () => {
    const { account, browser } = await scene('admin');
    const answer = await submit(browser, '/console/members', [
      ['email', 'ada@example.com'],
      ['name', 'Ada'],
      ['role', 'approver'],
    ]);
    expect([answer.status, answer.headers.get('Cache-Control')]).toEqual([200, 'no-store']);
    const url = /id="secret">([^<]+)</.exec(answer.text)?.[1] ?? '';
    expect(url).toMatch(/^https:\/\/countersign\.test\/console\/invitations\/csi_/);
    expect(answer.text).toContain('data-copy="secret"');
    expect(textOf(answer)).toMatch(/It works once, until 2026-02-07 12:00 UTC/);
    const { body } = await account.must(200, 'GET', '/v1/members?role=approver');
    expect(body.data).toMatchObject([{ email: 'ada@example.com', name: 'Ada', role: 'approver' }]);
    const page = await browser.get(`/console/members/${body.data[0].id}`);
    expect(page.text).not.toContain('csi_');
    expect(textOf(page)).toContain('has not joined yet, and can join until 2026-02-07 12:00 UTC.');
    const again = await submit(browser, `/console/members/${body.data[0].id}/invitation`, []);
    expect(/id="secret">([^<]+)</.exec(again.text)?.[1]).not.toBe(url);
    expect((await browser.get(new URL(url).pathname)).status).toBe(404);
    account.world.advance(7 * DAY);
    await browser.signIn();
    const late = await browser.get(`/console/members/${body.data[0].id}`);
    expect(textOf(late)).toContain(
      'The invitation expired on 2026-02-07 12:00 UTC, before this person joined.',
    );
  });

  it('says what this is and what the role may do, and takes the name that the person gives', async () => {
    const { account, browser } = await scene('admin');
    await makeMember(await account.world.account(), 'owner');
    const form = { email: 'ada@example.com', name: 'A. L.', role: 'approver' };
    const { text } = await browser.submit('/console/members', form);
    expect(text).toContain(
      '<a class="button quiet" href="/console/members/new">Invite another</a>',
    );
    const path = new URL(/id="secret">([^<]+)</.exec(text)?.[1] ?? '').pathname;
    const invited = new Browser(account.world);
    const headers = { 'User-Agent': 'Mozilla/5.0 (Windows NT 10.0) Firefox/140.0' };
    const page = await invited.send('GET', path, { headers });
    for (const part of [
      'Join Example Ltd',
      'AI agents ask before they act',
      'Your role is approver. Approves and denies what agents ask for.',
      'Approve and deny requests',
      'Passkeys need JavaScript, which is off in this browser.',
    ]) {
      expect(textOf(page)).toContain(part);
    }
    expect(textOf(page)).not.toContain('Change policies');
    const shownIn = (name: string) =>
      new RegExp(`name="${name}"[^>]* value="([^"]*)"`).exec(page.text)?.[1];
    expect([shownIn('member_name'), shownIn('name')]).toEqual(['A. L.', 'Firefox on Windows']);
    const join = async (member_name?: string) => {
      const { body: options } = await invited.change('POST', `${path}/options`);
      const response = await invited.authenticator.create(options);
      return invited.change('POST', path, { name: 'Laptop', response, member_name });
    };
    expect((await join(' ')).status).toBe(400);
    expect(await join('Ada Lovelace')).toMatchObject({
      status: 201,
      body: { location: '/console' },
    });
    const told = await invited.get('/console');
    expect(told.text).toContain('<a href="/console/me#passkeys-title">make a second passkey</a>');
    expect(textOf(await invited.get('/console'))).not.toContain('You have joined.');
    const { body } = await account.must(200, 'GET', '/v1/members?role=approver');
    expect(body.data).toMatchObject([{ name: 'Ada Lovelace', status: 'active' }]);
    const records = await account.must(200, 'GET', '/v1/activity?action=member.joined');
    const changes = records.body.data.map(({ changes }: Json) => changes);
    expect(changes.toSorted()).toEqual([[], ['name']]);
    expect((await invited.get('/console/me')).text).toContain('value="Phone or security key"');
  });

  it('keeps what was typed and marks what is wrong', async () => {
    const { account, browser } = await scene();
    await invite(account, { email: 'ada@example.com' });
    const cases: [string, string, number, string][] = [
      ['nobody', 'approver', 400, 'must be an e-mail address'],
      ['ADA@example.com', 'approver', 409, 'belongs to another member'],
      ['grace@example.com', '', 400, 'must be one of owner, admin'],
    ];
    for (const [email, role, status, fault] of cases) {
      const answer = await submit(browser, '/console/members', [
        ['email', email],
        ['name', HOSTILE],
        ['role', role],
      ]);
      expect([answer.status, textOf(answer)]).toEqual([status, expect.stringContaining(fault)]);
      expect(answer.text).toContain(`value="${email}"`);
      expect(answer.text).toContain('value="&lt;script&gt;');
      if (role) expect(answer.text).toContain(`value="${role}" checked`);
    }
  });

  it('offers an admin no owner, and refuses one', async () => {
    const { browser } = await scene('admin');
    const form = await browser.get('/console/members/new');
    expect([form.text.includes('value="admin"'), form.text.includes('value="owner"')]).toEqual([
      true,
      false,
    ]);
    const answer = await submit(browser, '/console/members', [
      ['email', 'x@example.com'],
      ['role', 'owner'],
    ]);
    expect([answer.status, textOf(answer)]).toEqual([
      403,
      expect.stringContaining('Only an owner may invite'),
    ]);
    expect(answer.text).toContain('value="x@example.com"');
  });
});

describe('the page of a member', () => {
  it('shows who it is, the passkeys, the agents and the latest actions, in two trips', async () => {
    const { account, browser } = await scene();
    const developer = await makeMember(account, 'developer', 'dev@example.com');
    await account.world.must(201, 'POST', '/v1/agents', {
      token: developer.token,
      body: { name: 'Mailer' },
    });
    await account.agent({ name: 'Of the account' });
    const page = await browser.get(`/console/members/${developer.id}`);
    expect([page.status, page.cost.trips]).toEqual([200, 2]);
    const text = textOf(page);
    for (const part of [
      /^.*dev@example\.com active/,
      /responsible for\s*Mailer\s*on/,
      /Laptop\s*added 2026-01-31/,
      /dev@example\.com registered the agent Mailer/,
      /dev@example\.com made a user token/,
    ]) {
      expect(text).toMatch(part);
    }
    expect(text).not.toContain('Of the account');
  });

  it('changes only what differs, so that the activity says what was changed', async () => {
    const { account, browser } = await scene();
    const { id } = await invite(account, { name: 'Ada' });
    const path = `/console/members/${id}`;
    expect(
      where(
        await submit(browser, path, [
          ['name', 'Ada'],
          ['role', 'auditor'],
        ]),
      ),
    ).toEqual([303, path]);
    const first = await account.must(200, 'GET', `/v1/activity?target=${id}`);
    expect(first.body.data.map(({ action }: Json) => action)).toEqual(['member.invited']);
    await submit(browser, path, [
      ['name', 'Ada'],
      ['role', 'admin'],
      await shownState(account, id),
    ]);
    const { body } = await account.must(
      200,
      'GET',
      `/v1/activity?target=${id}&action=member.updated`,
    );
    expect(body.data).toMatchObject([{ changes: ['role'] }]);
    expect(textOf(await browser.get(path))).toMatch(/Role\s*admin/);
    const refused = await submit(browser, path, [
      ['name', ' '],
      ['role', 'approver'],
      await shownState(account, id),
    ]);
    expect([refused.status, textOf(refused)]).toEqual([
      400,
      expect.stringContaining('must be 1 to 255'),
    ]);
    expect(refused.text).toContain('value="approver" checked');
  });

  it('gives no rights back that were taken away since the page was opened', async () => {
    const { account, browser } = await scene();
    const member = await makeMember(account, 'admin', 'grace@example.com');
    const path = `/console/members/${member.id}`;
    const old = await shownState(account, member.id);
    account.world.advance(1);
    await account.must(200, 'PUT', `/v1/members/${member.id}`, { role: 'auditor' });
    const form: [string, string][] = [
      ['name', 'Grace'],
      ['role', 'admin'],
    ];
    const refused = await submit(browser, path, [...form, old]);
    expect([refused.status, textOf(refused)]).toEqual([
      409,
      expect.stringContaining('is now: auditor'),
    ]);
    expect(textOf(refused)).toContain('The member was changed since you opened the page.');
    expect(refused.text).toContain('value="admin" checked');
    expect((await submit(browser, path, form)).status).toBe(409);
    const current = await shownState(account, member.id);
    expect(refused.text).toContain(`name="updated_at" value="${current[1]}"`);
    // Suspending takes rights away: no page is too old for that. Activating gives them back.
    expect((await submit(browser, `${path}/status`, [['status', 'suspended'], old])).status).toBe(
      303,
    );
    const late = await submit(browser, `${path}/status`, [['status', 'active'], old]);
    expect([late.status, textOf(late)]).toEqual([
      409,
      expect.stringContaining('since you opened the page'),
    ]);
    const { body } = await account.must(200, 'GET', `/v1/members/${member.id}`);
    expect([body.role, body.status]).toEqual(['auditor', 'suspended']);
    expect(
      where(await submit(browser, path, [...form, await shownState(account, member.id)])),
    ).toEqual([303, path]);
  });

  it('suspends, activates and removes after the name was typed', async () => {
    const { account, browser } = await scene();
    const member = await makeMember(account, 'approver', 'Grace@example.com');
    const path = `/console/members/${member.id}`;
    expect(where(await submit(browser, `${path}/status`, [['status', 'suspended']]))).toEqual([
      303,
      path,
    ]);
    expect((await member.browser.get('/console/me')).status).toBe(302);
    expect(textOf(await browser.get(path))).toContain('Activate');
    await submit(browser, `${path}/status`, [
      ['status', 'active'],
      await shownState(account, member.id),
    ]);
    expect((await member.browser.signIn()).status).toBe(201);
    const wrong = await submit(browser, `${path}/remove`, [['confirm', 'Ada']]);
    expect([wrong.status, textOf(wrong)]).toEqual([
      400,
      expect.stringContaining('is neither the name nor the e-mail'),
    ]);
    expect(wrong.text).toContain('value="Ada"');
    expect(
      where(await submit(browser, `${path}/remove`, [['confirm', ' grace@EXAMPLE.com ']])),
    ).toEqual([303, path]);
    const page = await browser.get(path);
    expect(textOf(page)).toMatch(/removed.*Laptop\s*added .* removed 2026/);
    expect(page.text).not.toContain(`action="${path}`);
    const late = await submit(browser, `${path}/invitation`, []);
    expect([late.status, textOf(late)]).toEqual([409, expect.any(String)]);
  });

  it('says in words that the last owner stays', async () => {
    const { account, browser, id } = await scene();
    const path = `/console/members/${id}`;
    expect((await browser.get(path)).text).not.toContain(`${path}/remove`);
    for (const [at, field] of [
      ['', ['role', 'admin']],
      ['/status', ['status', 'suspended']],
    ] as const) {
      const answer = await submit(browser, path + at, [[...field], await shownState(account, id)]);
      expect([answer.status, textOf(answer)]).toEqual([
        409,
        expect.stringContaining('Make another member an owner first'),
      ]);
    }
  });

  it('lets an admin change no owner', async () => {
    const { account, browser } = await scene('admin');
    const owner = await makeMember(account, 'owner');
    const path = `/console/members/${owner.id}`;
    const page = await browser.get(path);
    expect(page.text).not.toContain(`action="${path}`);
    expect(textOf(page)).toContain('Only an owner can change');
    const refused = [
      await submit(browser, path, [['name', 'Mine'], await shownState(account, owner.id)]),
      await submit(browser, `${path}/status`, [['status', 'suspended']]),
    ];
    for (const answer of refused) expect(answer.status).toBe(403);
  });

  it('of another account is not found', async () => {
    const { account, browser } = await scene();
    const foreign = await invite(await account.world.account());
    for (const id of [foreign.id, 'member_x', 'x']) {
      expect((await browser.get(`/console/members/${id}`)).status).toBe(404);
      expect(
        (await submit(browser, `/console/members/${id}/remove`, [['confirm', id]])).status,
      ).toBe(404);
    }
  });

  it('shows hostile names as text', async () => {
    const { account, browser } = await scene();
    const { id } = await invite(account, { name: HOSTILE });
    await invite(account, { name: 'x'.repeat(255) });
    for (const path of ['/console/members', `/console/members/${id}`, '/console/activity']) {
      const { status, text } = await browser.get(path);
      expect(status).toBe(200);
      expect(text).not.toContain('<script>alert');
      expect(text).not.toContain('<img');
      expect(text).toContain('<span class="unseen">U+202E</span>');
    }
  });
});

describe('the activity page', () => {
  it('says who did what to what, with names and links, in two trips', async () => {
    const { account, browser, id } = await scene();
    const agent = await account.agent({ name: 'Mailer' });
    await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { name: 'Writer', is_active: false });
    await account.must(200, 'POST', `/v1/agents/${agent.id}/rotate-key`, {});
    const gone = await account.agent({ name: 'Gone' });
    await account.must(204, 'DELETE', `/v1/agents/${gone.id}`);
    await account.must(200, 'PUT', `/v1/members/${id}`, { name: 'Ada' }).catch(() => undefined);
    const page = await browser.get('/console/activity');
    expect([page.status, page.cost.trips]).toEqual([200, 2]);
    const text = textOf(page);
    for (const part of [
      'A token of the account rotated the key of the agent Writer',
      `deleted the agent ${gone.id}`,
      'joined the account',
      'The operator invited the member',
    ]) {
      expect(text).toContain(part);
    }
    expect(text).toMatch(/changed the agent Writer\s*Changed: name, is active/);
    expect(page.text).toContain(`<a href="/console/agents/${agent.id}">`);
    expect(page.text).not.toContain(`<a href="/console/agents/${gone.id}">`);
  });

  it('filters by person, action, target and dates', async () => {
    const { account, browser, id } = await scene();
    account.world.advance(DAY);
    await browser.signIn();
    await account.agent();
    const lines = async (query: string) =>
      (await browser.get(`/console/activity?${query}`)).text.split('class="what"').length - 1;
    expect(await lines(`actor=${id}&action=session.created`)).toBe(2);
    expect(await lines(`actor=${id}&action=session.created&end_date=2026-01-31`)).toBe(1);
    expect(await lines('start_date=2026-02-01&action=agent.created&actor=')).toBe(1);
    expect(await lines(`target=${id}&action=member.joined`)).toBe(1);
    expect(
      textOf(await browser.get('/console/activity?actor=operator&action=report.requested')),
    ).toContain('No activity matches.');
  });

  it('names the device from which somebody acted', async () => {
    const { account, browser } = await scene();
    for (const [userAgent, name] of [
      [
        'Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/130.0 Safari/537.36 Edg/130.0',
        'Edge on Windows',
      ],
      [
        'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile/15E148 Safari/604.1',
        'Safari on iPhone',
      ],
      ['curl/8.5.0', 'curl'],
      [`<img${'x'.repeat(200)}`, `<img${'x'.repeat(36)}`],
    ]) {
      const call = {
        token: account.token,
        headers: { 'User-Agent': userAgent ?? '' },
        body: { name: 'Mailer' },
      };
      await account.world.must(201, 'POST', '/v1/agents', call);
      const { text } = await browser.get('/console/activity?action=agent.created');
      expect(text).toContain(`<bdi>${name?.replace('<', '&lt;')}</bdi>`);
    }
  });

  it('marks filters that are wrong', async () => {
    const { browser } = await scene();
    for (const [query, fault] of [
      ['start_date=2026-02-01&end_date=2026-01-01', 'must not be after the end'],
      ['start_date=yesterday', 'must be a date'],
      ['action=nonsense', 'must be one of'],
    ] as const) {
      const page = await browser.get(`/console/activity?${query}`);
      expect([page.status, textOf(page)]).toEqual([400, expect.stringContaining(fault)]);
    }
    const hostile = await browser.get(
      `/console/activity?actor=${encodeURIComponent(HOSTILE)}&target=${encodeURIComponent(HOSTILE)}`,
    );
    expect([hostile.status, hostile.text.includes('<img')]).toEqual([200, false]);
  });
});

describe('my own page', () => {
  it.each(['owner', 'approver', 'developer', 'auditor'])(
    'works for an %s in two trips',
    async (role) => {
      const { browser } = await scene(role);
      const page = await browser.get('/console/me');
      expect([page.status, page.cost.trips]).toEqual([200, 2]);
      expect(page.text.includes('Change my name')).toBe(role === 'owner');
      for (const part of ['Example Ltd', role, 'Laptop', 'this session', 'only way to sign in']) {
        expect(textOf(page)).toContain(part);
      }
    },
  );

  it('offers to change passkeys only for ten minutes, and says what to do then', async () => {
    const { account, browser } = await scene('auditor');
    expect((await browser.get('/console/me')).text).toContain('data-passkey="make"');
    account.world.advance(10 * MINUTE);
    const page = await browser.get('/console/me');
    expect(page.text).not.toContain('data-passkey="make"');
    expect(textOf(page)).toContain('sign in again');
  });

  it('names the devices of the sessions, and ends another one', async () => {
    const { browser } = await scene('auditor');
    const old = browser.cookie;
    await browser.signIn();
    const page = await browser.get('/console/me');
    const [, end] = /action="(\/console\/me\/sessions\/[^"]+)"/.exec(page.text) ?? [];
    expect(page.text.match(/\/sessions\/[^"]+\/end/g)).toHaveLength(1);
    expect(where(await submit(browser, end ?? '', []))).toEqual([303, '/console/me']);
    browser.cookie = old;
    expect((await browser.get('/console/me')).status).toBe(302);
  });

  it('makes a user token with the chosen scopes and expiry, shows it once, and deletes it', async () => {
    const { account, browser } = await scene('approver');
    const form = await browser.get('/console/me/tokens/new');
    expect(form.text).toContain('value="permissions:decide"');
    expect(form.text).not.toContain('value="policies:write"');
    const answer = await submit(browser, '/console/me/tokens', [
      ['name', HOSTILE],
      ['choose', 'scopes'],
      ['scopes', 'account:read'],
      ['scopes', 'permissions:read'],
      ['lifetime', '7'],
    ]);
    expect(answer.status).toBe(200);
    expect(textOf(answer)).toContain('only this once');
    const token = /csu_[0-9A-Za-z]{40}/.exec(answer.text)?.[0] ?? '';
    const { body } = await account.world.must(200, 'GET', '/v1/me/tokens', { token });
    const made = body.data.find(({ name }: Json) => name === HOSTILE.trim());
    expect(made).toMatchObject({
      scopes: ['permissions:read', 'account:read'],
      expires_at: '2026-02-07T12:00:00.000Z',
    });
    const page = await browser.get('/console/me');
    expect(page.text).not.toContain(token);
    expect(page.text).not.toContain('<img');
    await submit(browser, `/console/me/tokens/${made.id}/delete`, []);
    expect((await account.world.call('GET', '/v1/me', { token })).status).toBe(401);
    account.world.advance(8 * DAY);
  });

  it('marks what is wrong with a new user token and keeps what was typed', async () => {
    const { browser } = await scene('approver');
    const cases: [[string, string][], number, string][] = [
      [[['name', '']], 400, 'must be 1 to 255'],
      [
        [
          ['name', 'A'],
          ['choose', 'scopes'],
        ],
        400,
        'must not be empty',
      ],
      [
        [
          ['name', 'A'],
          ['scopes', 'policies:write'],
          ['choose', 'scopes'],
        ],
        403,
        'must be among the scopes',
      ],
      [
        [
          ['name', 'A'],
          ['lifetime', 'soon'],
        ],
        400,
        'must be one of these',
      ],
    ];
    for (const [fields, status, fault] of cases) {
      const answer = await submit(browser, '/console/me/tokens', fields);
      expect([answer.status, textOf(answer)]).toEqual([status, expect.stringContaining(fault)]);
      expect(answer.text).toContain(`value="${fields[0]?.[1]}"`);
    }
  });

  it('has nothing to do with the sessions and tokens of others', async () => {
    const { account, browser } = await scene('admin');
    const other = await makeMember(account, 'admin');
    const { body: sessions } = await account.world.must(200, 'GET', '/v1/me/sessions', {
      token: other.token,
    });
    const { body: tokens } = await account.world.must(200, 'GET', '/v1/me/tokens', {
      token: other.token,
    });
    for (const path of [
      `sessions/${sessions.data[0].id}/end`,
      `tokens/${tokens.data[0].id}/delete`,
      'tokens/x/delete',
    ]) {
      expect((await submit(browser, `/console/me/${path}`, [])).status).toBe(404);
    }
    expect((await other.browser.get('/console/me')).status).toBe(200);
  });
});

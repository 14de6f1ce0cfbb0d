import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { readHiddenFields, readLinks, readText } from '../support/html';
import { confirmEmail, makeMember, makeReachableMember } from '../support/members';
import { type Json, makeAgent, ORIGIN, type TestAccount, World } from '../support/world';

const HOSTILE = `<script>alert(1)</script> "><img src=x> \u202e ${'w'.repeat(150)}`;
const EVENTS = ['permission.requested', 'webhook.disabled'];
const NO_MAIL = 'This service cannot send mail yet.';
/** The settings of a service that can send mail. */
const MAIL = { EMAIL_FROM: 'countersign@example.com', RESEND_API_KEY: 're_1' };

async function enter(role = 'admin', settings: Partial<typeof MAIL> = MAIL) {
  const { world, account, agent } = await makeAgent(new World(settings), {});
  return { world, account, agent, ...(await makeMember(account, role)) };
}

async function makeChannel(account: TestAccount, fields: Json = {}): Promise<Json> {
  return (
    await account.must(201, 'POST', '/v1/channels', {
      kind: 'email',
      name: 'Mail to reviewers',
      ...fields,
    })
  ).body;
}

async function readChannel(account: TestAccount, id: string): Promise<Json> {
  return (await account.must(200, 'GET', `/v1/channels/${id}`)).body;
}

/** The deliveries of a channel, the newest first. */
async function listDeliveries(account: TestAccount, id: string): Promise<Json[]> {
  return (await account.must(200, 'GET', `/v1/channels/${id}/deliveries?limit=100`)).body.data;
}

const CODES = { succeeded: 1, failed: 2 };

/** Ends deliveries as a worker records it, because no test sends mail. */
async function end(
  world: World,
  status: keyof typeof CODES,
  error: string | null = null,
  where = '1 = 1',
) {
  await env.DB.prepare(
    `update deliveries set status = ?, attempts = 1, due_at = null, last_error = ?, completed_at = ?, duration = 12
      where status = 0 and permission is not null and ${where}`,
  )
    .bind(CODES[status], error, world.now)
    .run();
}

/** The address to which an answer leads. */
const place = ({ status, headers }: { status: number; headers: Headers }) => [
  status,
  headers.get('Location'),
];

describe('the channels of the console', () => {
  it('are created, and changed without undoing the changes of others', async () => {
    const { world, account, agent, browser } = await enter();
    const empty = await browser.get('/console/channels');
    expect(readText(empty.text)).toContain(
      'There are no channels yet. A channel notifies people of requests',
    );
    expect(empty.text).not.toContain(NO_MAIL);
    const form = await browser.get('/console/channels/new');
    expect(form.text.match(/checked=""/g)).toHaveLength(8);
    const typed = { kind: 'email', name: ` ${HOSTILE} `, events: EVENTS, agent_ids: [agent.id] };
    const created = await browser.submit('/console/channels', {
      ...readHiddenFields(form.text, '/console/channels'),
      ...{ ...typed, actions: ` payment.*\r\n\r\n*send` },
    });
    expect(created.status).toBe(303);
    const path = created.headers.get('Location') ?? '';
    const id = path.split('/').at(-1) ?? '';
    const channel = await readChannel(account, id);
    expect(channel).toMatchObject({
      ...{ kind: 'email', name: HOSTILE.trim(), events: EVENTS, is_active: true },
      filter: { actions: ['payment.*', '*send'], agent_ids: [agent.id] },
    });

    const page = await browser.get(path);
    for (const text of [
      'permission.requested, webhook.disabled',
      'Mailer',
      'payment.*',
      '*send',
      'U+202E',
    ]) {
      expect(page.text).toContain(text);
    }
    for (const text of ['<script>alert', '<img', '<b>', '\u202e'])
      expect(page.text).not.toContain(text);
    expect(page.cost.trips).toBe(2);
    const list = await browser.get('/console/channels');
    expect(list.cost.trips).toBe(2);
    expect(readText(list.text)).toContain('Only for payment.*, *send, 1 agent');
    for (const text of ['<script>alert', '<img', '<b>', '\u202e'])
      expect(list.text).not.toContain(text);

    world.advance(1);
    const shown = readHiddenFields((await browser.get(`${path}/edit`)).text, `${path}/edit`);
    expect(shown).toEqual({ updated_at: channel.updated_at });
    const fields = {
      ...shown,
      name: 'Payments',
      events: EVENTS.toReversed(),
      actions: 'payment.*',
    };
    expect(place(await browser.submit(`${path}/edit`, { ...fields, agent_ids: [] }))).toEqual([
      303,
      path,
    ]);
    expect(await readChannel(account, id)).toMatchObject({
      ...{ name: 'Payments', events: EVENTS, filter: { actions: ['payment.*'] } },
    });
    const [activity] = (await account.must(200, 'GET', '/v1/activity')).body.data;
    expect(activity).toMatchObject({ action: 'channel.updated', changes: ['name', 'filter'] });
    expect(readText((await browser.get('/console/activity')).text)).toMatch(/made a channel/);

    // The form that was opened before does not undo that.
    const late = await browser.submit(`${path}/edit`, {
      ...fields,
      actions: 'mail.*',
      agent_ids: [agent.id],
    });
    expect(late.status).toBe(409);
    expect(late.text).toContain('mail.*</textarea>');
    for (const now of ['payment.*', 'all agents']) expect(late.text).toContain(`is now: ${now}`);
    const again = readHiddenFields(late.text, `${path}/edit`);
    expect(
      (await browser.submit(`${path}/edit`, { ...fields, ...again, actions: '' })).status,
    ).toBe(303);
    expect((await readChannel(account, id)).filter).toBeNull();
    // Nothing is written if nothing differs.
    const { updated_at } = await readChannel(account, id);
    world.advance(1);
    expect(
      (await browser.submit(`${path}/edit`, { name: 'Payments', events: EVENTS })).status,
    ).toBe(303);
    expect((await readChannel(account, id)).updated_at).toBe(updated_at);
  });

  it('are switched off and on, and deleted', async () => {
    const { world, account, browser } = await enter();
    const { id } = await makeChannel(account);
    const path = `/console/channels/${id}`;
    expect(place(await browser.submit(`${path}/switch`, { is_active: 'false' }))).toEqual([
      303,
      path,
    ]);
    expect((await browser.get('/console/channels')).text).toMatch(/badge neutral">off</);
    const off = await browser.get(path);
    expect(off.text).toContain('While it is off, nothing is sent');
    expect(off.text).not.toContain('Send a test');
    const refused = await browser.submit(`${path}/test`);
    expect([refused.status, /role="alert">The channel is disabled/.test(refused.text)]).toEqual([
      409,
      true,
    ]);
    const shownOff = readHiddenFields(off.text, `${path}/switch`);
    world.advance(1);
    await account.must(200, 'PUT', `/v1/channels/${id}`, { name: 'Keep it off' });
    const outdated = await browser.submit(`${path}/switch`, shownOff);
    expect([outdated.status, (await readChannel(account, id)).is_active]).toEqual([409, false]);
    expect(outdated.text).toContain('The channel was changed since you opened the page.');
    const again = readHiddenFields(outdated.text, `${path}/switch`);
    expect([(await browser.submit(`${path}/switch`, again)).status, again.is_active]).toEqual([
      303,
      'true',
    ]);

    await env.DB.prepare(
      `update receivers set is_active = 0, disabled_reason = 'Every mail was refused.' where kind > 0`,
    ).run();
    const disabled = await browser.get(path);
    expect(readText(disabled.text)).toContain(
      'Countersign has stopped sending through this channel. Every mail was refused.',
    );
    expect((await browser.get('/console/channels')).text).toMatch(/badge bad">disabled</);
    expect(place(await browser.submit(`${path}/delete`))).toEqual([303, '/console/channels']);
    expect((await browser.get(path)).status).toBe(404);
  });

  it('show what was typed and what is wrong with it', async () => {
    const { account, browser } = await enter();
    const stranger = await (await account.world.account()).agent();
    const none = await browser.submit('/console/channels', {
      kind: 'email',
      name: '',
      actions: 'a b\nc.*',
    });
    expect(none.status).toBe(400);
    for (const text of [
      'Check at least one event.',
      'a b\nc.*</textarea>',
      'id="field-name-fault"',
    ]) {
      expect(none.text).toContain(text);
    }
    const typed = {
      kind: 'email',
      name: 'Mine"><img>',
      events: EVENTS,
      actions: 'x'.repeat(1_000),
    };
    const named = await browser.submit('/console/channels', { ...typed, agent_ids: stranger.id });
    expect([named.status, named.text.includes('id="field-actions-fault"')]).toEqual([400, true]);
    expect(named.text).toContain('value="Mine&quot;&gt;&lt;img&gt;"');
    const foreign = await browser.submit('/console/channels', {
      ...typed,
      actions: '',
      agent_ids: stranger.id,
    });
    expect([foreign.status, foreign.text.includes('is not an agent of this account')]).toEqual([
      400,
      true,
    ]);
    for (const kind of ['slack', 'pigeon', '']) {
      const other = await browser.submit('/console/channels', {
        ...typed,
        kind,
        actions: 'x'.repeat(1_000),
      });
      expect(other.status).toBe(400);
    }
    expect((await account.must(200, 'GET', '/v1/channels')).body.data).toEqual([]);
  });

  it('offer both kinds, and show how their newest messages ended', async () => {
    const { world, account, agent, browser } = await enter();
    const offers = ['/console/channels/new?kind=email', '/console/channels/new?kind=slack'];
    for (const offer of offers)
      expect(readLinks((await browser.get('/console/channels')).text)).toContain(offer);
    await makeChannel(account);
    const list = async () => readText((await browser.get('/console/channels')).text);
    expect(await list()).toContain('Nothing was delivered yet');
    for (const offer of offers)
      expect(readLinks((await browser.get('/console/channels')).text)).toContain(offer);
    await agent.request();
    await world.deliver();
    await end(world, 'failed', 'The answer was 422.');
    expect(await list()).toMatch(/(\d) of the last \1 deliveries failed/);
    // Each list counts its own.
    await account.must(201, 'POST', '/v1/webhooks', { url: 'https://hooks.example.com/' });
    expect(readText((await browser.get('/console/webhooks')).text)).toContain(
      'Nothing was delivered yet',
    );
  });

  it('say that the service cannot send mail', async () => {
    const { account, browser } = await enter('owner', {});
    for (const path of ['/console/channels', '/console/channels/new']) {
      expect(readText((await browser.get(path)).text)).toContain(
        `${NO_MAIL} Its operator can set that up`,
      );
    }
    const { id } = await makeChannel(account);
    const path = `/console/channels/${id}`;
    const delivery = (await browser.submit(`${path}/test`)).headers.get('Location') ?? '';
    for (const page of ['/console/channels', path, `${path}/edit`, delivery]) {
      const { text } = await browser.get(page);
      expect([
        text.includes(NO_MAIL),
        text.includes('Send a test'),
        text.includes('Send it again'),
      ]).toEqual([...[true, false, false]]);
    }
  });

  it('let an auditor and a developer look only, and an approver not at all', async () => {
    const { account, browser } = await enter();
    const { id } = await makeChannel(account);
    const path = `/console/channels/${id}`;
    const delivery = (await browser.submit(`${path}/test`)).headers.get('Location') ?? '';
    const pages = ['/console/channels', path, delivery];
    const changes = [
      '/edit',
      '/switch',
      '/delete',
      '/test',
      delivery.replace(path, '').concat('/redeliver'),
    ];
    for (const role of ['auditor', 'developer']) {
      const { browser: reader } = await makeMember(account, role);
      expect((await reader.get('/console/me')).text).toContain('href="/console/channels"');
      for (const page of pages) {
        const { status, text } = await reader.get(page);
        expect([
          status,
          /<form method="post" action="\/console\/channels|\/edit|\/new/.test(text),
        ]).toEqual([200, false]);
      }
      for (const change of ['', ...changes.map((change) => `/${id}${change}`)]) {
        expect((await reader.submit(`/console/channels${change}`)).status).toBe(403);
      }
      for (const page of ['/console/channels/new', `${path}/edit`])
        expect((await reader.get(page)).status).toBe(403);
    }
    const { browser: approver } = await makeMember(account, 'approver');
    expect((await approver.get('/console/me')).text).not.toContain('/console/channels');
    for (const page of pages) expect((await approver.get(page)).status).toBe(403);
  });

  it('of another account, and webhooks, are not found', async () => {
    const { world, account, browser } = await enter();
    const other = await world.account();
    const { id } = await makeChannel(other);
    const { body: sent } = await other.must(202, 'POST', `/v1/channels/${id}/test`);
    const { body: webhook } = await account.must(201, 'POST', '/v1/webhooks', {
      url: 'https://hooks.example.com/',
    });
    const foreign = `/console/channels/${id}`;
    const own = `/console/channels/${webhook.id.replace('webhook', 'chan')}`;
    for (const path of [foreign, own, '/console/channels/x']) {
      for (const page of [path, `${path}/edit`, `${path}/deliveries/${sent.id}`]) {
        expect((await browser.get(page)).status).toBe(404);
      }
      for (const change of [
        'edit',
        'switch',
        'delete',
        'test',
        `deliveries/${sent.id}/redeliver`,
      ]) {
        const fields = { is_active: 'false', name: 'Mine', events: EVENTS };
        expect((await browser.submit(`${path}/${change}`, fields)).status).toBe(404);
      }
    }
    const channel = await readChannel(other, id);
    expect([channel.is_active, channel.name]).toEqual([true, 'Mail to reviewers']);
  });
});

const TOKEN = 'xoxb-1-000000000000-abcdefghijklmnop';
const SIGNING_SECRET = 'a1'.repeat(16);
const OTHER_TOKEN = TOKEN.replace('1', '2');
const SECRETS = [TOKEN, SIGNING_SECRET, OTHER_TOKEN];
const SLACK = { kind: 'slack', name: 'Finance', events: EVENTS, actions: '' };

/** What is wrong with a field, as its page says it; undefined if nothing is. */
function faultOf(html: string, name: string): string | undefined {
  const [, fault] = new RegExp(`id="field-${name}-fault">([^<]*)<`).exec(html) ?? [];
  return fault;
}

function expectNoSecrets(html: string) {
  for (const secret of SECRETS) expect(html).not.toContain(secret);
}

function makeSlackChannel(account: TestAccount, channels: Json[]): Promise<Json> {
  const config = { bot_token: TOKEN, signing_secret: SIGNING_SECRET, channels };
  return makeChannel(account, { kind: 'slack', name: 'Finance', events: EVENTS, config });
}

async function storedSecret(): Promise<string> {
  const row = await env.DB.prepare(
    'select hex(secret) as secret from receivers where kind = 2 order by number desc',
  ).first();
  return String(row?.secret);
}

describe('the channels for Slack of the console', () => {
  it('are explained to members who may decide and have no linked Slack user, while a channel is on', async () => {
    const account = await new World().account();
    const [approver, auditor] = [
      await makeMember(account, 'approver'),
      await makeMember(account, 'auditor'),
    ];
    const readMe = async ({ browser }: typeof approver) =>
      readText((await browser.get('/console/me')).text);
    const words = 'you get a private message with a link. Open it in this browser, and confirm.';
    expect(await readMe(approver)).not.toContain(words);
    await makeSlackChannel(account, [{ id: 'C024BE91L' }]);
    expect(await readMe(approver)).toContain(words);
    expect(await readMe(auditor)).not.toContain(words);
  });

  it('are created by a form, and no page has their secrets', async () => {
    const { account, browser } = await enter('admin', {});
    const form = await browser.get('/console/channels/new?kind=slack');
    expect(form.text).not.toContain(NO_MAIL);
    expect(
      form.text.match(
        /type="password"[^>]*autocomplete="off"|autocomplete="off"[^>]*type="password"/g,
      ),
    ).toHaveLength(2);
    const hidden = readHiddenFields(form.text, '/console/channels');
    expect(hidden.kind).toBe('slack');
    const fields = {
      ...hidden,
      ...SLACK,
      name: HOSTILE,
      bot_token: ` ${TOKEN} `,
      signing_secret: SIGNING_SECRET,
    };
    const sent = { ...fields, slack_channels: '\r\n C024BE91L \r\n\r\nC0ELSEWHERE\r\n' };
    const created = await browser.submit('/console/channels', sent);
    expect(created.status).toBe(303);
    const path = created.headers.get('Location') ?? '';
    expect(place(await browser.submit('/console/channels', sent))).toEqual([303, path]);
    const channel = await readChannel(account, path.split('/').at(-1) ?? '');
    expect(channel).toMatchObject({
      ...{ kind: 'slack', name: HOSTILE.trim(), events: EVENTS, filter: null },
      config: { channels: [{ id: 'C024BE91L' }, { id: 'C0ELSEWHERE' }] },
    });
    const page = await browser.get(path);
    expect(page.cost.trips).toBe(2);
    expect(page.text).toContain(`id="inbound-url">${channel.inbound_url}<`);
    expect(page.text).toMatch(/data-copy="inbound-url"/);
    expect(page.text).toContain('<details open="">');
    const list = await browser.get('/console/channels');
    for (const answer of [created, page, list, await browser.get(`${path}/edit`)]) {
      expectNoSecrets(answer.text);
      for (const text of ['<script>alert', '<img']) expect(answer.text).not.toContain(text);
    }
    for (const { text } of [page, list]) expect(text).not.toContain('\u202e');
    const delivery = (await browser.submit(`${path}/test`)).headers.get('Location') ?? '';
    expect(readText((await browser.get(delivery)).text)).toContain('C024BE91L');
    expect((await browser.get(path)).text).not.toContain('<details open="">');
  });

  it('keep secrets and filters when they are changed', async () => {
    const { world, account, agent, browser } = await enter();
    const filter = { actions: ['payment.*', '*send'], agent_ids: [agent.id] };
    const { id, inbound_url } = await makeSlackChannel(account, [
      { id: 'C024BE91L', filter },
      { id: 'C0ELSEWHERE' },
    ]);
    const path = `/console/channels/${id}`;
    const page = await browser.get(path);
    expect(readText(page.text)).toContain('C024BE91L only for payment.*, *send, 1 agent');
    for (const text of ['<b>', '\u202e']) expect(page.text).not.toContain(text);
    const form = await browser.get(`${path}/edit`);
    expect(form.text).toContain('C024BE91L\nC0ELSEWHERE</textarea>');
    expect(readText(form.text)).toContain('Leave it empty to keep the present one.');
    const before = await storedSecret();
    const shown = {
      ...readHiddenFields(form.text, `${path}/edit`),
      ...SLACK,
      bot_token: '',
      signing_secret: '',
    };
    // The agent of a filter may be deleted: the filter stays as it is.
    await account.must(204, 'DELETE', `/v1/agents/${agent.id}`);
    world.advance(1);
    const lines = { slack_channels: 'C0ADDED00\r\nC024BE91L' };
    expect(place(await browser.submit(`${path}/edit`, { ...shown, ...lines }))).toEqual([
      303,
      path,
    ]);
    const changed = await readChannel(account, id);
    expect(changed).toMatchObject({
      config: { channels: [{ id: 'C0ADDED00' }, { id: 'C024BE91L', filter }] },
      inbound_url,
    });
    expect(await storedSecret()).toBe(before);
    const [activity] = (await account.must(200, 'GET', '/v1/activity')).body.data;
    expect(activity).toMatchObject({ action: 'channel.updated', changes: ['config'] });

    // A form that was opened before says what the Slack channels are now, and has no secret.
    const late = await browser.submit(`${path}/edit`, {
      ...shown,
      bot_token: OTHER_TOKEN,
      slack_channels: 'C0MINE000',
    });
    expect([late.status, faultOf(late.text, 'slack_channels')]).toEqual([
      409,
      'is now: C0ADDED00, C024BE91L',
    ]);
    expect(faultOf(late.text, 'bot_token')).toBe('was not saved: type it again');
    expect(late.text).toContain('C0MINE000</textarea>');
    expectNoSecrets(late.text);

    const again = {
      ...shown,
      ...readHiddenFields(late.text, `${path}/edit`),
      ...lines,
      bot_token: OTHER_TOKEN,
    };
    world.advance(1);
    expect((await browser.submit(`${path}/edit`, again)).status).toBe(303);
    expect(await storedSecret()).not.toBe(before);
    expect(await readChannel(account, id)).toMatchObject({ config: changed.config, inbound_url });
    // Nothing is written if nothing differs.
    const { updated_at } = await readChannel(account, id);
    world.advance(1);
    expect((await browser.submit(`${path}/edit`, { ...shown, ...lines })).status).toBe(303);
    expect((await readChannel(account, id)).updated_at).toBe(updated_at);
  });

  it('are refused at the field that is wrong, and what was typed stays but for the secrets', async () => {
    const { account, browser } = await enter();
    const { id } = await makeSlackChannel(account, [{ id: 'C024BE91L' }]);
    const edit = `/console/channels/${id}/edit`;
    const shown = readHiddenFields((await browser.get(edit)).text, edit);
    const wrong = 'must be the id of a Slack channel, such as C024BE91L';
    const [badToken, badSecret] = ['xoxp-"><img>', '<b> short'];
    for (const [path, fields] of [
      ['/console/channels', SLACK],
      [edit, { ...SLACK, ...shown }],
    ] as const) {
      const submit = (changes: Record<string, string>) =>
        browser.submit(path, {
          ...fields,
          bot_token: OTHER_TOKEN,
          signing_secret: SIGNING_SECRET,
          ...changes,
        });
      const secrets = await submit({
        bot_token: badToken,
        signing_secret: badSecret,
        slack_channels: 'C024BE91L',
      });
      expect(secrets.status).toBe(400);
      expect(faultOf(secrets.text, 'bot_token')).toContain('must be a bot token of Slack');
      expect(faultOf(secrets.text, 'signing_secret')).toContain('must be the signing secret');
      for (const text of ['xoxp-', 'short', '<img']) expect(secrets.text).not.toContain(text);

      const lines = await submit({ slack_channels: 'C024BE91L\r\n\r\n<b>"\r\n#general' });
      expect([lines.status, faultOf(lines.text, 'slack_channels')]).toEqual([
        400,
        `line 3 ${wrong}. Look at line 4 too`,
      ]);
      expect(lines.text).toContain('C024BE91L\n\n&lt;b&gt;&quot;\n#general</textarea>');
      for (const name of ['bot_token', 'signing_secret']) {
        expect(faultOf(lines.text, name)).toBe('was not saved: type it again');
      }
      expectNoSecrets(lines.text);

      const twice = await submit({ slack_channels: '\nC024BE91L\nC0OTHER00\nC024BE91L', name: '' });
      expect(faultOf(twice.text, 'slack_channels')).toBe('line 4 is the same as line 2');
      expect(faultOf(twice.text, 'name')).toBeTruthy();
      const none = await submit({ slack_channels: ' \n' });
      expect([none.status, faultOf(none.text, 'slack_channels')]).toEqual([
        400,
        'must not be empty',
      ]);
    }
    const missing = await browser.submit('/console/channels', {
      ...SLACK,
      slack_channels: 'C024BE91L',
    });
    expect(faultOf(missing.text, 'bot_token')).toBeTruthy();
    expect((await account.must(200, 'GET', '/v1/channels')).body.data).toHaveLength(1);
  });

  it('are read by an auditor, who cannot change them', async () => {
    const { account } = await enter();
    const { id } = await makeSlackChannel(account, [{ id: 'C024BE91L' }]);
    const { browser } = await makeMember(account, 'auditor');
    const page = await browser.get(`/console/channels/${id}`);
    expect([
      page.status,
      /<form method="post" action="\/console\/channels|\/edit/.test(page.text),
    ]).toEqual([200, false]);
    expect((await browser.get('/console/channels/new?kind=slack')).status).toBe(403);
    for (const path of ['/console/channels', `/console/channels/${id}/edit`]) {
      expect((await browser.submit(path, { ...SLACK, slack_channels: 'C0MINE000' })).status).toBe(
        403,
      );
    }
  });
});

/**
 * An account with a channel and a request of which it has told an approver and the admin who is
 * signed in.
 */
async function tell(settings = MAIL, request: Json = {}) {
  const entered = await enter('admin', settings);
  const { world, account, agent } = entered;
  await confirmEmail(account, entered);
  const approver = await makeReachableMember(account, 'approver', 'grace@example.com');
  const channel = await makeChannel(account);
  const permission = await agent.request(request);
  await world.deliver();
  return { ...entered, approver, channel, permission, path: `/console/channels/${channel.id}` };
}

describe('the messages of a channel', () => {
  it('show to whom they went, about which request, and are sent again where that can work', async () => {
    const { world, account, browser, channel, permission, path } = await tell(MAIL, {
      preview: { title: HOSTILE },
    });
    const list = await browser.get(path);
    expect([readText(list.text).includes('grace@example.com'), list.cost.trips]).toEqual([true, 2]);
    await end(world, 'failed', 'The answer was 422.');
    const [{ id }] = await listDeliveries(account, channel.id);
    const delivery = `${path}/deliveries/${id}`;
    const failed = await browser.get(delivery);
    expect(failed.cost.trips).toBe(2);
    for (const text of [
      `href="/console/permissions/${permission.id}"`,
      'The answer was 422.',
      'U+202E',
      'Mail to reviewers',
    ]) {
      expect(failed.text).toContain(text);
    }
    for (const text of ['<script>alert', '<img', '\u202e']) expect(failed.text).not.toContain(text);
    expect((await browser.get(`${delivery}?part=progress`)).text).toMatch(
      /^<section id="delivery">/,
    );
    const again = await browser.submit(`${delivery}/redeliver`);
    expect(again.status).toBe(303);
    expect(again.headers.get('Location')).not.toBe(delivery);

    await account.must(200, 'PUT', `/v1/channels/${channel.id}`, { is_active: false });
    expect((await browser.get(delivery)).text).toContain(
      'To send it again, switch the channel on first.',
    );
    const off = await browser.submit(`${delivery}/redeliver`);
    expect([off.status, off.text.includes('role="alert">The channel is disabled')]).toEqual([
      409,
      true,
    ]);
    await account.must(200, 'PUT', `/v1/channels/${channel.id}`, { is_active: true });
    expect((await browser.get(delivery)).text).toContain('Send it again');
    await account.must(200, 'POST', `/v1/permissions/${permission.id}/deny`);
    const over = await browser.get(delivery);
    expect(over.text).toContain('The request no longer waits for a decision');
    expect(over.text).not.toContain('Send it again');
  });

  it('are on the card of the request, each with its result', async () => {
    const { world, account, browser, approver, channel, permission } = await tell();
    const card = `/console/permissions/${permission.id}`;
    await account.must(200, 'PUT', `/v1/channels/${channel.id}`, { name: HOSTILE });
    await end(
      world,
      'failed',
      '<b>No such mailbox',
      `member in (select id from members where email = 'grace@example.com')`,
    );
    const [{ id }] = await listDeliveries(account, channel.id);
    await env.DB.prepare('update deliveries set reminder = 1 where permission is not null').run();
    const page = await browser.get(card);
    expect(page.cost.trips).toBe(2);
    const text = readText(page.text);
    expect(text).toMatch(/Who was told \(\d on its way, 1 not delivered\)/);
    expect(text).toMatch(
      /grace@example.com not delivered Reminder 1 · E-mail, <script>.*<b>No such mailbox/,
    );
    for (const raw of ['<script>alert', '<img', '<b>', '\u202e'])
      expect(page.text).not.toContain(raw);
    expect(page.text).toContain(`/deliveries/${id}`);
    // The others were tried in vain.
    expect(text).toContain('every message about it has failed so far');
    await end(world, 'succeeded', null, 'attempts = 1');
    expect(readText((await browser.get(card)).text)).not.toContain('every message about it');
    // An approver may not see the channels, but who was told.
    const seen = await approver.browser.get(card);
    expect(readText(seen.text)).toContain('Who was told');
    expect(seen.text).not.toContain('/console/channels');
  });

  it('that all failed are a notice on the card while the request waits', async () => {
    const { world, account, agent, browser, approver, channel, permission } = await tell();
    const card = `/console/permissions/${permission.id}`;
    await end(world, 'failed', 'The answer was 401.');
    const notice =
      'Nobody has been notified of this request: every message about it has failed so far.';
    const page = await browser.get(card);
    expect(readText(page.text)).toContain(notice);
    expect(page.text).toContain('href="/console/channels"');
    const seen = await approver.browser.get(card);
    expect(readText(seen.text)).toMatch(
      new RegExp(`${notice}.*An owner or admin of the account can repair the channels`),
    );
    await account.must(200, 'POST', `/v1/permissions/${permission.id}/deny`);
    expect(readText((await browser.get(card)).text)).not.toContain(notice);
    // Somebody who has voted knows of the request.
    const review = {
      name: 'Two',
      effect: 'review',
      actions: ['*'],
      resources: ['*'],
      review: { approvals: 2 },
    };
    world.advance(1);
    await account.must(201, 'POST', '/v1/policies', review);
    const { id } = await agent.request();
    await world.deliver();
    await end(world, 'failed', 'The answer was 401.');
    const reviewed = `/console/permissions/${id}`;
    expect(readText((await browser.get(reviewed)).text)).toContain(notice);
    await world.must(200, 'POST', `/v1/permissions/${id}/approve`, { token: approver.token });
    expect(readText((await browser.get(reviewed)).text)).not.toContain(notice);
    await account.must(200, 'PUT', `/v1/channels/${channel.id}`, { is_active: false });
    // A request of which nobody was to be told has neither notice nor list.
    const untold = await agent.request();
    await world.deliver();
    expect((await browser.get(`/console/permissions/${untold.id}`)).text).not.toContain(
      'Who was told',
    );
  });
});

it('a form with a secret whose session has ended is not shown again', async () => {
  const world = new World();
  const send = (fields: Record<string, string>) =>
    world.call('POST', '/console/channels', {
      raw: new URLSearchParams({ kind: 'slack', name: 'Finance', ...fields }),
      headers: {
        Accept: 'text/html',
        Origin: ORIGIN,
        'Content-Type': 'application/x-www-form-urlencoded',
      },
    });
  const kept = await send({});
  expect([kept.status, kept.text.includes('Finance')]).toEqual([401, true]);
  const secret = await send({ bot_token: TOKEN, signing_secret: SIGNING_SECRET });
  expect([
    secret.status,
    secret.text.includes(TOKEN),
    secret.text.includes(SIGNING_SECRET),
  ]).toEqual([401, false, false]);
});

import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import type { Browser } from '../support/browser';
import { readHiddenFields, readText } from '../support/html';
import { makeMember } from '../support/members';
import { countRows } from '../support/tables';
import { asIdentifier } from '../support/texts';
import {
  type Answer,
  type Json,
  ORIGIN,
  type TestAccount,
  type TestAgent,
  World,
} from '../support/world';

const DAY = 24 * 60 * 60_000;
const KEY = /csa_[0-9A-Za-z]{40}/;
const HOSTILE = `<script>alert(1)</script>"><img src=x onerror=alert(1)>\u202Etxt`;
const SHOWN = '&lt;script&gt;alert(1)&lt;/script&gt;&quot;&gt;&lt;img src=x onerror=alert(1)&gt;';

/** An account with an agent of it, and a browser of an admin. */
async function start(fields: Record<string, unknown> = {}, role = 'admin') {
  const account = await new World().account();
  const agent = await account.agent({ name: 'Mailer', ...fields });
  account.world.advance(1);
  const member = await makeMember(account, role, `${role}@example.com`);
  return {
    account,
    world: account.world,
    agent,
    member,
    browser: member.browser,
    path: `/console/agents/${agent.id}`,
  };
}

async function read(account: TestAccount, { id }: { id: string }): Promise<Json> {
  return (await account.must(200, 'GET', `/v1/agents/${id}`)).body;
}

/** The form fields of the page of an agent that were not changed. */
async function present(account: TestAccount, agent: TestAgent): Promise<Record<string, string>> {
  const { name, description = '', owner_id, updated_at } = await read(account, agent);
  return { name, description, owner_id: owner_id ?? '', updated_at };
}

/** What a field says is wrong with it; undefined if nothing is. */
function fault({ text }: Answer, field: string): string | undefined {
  const isMarked = new RegExp(
    `name="${field}" aria-describedby="[^"]*field-${field}-fault[^"]*" aria-invalid="true"`,
  ).test(text);
  return isMarked
    ? new RegExp(`<p class="fault" id="field-${field}-fault">([^<]*)</p>`).exec(text)?.[1]
    : undefined;
}

/** The addresses to which a part of a page leads. */
const links = (text: string) =>
  [...text.matchAll(/<a [^>]*?href="([^"]*)"/g)].map(([, href]) =>
    (href ?? '').replaceAll('&amp;', '&'),
  );

/** Loads a page, and checks that it takes no more than two round trips. */
async function load(browser: Browser, path: string, status = 200): Promise<Answer> {
  const page = await browser.get(path);
  expect([page.status, page.cost.trips <= 2]).toEqual([status, true]);
  return page;
}

describe('the list', () => {
  it('shows each agent with its state, owner and last activity, and those of one state', async () => {
    const { account, browser, member, world } = await start({ description: 'Sends mail' });
    await browser.submit('/console/agents', { name: 'Mine' });
    world.advance(1);
    const off = await account.agent({ name: 'Idle' });
    await account.must(200, 'PUT', `/v1/agents/${off.id}`, { is_active: false });
    world.advance(1);
    const busy = await account.agent({ name: 'Busy' });
    await busy.request();
    world.advance(5 * 60_000);
    const { text } = await load(browser, '/console/agents');
    const rows = text.split('<li class="request"').slice(1);
    expect(rows.map((row) => /<bdi>([^<]*)<\/bdi>/.exec(row)?.[1])).toEqual([
      'Busy',
      'Idle',
      'Mine',
      'Mailer',
    ]);
    expect(rows.map((row) => /badge \w+">(\w+)/.exec(row)?.[1])).toEqual(['on', 'off', 'on', 'on']);
    expect(rows[0]).toMatch(/Last active.*5 min ago/);
    expect(rows[1]).toContain('Never active');
    expect(rows[2]).toMatch(new RegExp(`Owner:.*title="${member.id}">admin@example.com`));
    expect(rows[3]).toMatch(/Sends mail.*No owner/);
    const shown = async (query: string) => (await load(browser, `/console/agents?${query}`)).text;
    expect(await shown('active=false')).toMatch(/^(?!.*Mailer).*Idle/s);
    expect(await shown('active=true')).toMatch(/^(?!.*Idle).*Mailer/s);
    await account.must(200, 'PUT', `/v1/agents/${off.id}`, { is_active: true });
    expect(await shown('active=false')).toContain('No agent is off.');
  });

  it('goes on with the next page, and keeps the filter', async () => {
    const { account, browser } = await start();
    for (let i = 0; i < 50; i++) await account.agent({ name: `Agent ${i}` });
    const first = await load(browser, '/console/agents?active=true');
    const next = links(first.text).find((href) => href.includes('cursor=')) ?? '';
    expect([first.text.includes('Mailer'), next.includes('active=true')]).toEqual([false, true]);
    const second = await load(browser, next);
    expect([second.text.includes('Mailer'), second.text.includes('cursor=')]).toEqual([
      true,
      false,
    ]);
  });

  it.each([
    ['developer', 'Register the first agent'],
    ['auditor', 'A developer, admin or owner of the account can register one.'],
  ])('says to %s of an account without agents what to do', async (role, advice) => {
    const { browser } = await makeMember(await new World().account(), role);
    expect((await load(browser, '/console/agents')).text).toContain(advice);
  });
});

describe('a registration', () => {
  it('shows the key once, with code that sends a request which then waits', async () => {
    const { account, world, browser, member } = await start();
    const form = await load(browser, '/console/agents/new');
    expect(form.text).toContain(
      `<option value="${member.id}" selected="">admin@example.com</option>`,
    );
    const answer = await browser.submit('/console/agents', {
      name: ' Bot ',
      description: 'One\r\ntwo',
      owner_id: member.id,
    });
    const key = KEY.exec(answer.text)?.[0] ?? '';
    expect([answer.status, answer.headers.get('Cache-Control')]).toEqual([201, 'no-store']);
    expect(answer.text).toContain('it is shown only this once');
    expect(answer.text).toContain('The request then waits in the inbox');
    const codeOf = (id: string) =>
      new RegExp(`<pre id="${id}">([^<]*)</pre>`)
        .exec(answer.text)?.[1]
        ?.replaceAll('&#39;', "'")
        .replaceAll('&quot;', '"') ?? '';
    for (const id of ['javascript', 'python', 'guard']) {
      expect(codeOf(id)).toContain(key);
      expect(codeOf(id)).toContain('demo.greet');
    }
    const code = codeOf('curl');
    expect(code.split('\n')).toHaveLength(3);
    expect(code).toContain(`curl ${ORIGIN}/v1/permissions`);
    expect(code).toContain(`'Authorization: Bearer ${key}'`);
    const body = JSON.parse(/-d '(.*)'$/.exec(code)?.[1] ?? '');
    const { body: permission } = await world.must(201, 'POST', '/v1/permissions', {
      token: key,
      body,
    });
    const agent = await read(account, { id: permission.agent_id });
    expect(agent).toMatchObject({
      name: 'Bot',
      description: 'One\ntwo',
      owner_id: member.id,
      is_active: true,
    });
    const page = await load(browser, `/console/agents/${agent.id}`);
    expect([page.text.includes(key), page.text.includes(agent.api_key_prefix)]).toEqual([
      false,
      true,
    ]);
    expect((await load(browser, '/console')).text).toContain(permission.id);
  });

  it('waits on the page of its key until the first request arrives', async () => {
    const { account, world, browser, agent } = await start({}, 'developer');
    await agent.request();
    const page = await browser.submit('/console/agents', { name: 'Bot' });
    expect(page.text).toContain('Waiting for the first request…');
    const [, source = ''] = /hx-get="(\/console\/agents\/[^"]+)"/.exec(page.text) ?? [];
    const before = await load(browser, source);
    expect(before.text).toContain(`hx-get="${source}"`);
    const token = KEY.exec(page.text)?.[0] ?? '';
    const body = { action: 'demo.greet', resource: 'demo:first' };
    const { body: request } = await world.must(201, 'POST', '/v1/permissions', { token, body });
    const after = await load(browser, source);
    expect([after.text.includes('notice good'), after.text.includes('hx-get')]).toEqual([
      true,
      false,
    ]);
    expect(links(after.text)).toEqual([`/console/permissions/${request.id}`]);
    expect(after.text).toContain('It waits for a decision.');
    await account.must(200, 'POST', `/v1/permissions/${request.id}/approve`);
    expect((await browser.get(source)).text).toContain('It is approved.');
    const { browser: stranger } = await makeMember(await world.account(), 'owner');
    expect((await stranger.get(source)).status).toBe(404);
  });

  it('needs only a name, and belongs to the one who registers', async () => {
    const { account, browser, member } = await start({}, 'developer');
    expect((await browser.submit('/console/agents', { name: 'My first agent' })).status).toBe(201);
    const { body } = await account.must(200, 'GET', '/v1/agents');
    expect(body.data[0]).toMatchObject({ name: 'My first agent', owner_id: member.id });
  });

  it('shows what is wrong at the field, with what was typed', async () => {
    const { account, browser } = await start();
    const invited = (
      await account.must(201, 'POST', '/v1/members', { email: 'new@example.com', role: 'auditor' })
    ).body;
    const rows = await countRows(env.DB);
    for (const [fields, field, message] of [
      [{ name: ' ', description: 'Kept' }, 'name', 'must be 1 to 255 characters long'],
      [
        { name: 'x'.repeat(10_000), description: 'Kept' },
        'name',
        'must be 1 to 255 characters long',
      ],
      [
        { name: 'Kept', description: 'x'.repeat(2_001) },
        'description',
        'must be 0 to 2000 characters long',
      ],
      [
        { name: 'Kept', owner_id: invited.id },
        'owner_id',
        'must be the id of an active member of the account',
      ],
      [{ name: 'Kept', owner_id: 'nobody' }, 'owner_id', 'must be the id of a member'],
    ] as const) {
      const answer = await browser.submit('/console/agents', fields);
      expect([answer.status, fault(answer, field)]).toEqual([400, message]);
      expect(answer.text).toContain('Kept');
      expect(answer.text).toContain('Nothing was changed. Correct the marked fields.');
    }
    expect(await countRows(env.DB)).toEqual(rows);
  });
});

describe('the page of an agent', () => {
  it('says what it is, who owns it, and what it asked for lately', async () => {
    const { account, world, browser, agent, member, path } = await start({
      description: 'Sends mail',
      metadata: { team: 'support' },
    });
    await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { owner_id: member.id });
    for (let i = 0; i < 6; i++) {
      await agent.request({ resource: `mailbox:${i}` });
      world.advance(1);
    }
    await (await account.agent()).request({ resource: 'mailbox:foreign' });
    const { text } = await load(browser, path);
    const { api_key_prefix } = await read(account, agent);
    for (const part of [
      '<title>Mailer',
      'Sends mail',
      api_key_prefix,
      'support',
      `title="${member.id}">admin@example.com`,
    ]) {
      expect(text).toContain(part);
    }
    expect([...text.matchAll(/mailbox:(\w+)/g)].map(([, name]) => name)).toEqual([
      '5',
      '4',
      '3',
      '2',
      '1',
    ]);
    expect(links(text)).toContain(`/console?agent_id=${agent.id}`);
    expect(links(text)).toContain(`/console/audit?agent_id=${agent.id}`);
  });

  it('counts requests and tokens of a period, each with a link to them and once more in a table', async () => {
    const { account, world, browser, agent, path } = await start();
    await agent.approved();
    world.advance(40 * DAY);
    await browser.signIn();
    await agent.approved();
    const used = await agent.approved();
    await agent.must(200, 'POST', '/v1/tokens/use', { token: used.token.value });
    const { id } = await agent.request();
    await account.must(200, 'POST', `/v1/permissions/${id}/deny`, {});
    await agent.request();
    const { text } = await load(browser, path);
    const [requests = '', tokens = ''] = text.split('<figure class="chart">').slice(1);
    const bars = (chart: string) =>
      [...chart.matchAll(/<span>([^<]*)<\/span> <span>([^<]*)<\/span>/g)].map(
        ([, label, text]) => `${label}: ${text}`,
      );
    const rows = (chart: string) =>
      [...chart.matchAll(/<th scope="row"><a[^>]*>(.*?)<\/a><\/th><td>(\d+)/g)].map(([, ...row]) =>
        row.join(' '),
      );
    expect(bars(requests)).toEqual([
      'Approved: 2 (50%)',
      'Denied: 1 (25%)',
      'Waiting: 1 (25%)',
      'Expired: 0 (0%)',
    ]);
    expect(rows(requests)).toEqual(['Approved 2', 'Denied 1', 'Waiting 1', 'Expired 0']);
    expect([...requests.matchAll(/<rect width="([\d.]+)%"/g)].map(([, width]) => width)).toEqual([
      '50',
      '25',
      '25',
      '0',
    ]);
    expect(bars(tokens)).toEqual(['Issued: 2', 'First used: 1', 'Revoked: 0']);
    const inbox = (status: string) => `/console?${status}agent_id=${agent.id}`;
    const targets = ['status=approved&', 'status=denied&', '', 'status=expired&'].map(inbox);
    expect(links(requests).slice(0, 8)).toEqual([...targets, ...targets]);
    expect(links(tokens)[1]).toBe(
      `/console/audit?agent_id=${agent.id}&event_type=use&start_date=2026-02-11`,
    );
    expect((await load(browser, inbox('status=denied&'))).text).toContain(id);
    const longer = await load(browser, `${path}?period=60d`);
    expect(longer.text).toContain('<span>Approved</span> <span>3 (60%)</span>');
    expect(longer.text).toMatch(/aria-current="page">60 days/);
    const german = await browser.send('GET', path, { headers: { 'Accept-Language': 'de' } });
    expect(german.text).toContain('<span>Approved</span> <span>2 (50 %)</span>');
    expect((await load(browser, `${path}?period=7h`)).text).toContain(
      'start_date=2026-03-12T05%3A00%3A00.000Z',
    );
    world.advance(2 * DAY);
    await browser.signIn();
    expect((await load(browser, `${path}?period=24h`)).text).toContain(
      'It made no request in this time.',
    );
    expect((await browser.get(`${path}?period=400d`)).status).toBe(400);
  });

  it.each(['approver', 'auditor'])('lets an %s read only', async (role) => {
    const { account, browser, agent, path } = await start({}, role);
    const pages = [await load(browser, '/console/agents'), await load(browser, path)];
    for (const { text } of pages) {
      expect(text).not.toMatch(/Register an agent|Manage|action="\/console\/agents/);
      expect(text).toContain('Mailer');
    }
    await load(browser, '/console/agents/new', 403);
    const before = await read(account, agent);
    for (const [target, fields] of [
      ['/console/agents', { name: 'Mine' }],
      [path, { ...(await present(account, agent)), name: 'Mine' }],
      [`${path}/switch`, { is_active: 'false' }],
      [`${path}/rotate-key`, { grace_period: '0' }],
      [`${path}/delete`, { confirmation: 'Mailer' }],
    ] as const) {
      expect((await browser.submit(target, fields)).status).toBe(403);
    }
    expect(await read(account, agent)).toEqual(before);
    expect((await account.must(200, 'GET', '/v1/agents')).body.data).toHaveLength(1);
  });

  it('does not exist for another account, nor for an unknown id', async () => {
    const { account, agent, path } = await start();
    const { browser } = await makeMember(await account.world.account(), 'owner');
    const before = await read(account, agent);
    for (const target of [
      path,
      '/console/agents/agent_01h455vb4pex5vsknk084sn02q',
      '/console/agents/x',
    ]) {
      await load(browser, target, 404);
      for (const action of ['', '/switch', '/rotate-key', '/delete']) {
        const fields = {
          name: 'Mine',
          confirmation: 'Mailer',
          grace_period: '0',
          updated_at: before.updated_at,
        };
        expect((await browser.submit(target + action, fields)).status).toBe(404);
      }
    }
    expect(await read(account, agent)).toEqual(before);
  });

  it('shows hostile texts as texts', async () => {
    const { account, browser, agent, path } = await start({
      name: HOSTILE,
      description: HOSTILE,
      metadata: { [HOSTILE]: HOSTILE },
    });
    await agent.request({ resource: `mailbox:${asIdentifier(HOSTILE)}`, reason: HOSTILE });
    const answers = [
      await load(browser, '/console/agents'),
      await load(browser, path),
      await browser.submit('/console/agents', { name: HOSTILE, description: HOSTILE }),
      await browser.submit('/console/agents', { name: HOSTILE, description: HOSTILE.repeat(100) }),
      await browser.submit(path, { ...(await present(account, agent)), name: HOSTILE.repeat(100) }),
      await browser.submit(`${path}/delete`, { confirmation: HOSTILE.repeat(2) }),
      await browser.submit(`${path}/rotate-key`, { grace_period: '0' }),
    ];
    for (const { text } of answers) {
      expect(text).not.toMatch(/<script>|<img/);
      expect(text).toContain(SHOWN);
    }
    // In a field it stays as it is.
    for (const { text } of answers.toSpliced(3, 1)) expect(text).toContain('U+202E');
  });
});

describe('a change', () => {
  it('of name, description and owner changes only what differs', async () => {
    const { account, browser, agent, member, path } = await start({ description: 'Sends\nmail' });
    const fields = await present(account, agent);
    const answer = await browser.submit(path, {
      ...fields,
      description: 'Sends\r\nmail',
      owner_id: member.id,
    });
    expect([answer.status, answer.headers.get('Location'), answer.cost.trips]).toEqual([
      303,
      path,
      2,
    ]);
    expect(await read(account, agent)).toMatchObject({
      name: 'Mailer',
      description: 'Sends\nmail',
      owner_id: member.id,
    });
    const { body } = await account.must(200, 'GET', '/v1/activity?action=agent.updated');
    expect(body.data.map(({ actor, changes }: Json) => [actor, changes])).toEqual([
      [member.id, ['owner_id']],
    ]);
    await browser.submit(path, {
      ...(await present(account, agent)),
      name: 'Post',
      description: '',
    });
    expect(await read(account, agent)).not.toHaveProperty('description');
    expect((await browser.submit(path, await present(account, agent))).status).toBe(303);
    expect(
      (await account.must(200, 'GET', '/v1/activity?action=agent.updated')).body.data,
    ).toHaveLength(2);
  });

  it('is refused with the reason at the field, and keeps what was typed', async () => {
    const { account, browser, agent, path } = await start();
    const answer = await browser.submit(path, {
      ...(await present(account, agent)),
      name: '',
      description: 'Kept',
    });
    expect([answer.status, fault(answer, 'name')]).toEqual([
      400,
      'must be 1 to 255 characters long',
    ]);
    expect(answer.text).toMatch(/<details open="">.*>Kept<\/textarea>/s);
    expect(answer.cost.trips).toBe(2);
  });

  it('that crosses another one is shown again, and can then be saved', async () => {
    const { account, world, browser, agent, path } = await start();
    const fields = { ...(await present(account, agent)), description: 'Mine' };
    world.advance(1_000);
    await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { name: 'Theirs' });
    const answer = await browser.submit(path, fields);
    expect(answer.status).toBe(409);
    for (const text of [
      'was changed since you opened the page',
      'value="Mailer"',
      'is now: Theirs',
      '>Mine</textarea>',
    ])
      expect(answer.text).toContain(text);
    const updated = /name="updated_at" value="([^"]*)"/.exec(answer.text)?.[1] ?? '';
    expect((await browser.submit(path, { ...fields, updated_at: updated })).status).toBe(303);
    expect(await read(account, agent)).toMatchObject({ name: 'Mailer', description: 'Mine' });
  });

  it('leaves an owner who is no longer active, until another one is chosen', async () => {
    const { account, browser, agent, member, path } = await start();
    const gone = await makeMember(account, 'developer', 'gone@example.com');
    await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { owner_id: gone.id });
    await account.must(200, 'PUT', `/v1/members/${gone.id}`, { status: 'suspended' });
    expect((await load(browser, path)).text).toContain(
      `<option value="${gone.id}" selected="">gone@example.com (not active)`,
    );
    expect((await load(browser, '/console/agents/new')).text).not.toContain(gone.id);
    expect(
      (await browser.submit(path, { ...(await present(account, agent)), name: 'Post' })).status,
    ).toBe(303);
    expect(await read(account, agent)).toMatchObject({ name: 'Post', owner_id: gone.id });
    await browser.submit(path, { ...(await present(account, agent)), owner_id: member.id });
    expect(await read(account, agent)).toMatchObject({ owner_id: member.id });
  });

  it('switches the agent off and on', async () => {
    const { browser, agent, path } = await start({}, 'developer');
    const press = async () => {
      const { text } = await load(browser, path);
      const label = /\/switch".*?>(Switch \w+)</s.exec(text)?.[1];
      const answer = await browser.submit(
        `${path}/switch`,
        readHiddenFields(text, `${path}/switch`),
      );
      expect([answer.status, answer.headers.get('Location')]).toEqual([303, path]);
      return label;
    };
    expect(await press()).toBe('Switch off');
    expect((await agent.call('GET', '/v1/permissions')).body.code).toBe('agent_inactive');
    expect(await press()).toBe('Switch on');
    expect((await agent.call('GET', '/v1/permissions')).status).toBe(200);
  });

  it('is switched off, but not on, from a page that is out of date', async () => {
    const { account, world, browser, agent, path } = await start({}, 'developer');
    const change = async (fields: Json) => {
      world.advance(1);
      await account.must(200, 'PUT', `/v1/agents/${agent.id}`, fields);
    };
    const press = (text: string) =>
      browser.submit(`${path}/switch`, readHiddenFields(text, `${path}/switch`));
    const isActive = async () =>
      (await account.must(200, 'GET', `/v1/agents/${agent.id}`)).body.is_active;
    const shownOn = await load(browser, path);
    await change({ description: 'Changed meanwhile' });
    expect([(await press(shownOn.text)).status, await isActive()]).toEqual([303, false]);
    const shownOff = await load(browser, path);
    await change({ description: 'Stolen: keep it off' });
    const refused = await press(shownOff.text);
    expect([refused.status, await isActive()]).toEqual([409, false]);
    for (const part of [
      'The agent was changed since you opened the page.',
      'Stolen: keep it off',
    ]) {
      expect(readText(refused.text)).toContain(part);
    }
    expect([(await press(refused.text)).status, await isActive()]).toEqual([303, true]);
  });

  it('of the key shows the new one once, and says what happens to the old one', async () => {
    const { world, browser, agent, path } = await start();
    const rotate = async (grace_period: string) => {
      const answer = await browser.submit(`${path}/rotate-key`, { grace_period });
      return { ...answer, key: KEY.exec(answer.text)?.[0] ?? '' };
    };
    const works = async (token: string) =>
      (await world.call('GET', '/v1/permissions', { token })).status === 200;
    const first = await rotate('3600');
    expect(first.text).toMatch(/The old key works until .*datetime="2026-01-31T13:00:00.001Z"/s);
    expect(await Promise.all([agent.key, first.key].map(works))).toEqual([true, true]);
    expect((await load(browser, path)).text).not.toContain(first.key);
    const second = await rotate('0');
    expect(second.text).toContain('The older keys no longer work.');
    expect(await Promise.all([agent.key, first.key, second.key].map(works))).toEqual([
      false,
      false,
      true,
    ]);
    for (const wrong of ['-1', 'soon', '2592001']) expect((await rotate(wrong)).status).toBe(400);
    expect(await works(second.key)).toBe(true);
  });

  it('deletes the agent whose name is typed', async () => {
    const { account, browser, agent, path } = await start({}, 'developer');
    for (const confirmation of ['', 'mailer', 'Mailer 2']) {
      const answer = await browser.submit(`${path}/delete`, { confirmation });
      expect([answer.status, fault(answer, 'confirmation')]).toEqual([
        400,
        'is not the name of the agent',
      ]);
      expect(answer.text).toContain(`value="${confirmation}"`);
    }
    const answer = await browser.submit(`${path}/delete`, { confirmation: ' Mailer ' });
    expect([answer.status, answer.headers.get('Location'), answer.cost.trips]).toEqual([
      303,
      '/console/agents',
      2,
    ]);
    await load(browser, path, 404);
    await account.must(404, 'GET', `/v1/agents/${agent.id}`);
  });

  it('deletes an agent whose name has characters that one cannot type', async () => {
    const { browser, path } = await start({ name: 'Mail\u202E  er\u200B' });
    expect((await load(browser, path)).text).toContain('MailU+202E erU+200B');
    expect(
      (await browser.submit(`${path}/delete`, { confirmation: 'MailU+202E erU+200B' })).status,
    ).toBe(303);
  });
});

import { env } from 'cloudflare:test';
import { expect, it } from 'vitest';
import { idBytes } from '../../src/lib/typeid';
import { depth } from '../support/depth';
import { readLinks, readText } from '../support/html';
import { makeMember } from '../support/members';
import { makeReview, type People } from '../support/reviews';
import { type Json, World } from '../support/world';

const HOUR = 3_600;

/** An account with an agent and a member of a role. */
async function open(role = 'approver') {
  const account = await new World().account();
  const member = await makeMember(account, role);
  return {
    account,
    world: account.world,
    agent: await account.agent({ name: 'Mail assistant' }),
    ...member,
  };
}

/** The ids of the requests that a page lists, in its order. */
function listed(html: string): string[] {
  return [...html.matchAll(/<(?:li|tr) id="(perm_[0-9a-z]+)"/g)].map(([, id = '']) => id);
}

it('lists what waits, the request that expires first at the top, with agent, action, target and amount', async () => {
  const { agent, browser, world } = await open();
  const slow = await agent.request({
    action: 'mail.send',
    resource: 'mail:a',
    expires_in: 2 * HOUR,
    scope: { max_amount: 2500 },
  });
  world.advance(1);
  const urgent = await agent.request({
    ...{
      action: 'payout.send',
      resource: 'account:supplier',
      expires_in: HOUR,
      scope: { max_amount: 1 },
    },
    preview: {
      title: 'Pay invoice 118',
      fields: [{ label: 'Amount', value: '240 EUR', kind: 'money' }],
    },
  });
  const page = await browser.get('/console');
  expect([page.status, listed(page.text)]).toEqual([200, [urgent.id, slow.id]]);
  const text = readText(page.text);
  for (const part of [
    'Pay invoice 118',
    'Mail assistant',
    'payout.send',
    'account:supplier',
    'Amount',
    '240 EUR',
    '1 h left',
  ]) {
    expect(text).toContain(part);
  }
  // The limits say how much; what only the agent says is labelled.
  expect(text).toContain('max_amount 2,500');
  expect(text).toContain('Agent says: Pay invoice 118');
  expect(text).toContain('max_amount 1 agent says: Amount 240 EUR');
  expect(page.text).toContain('<title>(2) Inbox');
  expect(readLinks(page.text)).toContain(`/console/permissions/${urgent.id}`);
  expect(page.cost.trips).toBeLessThanOrEqual(2);
  expect(listed((await browser.get('/console?order=newest')).text)).toEqual([urgent.id, slow.id]);
  world.advance(1);
  const newest = await agent.request({ expires_in: 3 * HOUR });
  expect(listed((await browser.get('/console')).text)).toEqual([urgent.id, slow.id, newest.id]);
  expect(listed((await browser.get('/console?order=newest')).text)).toEqual([
    newest.id,
    urgent.id,
    slow.id,
  ]);
});

it.each([
  [4, 'and 1 more limit'],
  [6, 'and 3 more limits'],
])(
  'shows the numbers of %i limits first, and how many limits it leaves out',
  async (count, more) => {
    const { agent, browser } = await open();
    const texts = Array.from({ length: count - 2 }, (_, i) => [
      `memo_${i}`,
      i === 0 ? '2026-01-01' : 'harmless',
    ]);
    await agent.request({
      scope: Object.fromEntries([...texts, ['price', '90 EUR'], ['amount', 4800]]),
    });
    const text = readText((await browser.get('/console')).text);
    expect(text).toContain(`amount 4,800 memo_0 2026-01-01 price 90 EUR ${more}`);
  },
);

it('says nothing of further limits where all are shown', async () => {
  const { agent, browser } = await open();
  await agent.request({ scope: { a: 'x', b: 'y', amount: 1 } });
  const text = readText((await browser.get('/console')).text);
  expect(text).toContain('amount 1 a x b y');
  expect(text).not.toContain('more limit');
});

it('says why a request is in the inbox, and counts only what the reader may decide', async () => {
  const { agent, people } = await makeReview({ approvals: 2, roles: ['approver'] }, [
    'approver',
    'approver',
    'admin',
  ]);
  const [ada, grace, admin] = people;
  const { id } = await agent.request();
  expect(readText((await ada.browser.get('/console')).text)).toContain(
    'Your role reviews for “People decide” 0 of 2 approvals',
  );
  await ada.browser.submit(`/console/permissions/${id}/decide`, { decision: 'approve' });
  const after = await ada.browser.get('/console');
  expect(readText(after.text)).toContain('Nothing waits for you.');
  expect(after.text).toContain('<title>Inbox');
  expect(readText((await ada.browser.get('/console?for=others')).text)).toContain(
    'You approved. Policy “People decide” 1 of 2 approvals',
  );
  expect((await grace.browser.get('/console')).text).toContain('<title>(1) Inbox');
  expect(listed((await admin.browser.get('/console')).text)).toEqual([]);
  const others = readText((await admin.browser.get('/console?for=others')).text);
  expect(others).toContain('1 waits for others.');
  expect(others).toContain('Others review. Policy “People decide”');
});

/** An account with a policy that sends deploys to admins, and an admin and an approver of it. */
async function openReviewed() {
  const admins = { actions: ['deploy.*'], review: { roles: ['admin'] } };
  const scene = await makeReview({}, ['approver', 'admin', 'auditor'], admins);
  const [approver, admin, auditor] = scene.people;
  return { ...scene, approver, admin, auditor };
}

/** Copies a waiting request with its review, so that `count` more wait, each a second longer. */
async function copy({ id }: Json, count: number): Promise<void> {
  const ids = `(
    with recursive n (i) as (values (1) union all select i + 1 from n where i < ?1)
    select i, cast(substr(?2, 1, 6) || unhex(format('%020x', i)) as blob) as copy from n
  )`;
  const bind = (text: string) => env.DB.prepare(text).bind(count, idBytes(id));
  await env.DB.batch([
    bind(
      `insert into permissions (account, id, agent, action, resource, scope, token_ttl, max_uses, status, last_entry,
         expires_at, created_at, updated_at)
       select account, copy, agent, action, resource, scope, token_ttl, max_uses, status, last_entry,
         expires_at + 1000 * i, created_at, updated_at
       from permissions cross join ${ids} where id = ?2`,
    ),
    bind(
      `insert into reviews (account, id, policy_id, policy_updated_at, rule, owner, proposed_scope, proposed_token_ttl, proposed_max_uses)
       select account, copy, policy_id, policy_updated_at, rule, owner, proposed_scope, proposed_token_ttl, proposed_max_uses
       from reviews cross join ${ids} where id = ?2`,
    ),
  ]);
}

it('shows what waits for the reader apart from what others review, however much that is', async () => {
  const { agent, approver, admin, auditor, world } = await openReviewed();
  await copy(await agent.request({ action: 'deploy.start', expires_in: HOUR }), 60);
  world.advance(1);
  const mine = await agent.request({ expires_in: 10 * HOUR });
  for (const order of ['', '?order=newest']) {
    const page = await approver.browser.get(`/console${order}`);
    expect([listed(page.text), page.cost.trips]).toEqual([[mine.id], 2]);
    expect(page.text).toContain('<title>(1) Inbox');
    expect(readText(page.text)).toContain('1 waits for you.');
  }
  const others = await approver.browser.get('/console?for=others');
  expect([listed(others.text).length, others.cost.trips]).toEqual([50, 2]);
  expect(readText(others.text)).toContain('50+ wait for others.');
  const next = readLinks(others.text).find((address) => address.includes('cursor=')) ?? '';
  const rest = listed((await approver.browser.get(next)).text);
  expect([rest.length, [...rest, ...listed(others.text)].includes(mine.id)]).toEqual([11, false]);
  expect(readLinks(others.text)).toContain('/console?for=others&order=newest');
  // Who may not decide sees everything; for the admins all of it waits.
  expect(listed((await admin.browser.get('/console')).text).length).toBe(50);
  expect(readText((await admin.browser.get('/console?for=others')).text)).toContain(
    'Nothing waits for others.',
  );
  const all = (await auditor.browser.get('/console?order=newest')).text;
  expect([listed(all)[0], listed(all).length, all.includes('Waiting for you')]).toEqual([
    mine.id,
    50,
    false,
  ]);
});

it.runIf(depth.isDeep)(
  'examines at most 1,000 requests a page for those of the reader, and never says that there are none',
  async () => {
    const { account, agent, approver, world } = await openReviewed();
    await copy(await agent.request({ action: 'deploy.start', expires_in: HOUR }), 1_099);
    world.advance(1);
    const mine = await (await account.agent()).request({ expires_in: 10 * HOUR });
    const first = await approver.browser.get('/console');
    expect([listed(first.text), first.cost.trips]).toEqual([[], 2]);
    expect(first.cost.read).toBeLessThan(8_000);
    expect(first.text).toContain('<title>Inbox');
    expect(readText(first.text)).toContain(
      'Of the first 1,000 requests, none waits for you. More follow.',
    );
    const next = readLinks(first.text).find((address) => address.includes('cursor=')) ?? '';
    expect(listed((await approver.browser.get(next)).text)).toEqual([mine.id]);
    expect(listed((await approver.browser.get('/console?order=newest')).text)).toEqual([mine.id]);
    const all: string[] = [];
    let page = await approver.browser.get('/console?for=others');
    for (;;) {
      all.push(...listed(page.text));
      const link = readLinks(page.text).find((address) => address.includes('cursor='));
      if (link === undefined) break;
      page = await approver.browser.get(link);
    }
    expect([all.length, new Set(all).size]).toEqual([1_100, 1_100]);
  },
);

it('leads after a decision to the next request that waits for the reader', async () => {
  const { agent, approver } = await openReviewed();
  const first = await agent.request({ expires_in: 2 * HOUR });
  const second = await agent.request({ expires_in: 3 * HOUR });
  const others = await agent.request({ action: 'deploy.start', expires_in: HOUR });
  for (const [decided, next] of [
    [first.id, [`/console/permissions/${second.id}`]],
    [second.id, []],
  ]) {
    await approver.browser.submit(`/console/permissions/${decided}/decide`, { decision: 'deny' });
    const { text } = await approver.browser.get(`/console/permissions/${decided}`);
    expect([...text.matchAll(/href="([^"]+)" data-next/g)].map(([, link]) => link)).toEqual(next);
  }
  expect((await approver.browser.get('/console?for=others')).text).toContain(others.id);
});

it.runIf(depth.isDeep)(
  'lists exactly those as waiting for the reader that the page of the request lets the reader approve',
  async () => {
    const { account, agent, people, world } = await makeReview(
      (people: People) => ({
        approvals: 2,
        members: [people[0].id, people[1].id],
        escalation: { after: 600, roles: ['admin'] },
      }),
      ['approver', 'owner', 'admin'],
      { actions: ['two.*'] },
    );
    await account.must(201, 'POST', '/v1/policies', {
      ...{ name: 'Self', effect: 'review', actions: ['self.*'], resources: ['*'] },
      review: { roles: ['owner'], allow_self: true },
    });
    const [first, owner] = people;
    await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { owner_id: owner.id });
    const late = await makeMember(account, 'admin');
    const asked: string[] = [];
    for (const action of ['two.a', 'two.b', 'self.a', 'free.a'])
      asked.push((await agent.request({ action })).id);
    await first.browser.submit(`/console/permissions/${asked[0]}/decide`, {
      decision: 'approve',
      votes: '0',
    });
    for (let i = 0; i < 2; i++) {
      for (const { browser } of [...people, late]) {
        const mine = listed((await browser.get('/console')).text);
        const others = listed((await browser.get('/console?for=others')).text);
        const approvable: string[] = [];
        for (const id of asked) {
          const { text } = await browser.get(`/console/permissions/${id}`);
          if (text.includes('value="approve"')) approvable.push(id);
        }
        expect(mine.toSorted()).toEqual(approvable.toSorted());
        expect([...mine, ...others].toSorted()).toEqual(asked.toSorted());
      }
      world.advance(600_000);
    }
  },
);

it('shows the ended requests by state, with who decided, and filters by agent', async () => {
  const { account, agent, browser, world } = await open();
  const other = await account.agent({ name: 'Other' });
  const { id } = await agent.request();
  await agent.request({ expires_in: 60 });
  await other.request();
  await browser.submit(`/console/permissions/${id}/decide`, {
    decision: 'deny',
    reason: 'Not today',
  });
  const denied = readText((await browser.get('/console?status=denied')).text);
  expect(denied).toMatch(/Mail assistant .* denied by .*@example\.com/);
  expect(readText((await browser.get('/console?status=approved')).text)).toContain(
    'No request has been approved yet.',
  );
  world.advance(61_000);
  await world.sweep();
  expect(
    (await browser.get('/console?status=expired')).text.match(/class="request"/g)?.length,
  ).toBe(1);
  expect(listed((await browser.get(`/console?agent_id=${other.id}`)).text).length).toBe(1);
  expect(readText((await browser.get(`/console?agent_id=${agent.id}`)).text)).toContain(
    'Nothing waits here.',
  );
});

it('marks requests whose words differ from their arguments, and shows no argument', async () => {
  const { agent, browser } = await open();
  const ask = (value: string, act: object) =>
    agent.request({
      ...act,
      preview: { title: 'Pay', fields: [{ label: 'To', value, of: '/to' }] },
    });
  const differing = await ask('supplier-3', { input: { to: 'attacker' } });
  const same = await ask('supplier-3', { input: { to: 'supplier-3' }, resource: 'mail:a' });
  const unseen = await ask('supplier-3', {
    input_digest: `sha-256:${'A'.repeat(43)}`,
    resource: 'mail:b',
  });
  const { text } = await browser.get('/console');
  expect(text).not.toContain('attacker');
  const marked = (id: string) => {
    const [, row = ''] = text.split(`<li id="${id}"`);
    return readText(`<li${row.split('</a>')[0]}`).includes('differs from what is binding');
  };
  expect([differing, same, unseen].map(({ id }) => marked(id))).toEqual([true, false, false]);
  for (let i = 0; i < 2; i++) await ask('supplier-3', { input: { to: 'supplier-3' } });
  const group = readText((await browser.get('/console')).text);
  expect(group).toContain('differs from what is binding 3 like this');
  expect(group.match(/differs from what is binding/g)).toHaveLength(2);
});

it('cuts long texts, so that one request does not push the others out of sight', async () => {
  const { agent, browser } = await open();
  const long = 'W'.repeat(2_000);
  const scope = { [long.slice(0, 500)]: long.slice(0, 500) };
  await agent.request({
    scope,
    preview: { title: long, fields: [{ label: long, value: long, kind: 'money' }] },
  });
  const { text } = await browser.get('/console?part=list');
  expect(Math.max(...[...text.matchAll(/W+/g)].map(([word]) => word.length))).toBe(120);
});

it('names the keys of the page: in the inbox none decides', async () => {
  const { agent, browser } = await open();
  const { id } = await agent.request();
  const keys = async (path: string) =>
    readText(/<dialog.*<\/dialog>/.exec((await browser.get(path)).text)?.[0] ?? '');
  expect(await keys('/console')).toContain('Enter, A or D Open the request, to decide it there');
  expect(await keys('/console')).not.toContain('Approve');
  expect(await keys(`/console/permissions/${id}`)).toContain('A Approve D Deny');
});

it('answers the script with the list alone', async () => {
  const { agent, browser } = await open();
  const { id } = await agent.request();
  const { text } = await browser.get('/console?part=list');
  expect(text).toMatch(/^<div id="waiting"/);
  expect(listed(text)).toEqual([id]);
});

it('costs the same whether 100 or 900 requests wait, of all agents or of one, and has a next page', async () => {
  const { account, agent, browser } = await open();
  const other = await account.agent();
  const { id } = await agent.request();
  const copy = (count: number) =>
    env.DB.prepare(
      `with recursive n (i) as (values (1) union all select i + 1 from n where i < ?1)
       insert into permissions (account, id, agent, action, resource, scope, token_ttl, max_uses, status, last_entry,
         expires_at, created_at, updated_at)
       select account, randomblob(16), agent, action, resource, scope, token_ttl, max_uses, status,
         (select max(last_entry) from permissions) + i, expires_at + i, created_at, updated_at
       from permissions, n where id = ?2`,
    )
      .bind(count, idBytes(id))
      .run();
  /** The first two pages of what waits, of all agents or of one. */
  const firstPages = async (query: string) => {
    const first = await browser.get(`/console${query}`);
    const next = readLinks(first.text).find((address) => address.includes('cursor=')) ?? '';
    return [...listed(first.text), ...listed((await browser.get(next)).text)];
  };
  await copy(100);
  const few = await browser.get('/console');
  expect(await firstPages(`?agent_id=${agent.id}`)).toEqual(await firstPages(''));
  await copy(900);
  const many = await browser.get('/console');
  expect([listed(few.text)[0], listed(few.text).length]).toEqual([id, 50]);
  expect(many.cost.read).toBeLessThanOrEqual(few.cost.read + 5);
  const next = readLinks(many.text).find((address) => address.includes('cursor='));
  const second = await browser.get(next ?? '');
  expect(listed(second.text).length).toBe(50);
  expect(listed(second.text).filter((id) => listed(many.text).includes(id))).toEqual([]);
  const newest = await browser.get('/console?order=newest');
  expect(newest.cost.read).toBeLessThanOrEqual(few.cost.read + 5);
  for (const order of ['', '&order=newest']) {
    expect(await firstPages(`?agent_id=${agent.id}${order}`)).toEqual(
      await firstPages(`?${order}`),
    );
    // The count beside Inbox examines 98 requests.
    expect((await browser.get(`/console?agent_id=${other.id}${order}`)).cost.read).toBeLessThan(
      98 + 30,
    );
  }
  // The most urgent ones of an agent are found among all of its requests, of which it has few.
  expect((await browser.get(`/console?agent_id=${agent.id}`)).cost.read).toBeLessThan(1_400);
  expect((await browser.get(`/console?agent_id=${agent.id}&order=newest`)).cost.read).toBeLessThan(
    500,
  );
});

it('denies several at once, and names those that were decided meanwhile', async () => {
  const { account, agent, browser } = await open();
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) ids.push((await agent.request()).id);
  const [first = '', second = '', third = ''] = ids;
  await account.must(200, 'POST', `/v1/permissions/${second}/approve`, {});
  const page = await browser.submit('/console/deny', { id: ids, reason: 'Not today' });
  expect(readText(page.text)).toContain('2 of 3 denied');
  expect(readLinks(page.text)).toContain(`/console/permissions/${second}`);
  for (const [id, status, reason] of [
    [first, 'denied', 'Not today'],
    [second, 'approved', null],
    [third, 'denied', 'Not today'],
  ]) {
    const { body } = await account.must(200, 'GET', `/v1/permissions/${id}`);
    expect([body.status, body.decision_reason]).toEqual([status, reason]);
  }
  const [newest] = (await account.must(200, 'GET', '/v1/audit?limit=1')).body.data as Json[];
  expect(newest?.details.decided_via).toBe('console');
});

it('returns after a denial to the list from which it was sent, and to no other address', async () => {
  const { account, agent, browser } = await open();
  for (const [from, back] of [
    [`/console?order=newest&agent_id=${agent.id}`, `/console?order=newest&agent_id=${agent.id}`],
    ['https://example.com/console', '/console'],
    ['/console/agents', '/console'],
    ['', '/console'],
  ] as const) {
    const { id } = await agent.request();
    const all = await browser.submit('/console/deny', { id, from });
    expect([all.status, all.headers.get('Location')]).toEqual([303, back]);
  }
  const decided = await agent.request();
  await account.must(200, 'POST', `/v1/permissions/${decided.id}/approve`, {});
  const late = await browser.submit('/console/deny', {
    id: decided.id,
    from: '/console?order=newest',
  });
  expect(readLinks(late.text)).toContain('/console?order=newest');
});

it('shows a denial with a fault again in the inbox, with the reason and what was checked', async () => {
  const { agent, browser } = await open();
  const { id } = await agent.request();
  const from = '/console?order=newest';
  const none = await browser.submit('/console/deny', { reason: 'Not today', from });
  expect([none.status, listed(none.text)]).toEqual([400, [id]]);
  expect(readText(none.text)).toContain(
    'Nothing was denied. Check the requests that you want to deny.',
  );
  expect(readText(none.text)).toContain('The newest is at the top.');
  expect(none.text).toContain('name="reason" maxlength="1000" type="text" value="Not today"');
  const long = await browser.submit('/console/deny', { id, reason: 'x'.repeat(1_001), from });
  expect([long.status, /value="perm_[0-9a-z]+" form="deny" checked/.test(long.text)]).toEqual([
    400,
    true,
  ]);
  expect((await browser.get('/console')).text).not.toContain('form="deny" checked');
  const many = Array.from({ length: 51 }, () => id);
  expect(readText((await browser.submit('/console/deny', { id: many })).text)).toContain(
    'at most 50 requests',
  );
});

it('shows a denial again in the inbox after the sign-in, if the session had ended', async () => {
  const { account, agent, browser } = await open();
  const { id } = await agent.request();
  const sender =
    /name="sender" value="([^"]+)"/.exec((await browser.get('/console')).text)?.[1] ?? '';
  const typed = { id, reason: 'Typed with care', from: '/console?order=newest', sender, csrf: 'x' };
  await browser.submit('/console/sign-out');
  const ended = await browser.submit('/console/deny', typed);
  expect([ended.status, ended.text.includes('action="/console"')]).toEqual([401, true]);
  expect(readText(ended.text)).toContain('reason Typed with care Open the inbox and deny again');
  await browser.signIn();
  const { text } = await browser.submit('/console', typed);
  for (const part of [
    'value="Typed with care"',
    'form="deny" checked',
    'The newest is at the top.',
  ]) {
    expect(text).toContain(part);
  }
  expect((await account.must(200, 'GET', `/v1/permissions/${id}`)).body.status).toBe('pending');
  const other = await makeMember(account, 'approver');
  expect((await other.browser.submit('/console', typed)).text).not.toContain('Typed with care');
});

it.runIf(depth.isDeep)('denies everything on a page at once', async () => {
  const { agent, browser } = await open();
  const ids: string[] = [];
  for (let i = 0; i < 50; i++) ids.push((await agent.request()).id);
  const all = await browser.submit('/console/deny', { id: ids });
  expect([all.status, all.cost.trips]).toEqual([303, 52]);
  expect(readText((await browser.get('/console')).text)).toContain('Nothing waits for you.');
});

it.each([
  ['owner', true, true],
  ['admin', true, true],
  ['approver', true, false],
  ['developer', false, true],
  ['auditor', false, false],
] as const)('offers %s what the role may do', async (role, mayDecide, mayRegister) => {
  const account = await new World().account();
  const { browser } = await makeMember(account, role);
  const first = (await browser.get('/console')).text;
  expect(first.includes('Connect your first agent')).toBe(mayRegister);
  const { id } = await (await account.agent()).request();
  const page = (await browser.get('/console')).text;
  expect(page.includes('name="id"')).toBe(mayDecide);
  const denied = await browser.submit('/console/deny', { id });
  expect(denied.status).toBe(mayDecide ? 303 : 403);
  if (!mayDecide) expect(readText(denied.text)).toContain('owner, admin, approver');
});

it('shows nothing of another account', async () => {
  const { agent } = await open();
  await agent.request({ preview: { title: 'Secret of another account' } });
  const { browser } = await open();
  for (const path of ['/console', '/console?status=denied', `/console?agent_id=${agent.id}`]) {
    expect((await browser.get(path)).text).not.toContain('Secret');
  }
});

it('shows requests that are alike together, with what differs in columns, and denies them at once', async () => {
  const world = new World();
  // Another account has requests that look the same.
  const stranger = await (await world.account()).agent({ name: 'Mail assistant' });
  for (let i = 0; i < 4; i++)
    await stranger.request({ action: 'payout.send', resource: 'ledger:main' });
  const account = await world.account();
  const { browser } = await makeMember(account, 'approver');
  const agent = await account.agent({ name: 'Mail assistant' });
  const other = await account.agent({ name: 'Archivist' });
  const ask = (amount: number, more: object = {}) =>
    agent.request({
      ...more,
      action: 'payout.send',
      resource: 'ledger:main',
      scope: { amount, currency: 'EUR' },
      expires_in: 2 * HOUR,
    });
  const first = await ask(20, { series: { requests: 20, expires_in: HOUR } });
  world.advance(1);
  const between = await other.request({ action: 'payout.send', resource: 'ledger:main' });
  world.advance(1);
  const [second, third] = [await ask(1_500), await ask(7)];
  const two = [
    await agent.request({ resource: 'mail:a' }),
    await agent.request({ resource: 'mail:a' }),
  ];
  const page = await browser.get('/console?order=newest');
  const rest = [...two.map(({ id }) => id), between.id];
  expect(listed(page.text).toSorted()).toEqual(
    [first, second, third]
      .map(({ id }) => id)
      .concat(rest)
      .toSorted(),
  );
  const text = readText(page.text);
  expect(text).toContain('3 like this · ledger:main Mail assistant · payout.send');
  expect(text).toContain('amount 7 to 1,500 currency EUR');
  expect(text).not.toContain('2 like this');
  expect(text).toMatch(/Request 3 asks for a series ?: with it you can also approve the next 19/);
  expect(page.text).toContain(`/console/permissions/${first.id}#series`);
  expect(page.text.match(/<details[^>]*id="alike-/g)).toHaveLength(1);
  expect(page.cost.trips).toBeLessThanOrEqual(2);
  const [, group = ''] = /name="group" value="([^"]+)"/.exec(page.text) ?? [];
  expect(group.split(' ').toSorted()).toEqual(
    [first, second, third].map(({ id }) => id).toSorted(),
  );
  const denied = await browser.submit('/console/deny', {
    from: '/console',
    group,
    reason: 'Not today',
  });
  expect(denied.status).toBe(303);
  for (const { id } of [first, second, third]) {
    const { body } = await account.must(200, 'GET', `/v1/permissions/${id}`);
    expect([body.status, body.decision_reason]).toEqual(['denied', 'Not today']);
  }
  expect(listed((await browser.get('/console')).text).toSorted()).toEqual(rest.toSorted());
});

it('shows a group without the means to deny it to who may not decide', async () => {
  const { agent, browser } = await open('auditor');
  for (let i = 0; i < 3; i++) await agent.request();
  const { text } = await browser.get('/console');
  expect(readText(text)).toContain('3 like this');
  expect(text).not.toContain('name="group"');
  expect(text).not.toContain('type="checkbox" name="id"');
});

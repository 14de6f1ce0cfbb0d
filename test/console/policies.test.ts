import { beforeAll, describe, expect, it } from 'vitest';
import { secondsOf, writeDuration } from '../../src/console/parts/duration-field';
import { conditionRows, readConditions } from '../../src/console/policies/conditions';
import { readPatterns, writePatterns } from '../../src/console/policies/patterns';
import type { Browser } from '../support/browser';
import { readHiddenFields } from '../support/html';
import { makeMember } from '../support/members';
import { type Answer, type Json, ORIGIN, type TestAccount, World } from '../support/world';

const NEW = '/console/policies/new';
const SMALL = {
  name: 'Small mailings',
  effect: 'approve',
  actions: ['email.*'],
  resources: ['mailbox:*'],
  conditions: { n: { max: 5 } },
  token_ttl: 300,
  max_uses: 3,
  priority: 7,
};
/** Texts that must stay texts. */
const HOSTILE = '<script>alert(1)</script>"><img src=x onerror=alert(1)>\u202e';

type Fields = [name: string, value: string][];

async function makeScene(role = 'admin') {
  const account = await new World().account();
  const { id: member, browser } = await makeMember(account, role);
  return { world: account.world, account, member, browser, agent: await account.agent() };
}

/** The fields that a browser sends with the form of a policy, as they are on the page. */
async function fieldsOf({ text }: Answer): Promise<Fields> {
  const fields: Fields = [];
  let select = '';
  let area: [string, string] | null = null;
  const form = 'form.policy ';
  const attribute = (element: Element, name: string) => decode(element.getAttribute(name) ?? '');
  const page = new HTMLRewriter()
    .on(`${form}input`, {
      element(element) {
        const isBox = ['checkbox', 'radio'].includes(attribute(element, 'type'));
        if (isBox && !element.hasAttribute('checked')) return;
        fields.push([attribute(element, 'name'), attribute(element, 'value')]);
      },
    })
    .on(`${form}select`, {
      element(element) {
        select = attribute(element, 'name');
      },
    })
    .on(`${form}option[selected]`, {
      element(element) {
        fields.push([select, attribute(element, 'value')]);
      },
    })
    .on(`${form}textarea`, {
      element(element) {
        area = [attribute(element, 'name'), ''];
        fields.push(area);
      },
      text(chunk) {
        if (area) area[1] += chunk.text;
      },
    });
  await page.transform(new Response(text)).text();
  return fields.map(([name, value]) => [name, decode(value).replaceAll(/\r?\n/g, '\r\n')]);
}

function decode(text: string): string {
  const names: Record<string, string> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' };
  return text.replace(/&(lt|gt|quot|#39|amp);/g, (_, name) => names[name] ?? '');
}

/** Fields with some replaced; all of a name by a list. */
function withFields(fields: Fields, changes: Record<string, string | string[]>): Fields {
  const kept = fields.filter(([name]) => !Object.hasOwn(changes, name));
  return [
    ...kept,
    ...Object.entries(changes).flatMap(([name, values]) =>
      [values].flat().map((v): [string, string] => [name, v]),
    ),
  ];
}

function send(browser: Browser, path: string, fields: Fields): Promise<Answer> {
  const raw = new URLSearchParams(fields).toString();
  return browser.send('POST', path, {
    raw,
    headers: {
      Origin: ORIGIN,
      'Content-Type': 'application/x-www-form-urlencoded',
      Accept: 'text/html',
    },
  });
}

/** Fills in the form for a new policy and presses a button. */
async function fill(
  browser: Browser,
  changes: Record<string, string | string[]>,
  button = 'save',
  path = NEW,
) {
  const fields = await fieldsOf(await browser.get(path));
  return send(browser, NEW, withFields(fields, { ...changes, do: button }));
}

const FILLED = { name: 'Mail', effect: 'approve', actions: 'email.*', resources: '*' };

async function policiesOf(account: TestAccount): Promise<Json[]> {
  return (await account.must(200, 'GET', '/v1/policies')).body.data;
}

async function createPolicy(account: TestAccount, fields: Json = {}): Promise<Json> {
  return (await account.must(201, 'POST', '/v1/policies', { ...SMALL, ...fields })).body;
}

/** The text of a page without its markup. */
function plain({ text }: Answer): string {
  return decode(text.slice(text.indexOf('<main')).replace(/<[^>]*>/g, ' '))
    .replace(/\s+/g, ' ')
    .replace(/ (?=[.,:])/g, '');
}

describe('the list of policies', () => {
  it('is in order of evaluation, says in words what each does, and costs two trips', async () => {
    const { account, browser, world } = await makeScene('approver');
    expect(plain(await browser.get('/console/policies'))).toContain('There is no policy yet.');
    for (const [name, effect, priority] of [
      ['Approve high', 'approve', 9],
      ['Approve old', 'approve', 1],
      ['Review', 'review', 1],
      ['Deny low', 'deny', -5],
      ['Deny high', 'deny', 5],
    ] as const) {
      await createPolicy(account, { name, effect, priority, is_active: name !== 'Approve old' });
      world.advance(1);
    }
    const page = await browser.get('/console/policies');
    expect([page.status, page.cost.trips]).toEqual([200, 2]);
    const names = ['Deny high', 'Deny low', 'Approve high', 'Review', 'Approve old'];
    const places = names.map((name) => page.text.indexOf(`>${name}<`));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places[0]).toBeGreaterThan(0);
    expect(plain(page)).toContain(
      'Approves email.* on mailbox:* by every agent, if n is at most 5. The token is valid for at most 5 min and allows at most 3 uses.',
    );
    expect(page.text.match(/>off</g)).toHaveLength(1);
  });

  it('offers a new policy only to roles that may make one, and refuses the others', async () => {
    const { account, browser } = await makeScene('approver');
    const admin = await makeMember(account, 'admin');
    expect((await admin.browser.get('/console/policies')).text).toContain(
      'href="/console/policies/new"',
    );
    expect((await browser.get('/console/policies')).text).not.toContain(
      'href="/console/policies/new"',
    );
    const { id } = await createPolicy(account);
    const page = await browser.get(`/console/policies/${id}`);
    expect([
      page.status,
      page.text.includes('<form method="post" action="/console/policies'),
    ]).toEqual([200, false]);
    expect(plain(page)).toContain('Approves email.* on mailbox:*');
    expect((await browser.get(NEW)).status).toBe(403);
    for (const path of [
      NEW,
      `/console/policies/${id}`,
      `/console/policies/${id}/switch`,
      `/console/policies/${id}/delete`,
    ]) {
      expect((await browser.submit(path, { ...FILLED, do: 'save', state: 'off' })).status).toBe(
        403,
      );
    }
    expect(await policiesOf(account)).toMatchObject([{ id, name: SMALL.name, is_active: true }]);
  });
});

describe('the simulation', () => {
  it('says what is decided, by which policy, and which others apply', async () => {
    const { account, browser } = await makeScene();
    await createPolicy(account);
    const review = await createPolicy(account, {
      name: 'People <b>',
      effect: 'review',
      priority: 8,
      conditions: {},
    });
    const ask = (scope: string, action = 'email.send') =>
      browser.get(
        `/console/policies?agent_id=&action=${action}&resource=mailbox:a&scope=${encodeURIComponent(scope)}`,
      );
    const page = await ask('{"n": 3}');
    expect([page.status, page.cost.trips]).toEqual([200, 2]);
    expect(plain(page)).toContain(
      'It would wait for reviewers. The policy People <b> decides. 1 of 1 reviewer has to approve. Also applying, but weighed later: Small mailings',
    );
    await account.must(200, 'PUT', `/v1/policies/${review.id}`, { is_active: false });
    expect(plain(await ask('{"n": 3}'))).toContain(
      'It would be approved at once. The policy Small mailings decides.',
    );
    expect(plain(await ask('{"n": 6}'))).toContain('No policy applies');
    expect(plain(await ask(''))).toContain('No policy applies');
    const refused = await ask('{"n": ', 'email');
    expect([refused.status, refused.text.includes('value="email"')]).toEqual([400, true]);
    expect(plain(refused)).toContain('must be dotted, such as email.send');
    expect(plain(refused)).toContain('must be a JSON object');
    expect(plain(await ask('{"n": [9007199254740993]}'))).toContain(
      'n 0 would be rounded to 9007199254740992',
    );
  });

  it('counts the reviewers without the owner of the agent', async () => {
    const { account, member, browser } = await makeScene();
    const agent = await account.agent({ name: HOSTILE });
    await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { owner_id: member });
    await makeMember(account, 'approver');
    await createPolicy(account, { effect: 'review', conditions: {} });
    const of = async (id: string) =>
      plain(
        await browser.get(`/console/policies?agent_id=${id}&action=email.send&resource=mailbox:a`),
      );
    expect(await of('')).toContain('1 of 2 reviewers has to approve');
    expect(await of(agent.id)).toContain('1 of 1 reviewer has to approve');
  });
});

describe('the form for a new policy', () => {
  let shared: ReturnType<typeof makeScene>;
  beforeAll(() => {
    shared = makeScene();
  });

  it('creates what it says', async () => {
    const { account, member, browser, agent } = await makeScene();
    const answer = await fill(browser, {
      name: ' Large payouts ',
      effect: 'review',
      actions: 'payout.*\r\n\r\n refund.create ',
      resources: 'account:*',
      agents: 'some',
      agent_ids: agent.id,
      condition_key: ['amount', 'amount', 'currency', 'test', 'note', '', 'code'],
      condition_operator: ['min', 'max', 'in', 'equals', 'any', 'max', 'equals'],
      condition_value: ['10', '1e3', 'EUR, USD', 'true', '', '', '"5"'],
      ...{
        priority: '-3',
        token_ttl: '10',
        token_ttl_unit: 'minute',
        max_uses: '',
        reason: 'Unused',
        approvals: '1',
        passkey: 'on',
      },
      ...{
        review_roles: ['approver'],
        review_members: member,
        escalation_after: '0.5',
        escalation_after_unit: 'hour',
        escalation_roles: 'owner',
      },
    });
    expect([answer.status, answer.text.match(/class="fault".*?<\/p>/g)]).toEqual([303, null]);
    const [policy] = await policiesOf(account);
    expect(answer.headers.get('Location')).toBe('/console/policies');
    const people = { members: [member], roles: ['approver'] };
    expect(policy).toMatchObject({
      ...{
        name: 'Large payouts',
        effect: 'review',
        actions: ['payout.*', 'refund.create'],
        resources: ['account:*'],
      },
      ...{ agent_ids: [agent.id], priority: -3, token_ttl: 600, max_uses: null, is_active: true },
      conditions: {
        amount: { min: 10, max: 1000 },
        ...{
          currency: { in: ['EUR', 'USD'] },
          test: { equals: true },
          note: {},
          code: { equals: '5' },
        },
      },
      review: {
        ...{ approvals: 1, ...people, allow_self: false, passkey: true },
        escalation: { after: 1800, members: null, roles: ['owner'] },
      },
    });
    expect(Object.keys(policy.conditions)).toHaveLength(5);
  });

  it.each<[string, Record<string, string | string[]>, string, string]>([
    ['name', { name: ' ' }, 'field-name-fault', 'must be 1 to 255 characters long'],
    ['effect', { effect: 'allow' }, 'class="fault"', 'must be one of'],
    ['actions', { actions: ' \r\n ' }, 'field-actions-fault', 'must not be empty'],
    [
      'resources',
      { resources: 'x'.repeat(10_000) },
      'field-resources-fault',
      'at most 512 characters',
    ],
    ['agents', { agents: 'some' }, 'class="fault"', 'must not be empty'],
    [
      'foreign ids',
      { agents: 'some', agent_ids: HOSTILE },
      'class="fault"',
      'must be the id of an agent',
    ],
    ['priority', { priority: 'high' }, 'field-priority-fault', 'must be a whole number'],
    [
      'lifetime',
      { token_ttl: '8', token_ttl_unit: 'day' },
      'field-token_ttl-fault',
      'must be from 30 seconds to 7 days',
    ],
    ['uses', { max_uses: '1.5' }, 'field-max_uses-fault', 'must be a whole number'],
    [
      'number',
      { condition_key: 'n', condition_operator: 'max', condition_value: HOSTILE },
      'condition-0-fault',
      'must be a number',
    ],
    ...['max', 'equals', 'in'].map((operator): [string, Record<string, string>, string, string] => [
      `rounded number (${operator})`,
      { condition_key: 'n', condition_operator: operator, condition_value: '1234567890123456789' },
      'condition-0-fault',
      'would be rounded to 1234567890123456800',
    ]),
    [
      'repeated name',
      { condition_key: 'n', condition_operator: 'equals', condition_value: '{"a": 1, "a": 2}' },
      'condition-0-fault',
      'must be given once',
    ],
    [
      'range',
      {
        condition_key: ['n', 'n'],
        condition_operator: ['min', 'max'],
        condition_value: ['2', '1'],
      },
      'condition-0-fault',
      'must not be above max',
    ],
    [
      'key',
      { condition_key: '', condition_operator: 'max', condition_value: '1' },
      'condition-0-fault',
      'needs the name',
    ],
    [
      'value',
      { condition_key: 'n', condition_operator: 'in', condition_value: ' ' },
      'condition-0-fault',
      'needs a value',
    ],
    [
      'comparison',
      { condition_key: 'n', condition_operator: 'not', condition_value: '1' },
      'condition-0-fault',
      'needs a comparison',
    ],
    [
      'twice',
      {
        condition_key: ['n', 'n'],
        condition_operator: ['max', 'max'],
        condition_value: ['2', '1'],
      },
      'condition-1-fault',
      'says the same',
    ],
    [
      'too few reviewers',
      { effect: 'review', approvals: '2' },
      'field-approvals-fault',
      'at most the number of reviewers',
    ],
    ['approvals', { effect: 'review', approvals: '6' }, 'field-approvals-fault', 'from 1 to 5'],
    [
      'escalation',
      { effect: 'review', escalation_after: '600' },
      'field-escalation_after-fault',
      'must name members or roles',
    ],
    [
      'escalation time',
      { effect: 'review', escalation_roles: 'owner' },
      'field-escalation_after-fault',
      'must be from 1 minute to 7 days',
    ],
  ])(
    'shows at the field that the %s is refused, and keeps what was typed',
    async (_, changes, place, message) => {
      const { account, browser } = await shared;
      const typed = { ...FILLED, reason: HOSTILE, ...changes };
      const answer = await fill(browser, typed);
      expect([answer.status, await policiesOf(account)]).toEqual([400, []]);
      const fault = answer.text.slice(
        answer.text.indexOf(place.startsWith('class') ? place : `id="${place}"`),
      );
      expect(plain({ ...answer, text: `<main ${fault.slice(0, 2_000)}` })).toContain(message);
      expect(answer.text).not.toContain('<script>alert');
      expect(answer.text).not.toContain('<img');
      const shown = await fieldsOf(answer);
      for (const [name, value] of Object.entries(typed).flatMap(([name, value]) =>
        [value].flat().map((one) => [name, one]),
      )) {
        if (value !== 'allow' && value !== 'not') expect(shown).toContainEqual([name, value]);
      }
    },
  );

  it('adds a row and tries the policy on past requests without saving it', async () => {
    const { world, account, browser, agent } = await makeScene();
    const ask = async (n: number, decision?: string, fields: Json = {}) => {
      const { id } = await agent.request({ scope: { n }, ...fields });
      if (decision) await account.must(200, 'POST', `/v1/permissions/${id}/${decision}`);
      world.advance(1);
      return id;
    };
    await ask(1, 'approve');
    const denied = await ask(2, 'deny', { preview: { title: HOSTILE } });
    await ask(3);
    await ask(9, 'approve');
    const typed = {
      ...FILLED,
      condition_key: 'n',
      condition_operator: 'max',
      condition_value: '5',
    };
    const added = await fill(
      browser,
      {
        ...typed,
        condition_key: ['n', 'a', 'b'],
        condition_operator: ['max', 'max', 'max'],
        condition_value: ['5', '1', '1'],
      },
      'add',
    );
    expect(
      (await fieldsOf(added))
        .filter(([name]) => name === 'condition_key')
        .map(([, value]) => value),
    ).toEqual(['n', 'a', 'b', '', '']);
    const full = await fill(
      browser,
      {
        ...typed,
        condition_key: ['n', '', ''],
        condition_operator: ['max', 'max', 'max'],
        condition_value: ['5', '', ''],
      },
      'add',
    );
    expect((await fieldsOf(full)).filter(([name]) => name === 'condition_key')).toHaveLength(4);
    const tried = await fill(browser, typed, 'try');
    expect([tried.status, tried.cost.trips, tried.cost.written]).toEqual([200, 2, 0]);
    expect(plain(tried)).toContain(
      'Of the 4 requests of the last 30 days, this policy alone would',
    );
    expect(plain(tried)).toMatch(/approve ?3 ?deny ?0 ?send to reviewers ?0 ?leave alone ?1/);
    expect(plain(tried)).toContain(
      '1 of these was decided the same way, 1 differently, and 1 had no decision.',
    );
    expect(tried.text).toContain(`href="/console/permissions/${denied}"`);
    expect(tried.text).not.toContain('<script>alert');
    expect(await fieldsOf(tried)).toContainEqual(['condition_value', '5']);
    expect(await policiesOf(account)).toEqual([]);
  });
});

describe('a rule from a request', () => {
  const SCOPE = { max: 9, to: ['a', 'b'], currency: 'EUR', nested: { a: 1 } };
  const ASKED = { scope: SCOPE, token_ttl: 120, max_uses: 2, preview: { title: HOSTILE } };

  it('matches exactly this request and lower numbers, is tried at once, and approves the request too', async () => {
    const { account, browser, agent } = await makeScene();
    const { id, resource } = await agent.request(ASKED);
    const page = await browser.get(`${NEW}?permission=${id}`);
    expect([page.status, page.cost.trips]).toEqual([200, 2]);
    expect(plain(page)).toMatch(/approve ?1 ?deny ?0/);
    expect(page.text).not.toContain('<script>alert');
    const answer = await send(browser, NEW, withFields(await fieldsOf(page), { do: 'save' }));
    expect([answer.status, answer.headers.get('Location')]).toEqual([
      303,
      `/console/permissions/${id}`,
    ]);
    const [policy] = await policiesOf(account);
    expect(policy).toMatchObject({
      ...{
        name: `email.send on ${resource}`,
        effect: 'approve',
        actions: ['email.send'],
        resources: [resource],
      },
      ...{ agent_ids: [agent.id], token_ttl: 120, max_uses: 2, priority: 0, is_active: true },
    });
    expect(policy.conditions).toEqual({
      ...{
        max: { max: 9 },
        to: { equals: ['a', 'b'] },
        currency: { equals: 'EUR' },
        nested: { equals: { a: 1 } },
      },
    });
    const { body: approved } = await account.must(200, 'GET', `/v1/permissions/${id}`);
    expect([approved.status, approved.policy_id, approved.granted_scope]).toEqual([
      'approved',
      null,
      SCOPE,
    ]);
    expect((await agent.request({ scope: { ...SCOPE, max: 8 } })).status).toBe('approved');
    expect((await agent.request({ scope: { ...SCOPE, to: ['a'] } })).status).toBe('pending');
  });

  it('from one without limits is saved only by those who accept that it approves any limits', async () => {
    const { account, browser, agent } = await makeScene();
    const { id } = await agent.request();
    const page = await browser.get(`${NEW}?permission=${id}`);
    expect(page.text).toMatch(
      /<p class="notice waiting">The request has no limits[\s\S]*whatever the limits are/,
    );
    expect(plain(page)).toMatch(
      /Approves email.send on mailbox:support by Mailer, whatever the limits are\./,
    );
    const fields = withFields(await fieldsOf(page), { do: 'save' });
    const refused = await send(browser, NEW, fields);
    expect(refused.status).toBe(400);
    expect(refused.text).toMatch(
      /aria-describedby="any-limits-fault"[\s\S]*id="any-limits-fault">check this/,
    );
    expect(await policiesOf(account)).toEqual([]);
    const row = { condition_key: ['amount'], condition_operator: ['max'], condition_value: ['5'] };
    expect((await send(browser, NEW, withFields(fields, { ...row, approve: [] }))).status).toBe(
      303,
    );
    expect((await send(browser, NEW, withFields(fields, { any_limits: 'on' }))).status).toBe(303);
    const conditions = (await policiesOf(account)).map(({ conditions }) => conditions);
    expect(conditions).toEqual(expect.arrayContaining([{}, { amount: { max: 5 } }]));
    // Also who removes the conditions of a rule from limits.
    const limited = await fill(
      browser,
      { condition_value: [], condition_key: [], keep: [] },
      'save',
      `${NEW}?permission=${(await agent.request(ASKED)).id}`,
    );
    expect([limited.status, plain(limited)]).toEqual([
      400,
      expect.stringContaining('check this, or write conditions'),
    ]);
  });

  it('does not approve the request if that was not checked', async () => {
    const { account, browser, agent } = await makeScene();
    const { id } = await agent.request(ASKED);
    const answer = await fill(browser, { approve: [] }, 'save', `${NEW}?permission=${id}`);
    expect(answer.headers.get('Location')).toBe('/console/policies');
    expect((await account.must(200, 'GET', `/v1/permissions/${id}`)).body.status).toBe('pending');
  });

  it.each(['mailbox:*', 'mailbox:a *b'])(
    'leaves out a resource that would match others: %j',
    async (resource) => {
      const { account, browser, agent } = await makeScene();
      const { id } = await agent.request({ resource });
      const page = await browser.get(`${NEW}?permission=${id}`);
      expect(await fieldsOf(page)).toContainEqual(['resources', '']);
      expect(plain(page)).toContain('In a policy * stands for any text');
      expect(
        (await send(browser, NEW, withFields(await fieldsOf(page), { do: 'save' }))).status,
      ).toBe(400);
      expect(await policiesOf(account)).toEqual([]);
    },
  );

  it('keeps the policy and says so when the request was decided meanwhile', async () => {
    const { account, browser, agent } = await makeScene();
    const { id } = await agent.request(ASKED);
    const fields = await fieldsOf(await browser.get(`${NEW}?permission=${id}`));
    await account.must(200, 'POST', `/v1/permissions/${id}/deny`);
    const answer = await send(browser, NEW, withFields(fields, { do: 'save' }));
    const [policy] = await policiesOf(account);
    const location = answer.headers.get('Location') ?? '';
    expect(location).toBe(`/console/policies/${policy.id}?permission=${id}&refused=not_pending`);
    const page = await browser.get(location);
    expect(plain(page)).toContain(
      'The policy is saved. The request was not approved: The request was already decided',
    );
    expect(page.text).toContain(`href="/console/permissions/${id}"`);
    expect((await account.must(200, 'GET', `/v1/permissions/${id}`)).body.status).toBe('denied');
  });

  it('does not offer to approve what the member may not, and says which policy comes first', async () => {
    const { account, browser, agent } = await makeScene();
    const other = await makeMember(account, 'approver');
    await createPolicy(account, {
      name: 'Two of us',
      effect: 'review',
      conditions: {},
      review: { members: [other.id] },
    });
    const { id } = await agent.request(ASKED);
    const page = await browser.get(`${NEW}?permission=${id}`);
    expect(page.text).not.toContain('name="approve"');
    expect(plain(page)).toContain(
      'It changes nothing for requests like this: “ Two of us ”, which asks reviewers about them',
    );
    const answer = await send(
      browser,
      NEW,
      withFields(await fieldsOf(page), { approve: 'on', do: 'save' }),
    );
    expect(answer.headers.get('Location')).toContain('refused=not_a_reviewer');
    expect((await account.must(200, 'GET', `/v1/permissions/${id}`)).body.status).toBe('pending');
  });

  it('is 404 for a request of another account', async () => {
    const { browser, account } = await makeScene();
    const stranger = await (await new World().account()).agent();
    const { id } = await stranger.request();
    expect((await browser.get(`${NEW}?permission=${id}`)).status).toBe(404);
    expect(
      (await browser.submit(NEW, { ...FILLED, permission: id, approve: 'on', do: 'save' })).status,
    ).toBe(404);
    expect((await browser.get(`${NEW}?permission=perm_x`)).status).toBe(404);
    expect(await policiesOf(account)).toEqual([]);
  });
});

describe('the page of a policy', () => {
  /** What is hard to write in a form. */
  const AWKWARD = {
    name: HOSTILE,
    actions: ['email.*'],
    resources: [
      'mailbox:*',
      `x:${'x'.repeat(510)}`,
      'x:"quoted"',
      `x:${HOSTILE.replace('\u202e', '')}`,
    ],
    conditions: {
      a: { min: 1, max: 5, in: [1, '2', 'three', null, true], equals: 'x' },
      b: { equals: '5' },
      c: { in: ['a,b', 'c'] },
      d: { equals: { deep: [1] } },
      e: {},
      ' f': { max: 1 },
      'g.h\n': { equals: 'i\nj' },
      k: { equals: HOSTILE },
      l: { equals: ['EUR'] },
      m: { equals: 'line\nfeed' },
      [HOSTILE]: { in: [''] },
    },
    reason: null,
    review: null,
  };

  it('shows a form that changes nothing when it is saved as it is', async () => {
    const { account, browser } = await makeScene();
    const before = await createPolicy(account, AWKWARD);
    const path = `/console/policies/${before.id}`;
    const page = await browser.get(path);
    expect([page.status, page.cost.trips]).toEqual([200, 2]);
    expect(page.text).not.toMatch(/<script>alert|<img/);
    const fields = await fieldsOf(page);
    const answer = await send(browser, path, withFields(fields, { do: 'save' }));
    expect([answer.status, answer.cost.written]).toEqual([303, 0]);
    // What the form could not write in rows stays when something else changes, unless it is
    // unchecked.
    await send(browser, path, withFields(fields, { priority: '9', do: 'save' }));
    const { body: changed } = await account.must(200, 'GET', `/v1/policies/${before.id}`);
    expect(changed).toEqual({ ...before, priority: 9, updated_at: changed.updated_at });
    const again = await fieldsOf(await browser.get(path));
    await send(browser, path, withFields(again, { keep: [], do: 'save' }));
    const { conditions } = (await account.must(200, 'GET', `/v1/policies/${before.id}`)).body;
    expect(Object.keys(conditions).toSorted()).toEqual(
      ['a', 'b', 'c', 'e', 'k', 'l', 'm', HOSTILE].toSorted(),
    );
  });

  it('saves only what changed, and refuses to overwrite the change of somebody else unnoticed', async () => {
    const { world, account, browser } = await makeScene();
    const { id } = await createPolicy(account);
    const path = `/console/policies/${id}`;
    const fields = await fieldsOf(await browser.get(path));
    world.advance(1);
    await account.must(200, 'PUT', `/v1/policies/${id}`, { conditions: { n: { max: 1 } } });
    world.advance(1);
    const refused = await send(browser, path, withFields(fields, { name: 'Mine', do: 'save' }));
    expect(refused.status).toBe(409);
    expect(plain(refused)).toContain('The policy was changed since you opened the page.');
    for (const now of [SMALL.name, 'as the sentence at the top says']) {
      expect(plain(refused)).toContain(`is now: ${now}`);
    }
    expect((await account.must(200, 'GET', `/v1/policies/${id}`)).body).toMatchObject({
      name: SMALL.name,
    });
    // Trying it in between does not hide the change.
    const tried = await send(browser, path, withFields(fields, { name: 'Mine', do: 'try' }));
    expect(
      (await send(browser, path, withFields(await fieldsOf(tried), { do: 'save' }))).status,
    ).toBe(409);
    const saved = await send(browser, path, withFields(await fieldsOf(refused), { do: 'save' }));
    expect([saved.status, saved.headers.get('Location')]).toEqual([303, '/console/policies']);
    expect((await account.must(200, 'GET', `/v1/policies/${id}`)).body).toMatchObject({
      name: 'Mine',
      conditions: SMALL.conditions,
    });
    const [record] = (await account.must(200, 'GET', '/v1/activity')).body.data;
    expect([record.action, record.details?.changes ?? record.changes]).toEqual([
      'policy.updated',
      ['name', 'conditions'],
    ]);
  });

  it('tries a change on past requests before it is saved', async () => {
    const { account, browser, agent } = await makeScene();
    await agent.approved({ scope: { n: 1 } });
    const { id } = await createPolicy(account);
    const fields = await fieldsOf(await browser.get(`/console/policies/${id}`));
    const tried = await send(
      browser,
      `/console/policies/${id}`,
      withFields(fields, { effect: 'deny', do: 'try' }),
    );
    expect([tried.status, tried.cost.trips, tried.cost.written]).toEqual([200, 2, 0]);
    expect(plain(tried)).toContain('0 of these were decided the same way, 1 differently.');
  });

  it('switches the policy off and on, unless too few reviewers are left, and deletes it', async () => {
    const { account, browser } = await makeScene();
    const other = await makeMember(account, 'approver');
    const { id } = await createPolicy(account, { effect: 'review', review: { approvals: 2 } });
    const path = `/console/policies/${id}`;
    const isActive = async () =>
      (await account.must(200, 'GET', `/v1/policies/${id}`)).body.is_active;
    expect((await browser.submit(`${path}/switch`, { state: 'off' })).headers.get('Location')).toBe(
      path,
    );
    expect(await isActive()).toBe(false);
    await account.must(200, 'PUT', `/v1/members/${other.id}`, { role: 'auditor' });
    const shownOff = readHiddenFields((await browser.get(path)).text, `${path}/switch`);
    const refused = await browser.submit(`${path}/switch`, shownOff);
    expect([refused.status, await isActive()]).toEqual([400, false]);
    expect(refused.text).toContain('field-approvals-fault');
    await account.must(200, 'PUT', `/v1/members/${other.id}`, { role: 'approver' });
    account.world.advance(1);
    await account.must(200, 'PUT', `/v1/policies/${id}`, { actions: ['*'] });
    const outdated = await browser.submit(`${path}/switch`, shownOff);
    expect([outdated.status, await isActive()]).toEqual([409, false]);
    expect(outdated.text).toContain('The policy was changed since you opened the page.');
    const again = readHiddenFields(outdated.text, `${path}/switch`);
    expect((await browser.submit(`${path}/switch`, again)).status).toBe(303);
    expect((await browser.submit(`${path}/switch`, { state: '' })).status).toBe(400);
    expect(await isActive()).toBe(true);
    expect((await browser.get(path)).text).toContain(`action="${path}/delete"`);
    const deleted = await browser.submit(`${path}/delete`);
    expect([deleted.status, deleted.headers.get('Location')]).toEqual([303, '/console/policies']);
    expect((await browser.get(path)).status).toBe(404);
  });

  it('is 404 for a policy of another account', async () => {
    const { browser } = await makeScene();
    const stranger = await new World().account();
    const { id } = await createPolicy(stranger);
    expect((await browser.get(`/console/policies/${id}`)).status).toBe(404);
    for (const rest of ['', '/switch', '/delete']) {
      expect(
        (
          await browser.submit(`/console/policies/${id}${rest}`, {
            ...FILLED,
            do: 'save',
            state: 'off',
          })
        ).status,
      ).toBe(404);
    }
    expect(await policiesOf(stranger)).toMatchObject([{ id, is_active: true }]);
    expect((await browser.get('/console/policies/policy_x')).status).toBe(404);
  });
});

describe('the sentence above the form', () => {
  /** What the sentence says about a form with some fields changed. */
  const say = async (browser: Browser, changes: Record<string, string | string[]>) => {
    const fields = withFields(await fieldsOf(await browser.get(NEW)), changes);
    const answer = await send(browser, '/console/policies/sentence', fields);
    expect([answer.status, answer.cost.written]).toEqual([200, 0]);
    return plain({ ...answer, text: `<main>${answer.text}` });
  };

  it('says what the form says so far, and what of it is not complete', async () => {
    const { account, browser, member } = await makeScene();
    const page = await browser.get(NEW);
    expect(page.text).toContain('hx-post="/console/policies/sentence"');
    expect(plain(page)).toContain(
      'Asks reviewers about … on … by every agent. 1 person who may decide has to approve.',
    );
    const limited = { ...FILLED, condition_key: 'amount', token_ttl: '90' };
    expect(await say(browser, { ...limited, condition_value: '5' })).toContain(
      'Approves email.* on every resource by every agent, if amount is at most 5. The token is valid for at most 1 h 30 min.',
    );
    const open = await say(browser, { ...limited, condition_value: '', agents: 'some' });
    expect(open).toContain('on every resource by …, if ….');
    expect(open).not.toContain('whatever the limits are');
    const capped = await say(browser, { ...FILLED, token_ttl: '8', token_ttl_unit: 'day' });
    expect(capped).toContain('Left out, because it is not complete: the token lifetime.');
    const review = {
      ...{ effect: 'review', review_members: member, review_roles: 'approver' },
      ...{ escalation_after: '2', escalation_after_unit: 'day', escalation_roles: 'owner' },
    };
    expect(await say(browser, review)).toMatch(
      /1 of these has to approve: every approver and \S+@example.com ; after 2 days also every owner\./,
    );
    for (const changes of [
      { effect: HOSTILE, actions: HOSTILE, approvals: HOSTILE },
      { ...FILLED, budget_per: HOSTILE, expires_at: HOSTILE, token_ttl_unit: HOSTILE },
    ]) {
      const fields = withFields(await fieldsOf(page), changes);
      const { status, text } = await send(browser, '/console/policies/sentence', fields);
      expect([status, text.includes('<script>alert'), text.includes('<img')]).toEqual([
        200,
        false,
        false,
      ]);
    }
    expect(await policiesOf(account)).toEqual([]);
    const approver = await makeMember(account, 'approver');
    expect((await send(approver.browser, '/console/policies/sentence', [])).status).toBe(403);
  });

  it('shows a length of time in the largest unit that fits, and reads it as the same', () => {
    for (const [seconds, amount, unit] of [
      [30, '30', 'second'],
      [90, '90', 'second'],
      [5_400, '90', 'minute'],
      [86_400, '1', 'day'],
      [0, '0', 'second'],
    ] as const) {
      expect(writeDuration(seconds, 'minute')).toEqual({ amount, unit });
      expect(secondsOf({ amount, unit })).toBe(seconds);
    }
    expect(secondsOf({ amount: '1.1', unit: 'minute' })).toBe(66);
    expect(secondsOf({ amount: '5', unit: 'fortnight' })).toBe('5');
  });
});

describe('reviewers', () => {
  it('can be members who are invited, as long as enough have joined', async () => {
    const { account, browser, member } = await makeScene();
    const suspended = await makeMember(account, 'approver');
    await account.must(200, 'PUT', `/v1/members/${suspended.id}`, { status: 'suspended' });
    const { body: ada } = await account.must(201, 'POST', '/v1/members', {
      ...{ email: 'ada@example.com', name: 'Ada', role: 'approver' },
    });
    const page = await browser.get(NEW);
    expect(plain(page)).toContain('Ada invited: counts once they have joined');
    expect(page.text).not.toContain(suspended.id);
    const review = { ...FILLED, effect: 'review', approvals: '1' };
    const alone = await fill(browser, { ...review, review_members: ada.id });
    expect([alone.status, plain(alone)]).toEqual([
      400,
      expect.stringContaining('must be at most the number of reviewers'),
    ]);
    expect((await fill(browser, { ...review, review_members: [ada.id, member] })).status).toBe(303);
    const [policy] = await policiesOf(account);
    expect(policy.review.members).toEqual([ada.id, member]);
  });
});

describe('what the form writes is read as the same again', () => {
  it.each<[string, Json]>([
    ['a number as text', { equals: '1e3' }],
    ['the word null', { in: ['null', null] }],
    ['brackets', { in: ['[1]', '{'] }],
    ['text with a comma at the end', { equals: 'a,' }],
    ['a large number', { max: 1e21, min: -1e-7 }],
    ['an empty text', { equals: '' }],
    ['spaces', { in: [' a', 'b '] }],
  ])('%s', (_, condition) => {
    const { rows, others } = conditionRows({ ['__proto__']: condition, key: condition });
    expect(others).toEqual([]);
    expect(Object.entries(readConditions(rows, []).conditions)).toEqual([
      ['__proto__', condition],
      ['key', condition],
    ]);
  });

  it('patterns', () => {
    const patterns = ['a', ' b', '"c"', '"', 'd\ne', 'f\r', '*', '\u2028', ''];
    expect(readPatterns(writePatterns(patterns).replaceAll('\n', '\r\n'))).toEqual(patterns);
  });
});

import { describe, expect, it } from 'vitest';
import { readText } from '../support/html';
import { makeMember } from '../support/members';
import { makeReview } from '../support/reviews';
import { asIdentifier } from '../support/texts';
import { type Json, ORIGIN, World } from '../support/world';

const SCOPE = {
  max_amount: 250,
  currency: 'EUR',
  recipients: ['ada@example.com', 'grace@example.com', 'bob@example.com'],
  nested: { rows: 10 },
};

/** An account with an agent, a request of it, and a member of a role. */
async function open(
  role = 'approver',
  request: Json = { scope: SCOPE, max_uses: 3, token_ttl: 3_600 },
) {
  const account = await new World().account();
  const member = await makeMember(account, role);
  const agent = await account.agent({ name: 'Mail assistant' });
  const { id } = await agent.request({ action: 'mail.send', resource: 'mail:support', ...request });
  const path = `/console/permissions/${id}`;
  const read = async () => (await account.must(200, 'GET', `/v1/permissions/${id}`)).body;
  return {
    account,
    world: account.world,
    agent,
    id,
    path,
    read,
    member: member.id,
    browser: member.browser,
  };
}

describe('the decision card', () => {
  it('shows who asks for what, the limits, the arguments, policies, other requests and the log', async () => {
    const { account, agent, browser, path } = await open('approver', {
      scope: SCOPE,
      reason: 'The customer asked for it',
      input: { to: 'ada@example.com' },
      preview: {
        title: 'Send invoice 118',
        summary: 'Sends it as PDF',
        fields: [{ label: 'Amount', value: '240 EUR', kind: 'money' }],
        blocks: [{ title: 'Letter', kind: 'text', text: 'Dear Ada' }],
      },
    });
    const before = await agent.request({ action: 'mail.send', resource: 'mail:before' });
    await account.must(200, 'POST', `/v1/permissions/${before.id}/deny`, {});
    const policy = {
      name: 'Mails are reviewed',
      effect: 'review',
      actions: ['mail.*'],
      resources: ['*'],
    };
    await account.must(201, 'POST', '/v1/policies', policy);
    const page = await browser.get(path);
    const text = readText(page.text);
    for (const part of [
      ...[
        'Agent says: Send invoice 118',
        'Mail assistant asks for mail.send on mail:support',
        'The customer asked for it',
      ],
      ...['Sends it as PDF', 'Amount 240 EUR', 'Letter', 'Dear Ada', '"to": "ada@example.com"'],
      ...[
        'max_amount 250',
        'recipients ada@example.com, grace@example.com, bob@example.com',
        'nested.rows 10',
      ],
      ...[
        'Time to act, from the approval 15 min',
        'Times it may act 1',
        'Mails are reviewed',
        'mail:before',
        'denied',
        'The agent asked',
      ],
    ]) {
      expect(text).toContain(part);
    }
    expect(page.cost.trips).toBeLessThanOrEqual(2);
  });

  it('says of every field that restates an argument whether it does, and lists the others first', async () => {
    const { browser, path } = await open('approver', {
      input: { amount: 1000, to: 'attacker', memo: 'Rent' },
      preview: {
        title: 'Pay 10 EUR to supplier-3',
        fields: [
          { label: 'Amount', value: '10', kind: 'money', of: '/amount' },
          { label: 'Memo', value: 'Rent', of: '/memo' },
          { label: 'Payer', value: 'Example Ltd', of: '/payer' },
          { label: 'Note', value: 'Urgent' },
        ],
      },
    });
    const { text } = await browser.get(path);
    const shown = readText(text);
    expect(shown).toContain('10 differs from /amount, which is 1,000');
    expect(shown).toContain('Rent same as /memo');
    expect(shown).toContain('Example Ltd names /payer, which is not an argument');
    expect(shown).toContain('Urgent not compared');
    expect(shown).toMatch(/\/to attacker.*\/amount 1,000.*\/memo Rent.*Nobody checked it/s);
    const top = shown.slice(0, shown.indexOf('What is binding'));
    expect(top).toContain('The agent’s words differ from what is binding.');
    expect(top).toContain('Amount: said 10, binding 1,000 ');
    expect(top).toContain('Payer: said Example Ltd, not an argument');
    expect(top).not.toMatch(/Rent|Urgent/);
    expect(shown.indexOf('What is binding')).toBeLessThan(shown.indexOf('What the agent says'));
    expect(text).not.toMatch(/class="[^"]*good[^"]*compared/);
  });

  it('writes a number everywhere as the reader does, and never a text like a number', async () => {
    const { browser, path } = await open('approver', {
      scope: { amount: 1250 },
      input: { amount: 1250, count: 1250, account: '1250', note: 'Rent, 1250' },
      preview: {
        title: 'Pay',
        fields: [
          { label: 'Amount', value: '12500', kind: 'money', of: '/amount' },
          { label: 'Sum', value: '1250', kind: 'money', of: '/amount' },
          { label: 'Typed', value: '1.250', kind: 'money', of: '/count' },
          { label: 'Account', value: '1250', of: '/account' },
        ],
      },
    });
    const german = await browser.send('GET', path, { headers: { 'Accept-Language': 'de' } });
    const shown = readText(german.text);
    for (const text of [
      'amount 1.250',
      'Amount: said 12.500, binding 1.250',
      'Typed: said "1.250", binding 1.250',
      '/amount 1.250 /count 1.250 /account "1250"',
      '/note Rent, 1250',
      '12.500 differs from /amount, which is 1.250',
      'Sum 1.250 same as /amount',
      'Account "1250" same as /account',
      '"amount": 1250',
    ])
      expect(shown).toContain(text);
    const list = await browser.send('GET', '/console', { headers: { 'Accept-Language': 'de' } });
    expect(readText(list.text)).toContain('agent says: Amount 12.500 agent says: Sum 1.250');
  });

  it('compares nothing with arguments that it does not have', async () => {
    const { browser, path } = await open('approver', {
      input_digest: `sha-256:${'A'.repeat(43)}`,
      preview: { title: 'Pay', fields: [{ label: 'Amount', value: '10', of: '/amount' }] },
    });
    const shown = readText((await browser.get(path)).text);
    expect(shown).toContain('10 not compared with /amount, which nobody has seen');
    expect(shown).not.toContain('differ from what is binding');
  });

  it('shows every number exactly, with its thousands grouped', async () => {
    const { agent, browser } = await open();
    const scope = { amount: 1840.5, change: -1234567, factor: 1e-25, rows: 123 };
    const { id } = await agent.request({ action: 'mail.send', resource: 'mail:a', scope });
    const text = readText((await browser.get(`/console/permissions/${id}`)).text);
    for (const part of ['amount 1,840.5', 'change -1,234,567', 'factor 1e-25', 'rows 123'])
      expect(text).toContain(part);
    // The request has no title: its action and resource are said once.
    expect(text.match(/mail\.send on mail:a/g)).toHaveLength(1);
    expect(text).toContain('Mail assistant asks for');
  });

  it('shows texts of an agent as text, with the characters that one cannot see marked', async () => {
    const evil = '<script>alert(1)</script>"><img src=x onerror=alert(1)> \u202Egnp.exe\u2066';
    const { agent, browser } = await open();
    const { id } = await agent.request({
      ...{
        action: 'mail.send',
        resource: `mail:${asIdentifier(evil)}`,
        reason: evil,
        scope: { [evil]: evil, list: [evil, 'b'] },
      },
      input: { [evil]: evil },
      preview: {
        ...{ title: evil, summary: `${evil}${'W'.repeat(10_000)}` },
        fields: [{ label: evil, value: `javascript:${evil}`, kind: 'url' }],
        blocks: [
          { title: evil, kind: 'diff', text: `+${evil}\n-${evil}` },
          { kind: 'json', text: evil },
        ],
      },
    });
    for (const path of ['/console', `/console/permissions/${id}`]) {
      const { text } = await browser.get(path);
      expect(text).not.toMatch(/<script>alert|<img|onerror=alert\(1\)>[^&]*<\/|\u202e|\u2066/u);
      expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
      expect(text).toContain('U+202E');
      expect(text).not.toMatch(/href="javascript/);
    }
  });

  it('shows its own limits apart from those that the agent named, which are code, each with another label', async () => {
    const scope = {
      ...{ 'Times it may act': 1, 'Time to act, from the approval': '1 minute' },
      ...{ 'payment › max': 5, payment: { max: 500_000 }, 'p\u0430y': 3 },
    };
    const { account, browser, path, id } = await open('approver', {
      scope,
      max_uses: 1_000,
      token_ttl: 604_800,
    });
    const shown = async (page: string) => {
      const { text } = await browser.get(page);
      // The cells of each table of limits, and the labels of the form, with code between grave
      // accents.
      const own = text.replace(/<code[^>]*>(.*?)<\/code>/gs, '`$1`');
      const tables = [
        ...own.matchAll(
          /<section class="table" aria-label="Table: (?:Time|Limits)[^>]*>.*?<\/section>/gs,
        ),
      ];
      const fields = /<div class="limits">.*?<\/details>/s.exec(own)?.[0] ?? '';
      const labels = [
        ...fields.matchAll(/<(label|legend|span(?= class="label"))[^>]*>(.*?)<\/\1>/gs),
      ];
      const plain = (html: string) => readText(html).trim();
      return [
        tables.map(([table]) => plain(table)),
        labels.map(([, , label = '']) => plain(label)),
      ];
    };
    expect(await shown(path)).toEqual([
      [
        'Limits that the agent named Limits that the agent named Requested `"Times it may act"` 1 ' +
          '`"Time to act, from the approval"` 1 minute `"payment › max"` 5 `payment.max` 500,000 ' +
          '`"p\u0430y (mixed scripts: Latin, Cyrillic)"` 3',
        'Time and uses Time and uses Requested Time to act, from the approval 7 days Times it may act 1,000',
      ],
      [
        ...[
          'Time to act',
          'Times it may act',
          'Limits that the agent named',
          '`"Times it may act"`',
        ],
        ...['`"Time to act, from the approval"`', '`"payment › max"`', '`payment.max`'],
        '`"p\u0430y (mixed scripts: Latin, Cyrillic)"`',
      ],
    ]);
    await account.must(200, 'POST', `/v1/permissions/${id}/approve`, {
      scope: { ...scope, '"added"': true },
    });
    const [[granted] = []] = await shown(path);
    expect(granted).toContain('`"\\"added\\""` – true');
  });

  it('marks each word that mixes scripts, wherever an agent or a person wrote it', async () => {
    const { account, agent, browser } = await open();
    const word = 'p\u0430ypal';
    await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { name: `${word} bot` });
    const { id } = await agent.request({
      ...{
        action: 'mail.send',
        resource: `account:${word}/main`,
        scope: { [word]: word },
        reason: word,
      },
      preview: {
        title: `Pay ${word}`,
        summary: word,
        fields: [{ label: word, value: word, kind: 'money' }],
      },
    });
    const mark = `${word} (mixed scripts: Latin, Cyrillic)`;
    for (const path of ['/console', `/console/permissions/${id}`]) {
      const { text } = await browser.get(path);
      const shown = readText(text);
      for (const place of [
        `Pay ${mark}`,
        `${mark} bot`,
        `account:${mark}/main`,
        `"${mark}" ${mark}`,
      ]) {
        expect([path, shown]).toEqual([path, expect.stringContaining(place)]);
      }
      // No text of the page has the word without the mark.
      expect(shown.replaceAll(mark, '')).not.toContain(word);
    }
  });

  it.each([
    ['auditor', 'Your role cannot decide'],
    ['developer', 'Your role cannot decide'],
  ])('offers an %s no decision, and refuses one', async (role, words) => {
    const { browser, path, read } = await open(role);
    const page = await browser.get(path);
    expect(readText(page.text)).toContain(words);
    expect(page.text).not.toContain('value="approve"');
    const answer = await browser.submit(`${path}/decide`, { decision: 'approve' });
    expect([answer.status, readText(answer.text)]).toEqual([
      403,
      expect.stringContaining('an owner or admin of the account can'),
    ]);
    expect((await read()).status).toBe('pending');
  });

  it.each([
    [{ scope: { max: 1 } }, 'If you approve, the agent may do it once, within 15 min.'],
    [{ max_uses: 3, token_ttl: 3_600 }, 'the agent may do it 3 times, within 1 h.'],
    [{ scope: {} }, 'The agent names no other limits'],
    [{ input_digest: `sha-256:${'A'.repeat(43)}` }, 'nobody has seen them'],
  ])('says what an approval of %j does', async (request, part) => {
    const { browser, path } = await open('approver', request);
    expect(readText((await browser.get(path)).text)).toContain(part);
  });

  it('says of a review how many approvals are missing, and that a vote lowered the limits', async () => {
    const { agent, people } = await makeReview({ approvals: 2, roles: ['approver'] }, [
      'approver',
      'approver',
    ]);
    const [ada, grace] = people;
    const { id } = await agent.request({ scope: { amount: 4_800 }, input: { amount: 4_800 } });
    const path = `/console/permissions/${id}`;
    const read = async () => readText((await grace.browser.get(path)).text);
    expect(await read()).toContain('If you approve, it waits for one more approval.');
    const limits = { 'limit-0': '4000', token_ttl: '900', max_uses: '1' };
    await ada.browser.submit(`${path}/decide`, { decision: 'approve', votes: '0', ...limits });
    const after = await read();
    for (const part of [
      'If you approve, the agent may do it once',
      'An earlier vote lowered the limits: only what is proposed can be granted.',
      'The agent wrote them before the limits were lowered',
      'in the console',
    ]) {
      expect(after).toContain(part);
    }
  });

  it('counts no approval of a member who may no longer decide', async () => {
    const world = new World();
    await world.account({ email: 'other@example.com' });
    const { account, agent, people } = await makeReview({ approvals: 2 }, undefined, { world });
    const [ada, grace, katherine] = people;
    const { id } = await agent.request();
    const path = `/console/permissions/${id}`;
    const read = async (address: string) => readText((await grace.browser.get(address)).text);
    const limits = { token_ttl: '900', max_uses: '1' };
    await ada.browser.submit(`${path}/decide`, { decision: 'approve', votes: '0', ...limits });
    expect(await read('/console')).toContain('1 of 2 approvals');
    await account.must(200, 'PUT', `/v1/members/${ada.id}`, { role: 'auditor' });
    expect(await read('/console')).toContain('0 of 2 approvals');
    const card = await read(path);
    expect(card).toContain('Review: 0 of 2 approvals');
    expect(card).toContain('If you approve, it waits for one more approval.');
    expect(card).not.toContain('No other approval is needed');
    const approval = { decision: 'approve', votes: '1', ...limits };
    await grace.browser.submit(`${path}/decide`, approval);
    const waiting = await read(path);
    expect(waiting).toContain('Your approval was taken, 1 of 2. Waiting for 1 more approval.');
    expect(waiting).toContain('Review: 1 of 2 approvals');
    await katherine.browser.submit(`${path}/decide`, { ...approval, votes: '2' });
    const { body } = await account.must(200, 'GET', path.replace('/console', '/v1'));
    expect(body.status).toBe('approved');
  });

  it('says whether a request expired or was withdrawn', async () => {
    const { world, agent, browser, path } = await open('approver', {
      expires_in: 60,
      preview: { title: 'Only a title' },
    });
    const withdrawn = await agent.request({ expires_in: 60 });
    world.advance(1_000);
    await agent.must(200, 'POST', `/v1/permissions/${withdrawn.id}/withdraw`);
    world.advance(59_000);
    // Before and after the sweep has written that the request expired.
    for (const sweep of [() => {}, () => world.sweep()]) {
      await sweep();
      const expired = readText((await browser.get(path)).text);
      expect(expired).toContain('Expired Nobody decided by');
      expect(expired).toContain('Nothing was granted.');
      expect(expired).not.toContain('What the agent says it will do');
      const other = readText((await browser.get(`/console/permissions/${withdrawn.id}`)).text);
      expect(other).toContain('Withdrawn The request was withdrawn on');
    }
  });

  describe('the policies', () => {
    const POLICY = { name: 'Mails', actions: ['mail.*'], resources: ['*'], priority: 5 };
    const NOW = 'No active policy applies to a new request like this.';
    const PERSON = 'so a person decides';

    /** The part of the card about policies, and what stands between it and the other requests. */
    async function readCard({
      browser,
      path,
    }: Pick<Awaited<ReturnType<typeof open>>, 'browser' | 'path'>) {
      const text = readText((await browser.get(path)).text);
      return text.slice(
        text.indexOf('Policies that apply now'),
        text.indexOf('Past decisions on this action'),
      );
    }

    it.each([
      ['approve', 'would decide a new request like this, priority 5'],
      ['review', 'would send a new request like this to its reviewers, priority 5'],
    ])(
      'made after the request (%s) stand beside the decision as what a new request would meet',
      async (effect, words) => {
        const scene = await open();
        expect(await readCard(scene)).toContain(`No active policy applies, ${PERSON}.`);
        await scene.account.must(201, 'POST', '/v1/policies', { ...POLICY, effect });
        const card = await readCard(scene);
        expect(card).toContain(words);
        expect(card).toContain(
          'The policies have changed since this request was made, so it still waits for people.',
        );
      },
    );

    it('name the one that decided a request, and say of the next one what it would meet', async () => {
      const { account, agent, browser } = await open();
      const { body: policy } = await account.must(201, 'POST', '/v1/policies', {
        ...POLICY,
        effect: 'deny',
      });
      const { id } = await agent.request({ action: 'mail.send', resource: 'mail:support' });
      const scene = { browser, path: `/console/permissions/${id}` };
      const denied = await readCard(scene);
      expect(denied).toContain('The policy “Mails” decided this request.');
      expect(denied).toContain('would decide a new request like this');
      expect(denied).not.toContain('waits for people');
      await account.must(200, 'PUT', `/v1/policies/${policy.id}`, {
        ...POLICY,
        effect: 'deny',
        is_active: false,
      });
      expect(await readCard(scene)).toMatch(
        /The policy “Mails” decided this request\. No active policy applies to a new/,
      );
    });

    it('name the one that sent a request to its reviewers', async () => {
      const { agent, people } = await makeReview({ roles: ['approver'] }, ['approver']);
      const [{ browser }] = people;
      const { id } = await agent.request();
      const scene = { browser, path: `/console/permissions/${id}` };
      const waiting = await readCard(scene);
      expect(waiting).toMatch(/The policy “.+” sent this request to its reviewers\./);
      expect(waiting).not.toContain('asked before');
      await browser.submit(`${scene.path}/decide`, { decision: 'deny', votes: '0' });
      expect(await readCard(scene)).toMatch(/The policy “.+” sent this request to its reviewers\./);
    });

    it.each(['approve', 'deny', 'withdraw'])(
      'say nothing of a person after the request has ended (%s)',
      async (way) => {
        const scene = await open();
        if (way === 'withdraw')
          await scene.agent.must(200, 'POST', `/v1/permissions/${scene.id}/withdraw`);
        else await scene.account.must(200, 'POST', `/v1/permissions/${scene.id}/${way}`, {});
        const card = await readCard(scene);
        expect(card).toContain(NOW);
        expect(card).not.toContain(PERSON);
      },
    );
  });

  it('finds no request of another account', async () => {
    const { path } = await open();
    const { browser } = await open();
    for (const answer of [
      await browser.get(path),
      await browser.submit(`${path}/decide`, { decision: 'deny' }),
    ]) {
      expect(answer.status).toBe(404);
    }
  });
});

describe('a decision', () => {
  it('approves as asked, under the member’s name, and the card says so', async () => {
    const { account, browser, id, path, read, member } = await open();
    const answer = await browser.submit(`${path}/decide`, {
      decision: 'approve',
      reason: 'As agreed',
    });
    expect([answer.status, answer.headers.get('Location'), answer.cost.trips]).toEqual([
      303,
      path,
      2,
    ]);
    const permission = await read();
    expect(permission).toMatchObject({
      status: 'approved',
      decided_by: member,
      granted_scope: SCOPE,
      decision_reason: 'As agreed',
    });
    const [entry] = (await account.must(200, 'GET', `/v1/audit?permission_id=${id}`)).body
      .data as Json[];
    expect(entry?.details).toMatchObject({
      decided_by: member,
      decided_via: 'console',
      decision_reason: 'As agreed',
    });
    const text = readText((await browser.get(path)).text);
    expect(text).toMatch(
      /Approved By .*@example\.com, .* “As agreed” Token active: used 0 of 3 times/,
    );
  });

  it('grants the narrower limits that the form says, in the form of the scope', async () => {
    const { browser, path, read } = await open();
    const form = (await browser.get(path)).text;
    expect(form).toMatch(/name="limit-0"[^>]*max="250"/);
    const fields = {
      'limit-0': '100',
      'limit-2-shown': '1',
      'limit-2': ['0', '2'],
      'limit-3': '2',
      max_uses: '1',
      token_ttl: '60',
    };
    await browser.submit(`${path}/decide`, { decision: 'approve', ...fields });
    const permission = await read();
    expect(permission.granted_scope).toEqual({
      ...SCOPE,
      max_amount: 100,
      recipients: ['ada@example.com', 'bob@example.com'],
      nested: { rows: 2 },
    });
    expect(permission.token.max_uses).toBe(1);
    const text = readText((await browser.get(path)).text);
    expect(text).toContain('max_amount 250 100');
    expect(text).toContain('currency EUR the same');
  });

  it.each([
    [
      'a higher number',
      { 'limit-0': '251' },
      'max_amount must be a number of at most the requested 250',
    ],
    [
      'a number that a double rounds',
      { 'limit-0': '0.1000000000000000055' },
      'max_amount would be rounded to 0.1',
    ],
    ['a text', { 'limit-0': 'much' }, 'max_amount must be a number'],
    [
      'an empty list',
      { 'limit-2-shown': '1' },
      'recipients must be a list of some of the requested members',
    ],
    ['more uses', { max_uses: '4' }, 'max_uses must be at most the requested 3'],
    ['no number of uses', { max_uses: '' }, 'max_uses must be a whole number'],
    ['a long reason', { reason: 'x'.repeat(1_001) }, 'reason must be 0 to 1000 characters long'],
    ['another decision', { decision: 'maybe' }, 'decision must be approve or deny'],
    ['half a signature', { assertion: '{}', signed_at: '' }, 'must be'],
  ])('is refused with %s, and the form keeps what was typed', async (_, fields, words) => {
    const { browser, path, read } = await open();
    const answer = await browser.submit(`${path}/decide`, {
      decision: 'approve',
      reason: 'Typed',
      'limit-0': '200',
      ...fields,
    });
    expect([answer.status, readText(answer.text)]).toEqual([400, expect.stringContaining(words)]);
    if (!('reason' in fields)) expect(answer.text).toContain('value="Typed"');
    expect((await read()).status).toBe('pending');
  });

  it('that is refused keeps what was unchecked', async () => {
    const { browser, path } = await open();
    const fields = { 'limit-0': '251', 'limit-2-shown': '1', 'limit-2': ['0'] };
    const { text } = await browser.submit(`${path}/decide`, { decision: 'approve', ...fields });
    const boxes = [...text.matchAll(/<input type="checkbox" name="limit-2"[^>]*>/g)].map(([box]) =>
      box.includes('checked'),
    );
    expect(boxes).toEqual([true, false, false]);
    expect(text).toMatch(/name="limit-0"[^>]*value="251"/);
  });

  it('that comes from a stale page is not taken, and the card says who decided meanwhile', async () => {
    const { account, browser, path, read } = await open();
    const grace = await makeMember(account, 'approver', 'grace@example.com');
    await grace.browser.submit(`${path}/decide`, { decision: 'deny', reason: 'Not today' });
    const answer = await browser.submit(`${path}/decide`, { decision: 'approve' });
    expect(answer.status).toBe(409);
    expect(readText(answer.text)).toMatch(
      /Denied .*Your decision was not taken\. By grace@example\.com, .*“Not today”/,
    );
    expect((await read()).status).toBe('denied');
  });

  it('on an expired request is not taken', async () => {
    const { browser, path, read, world } = await open('approver', { expires_in: 60 });
    world.advance(60_000);
    const answer = await browser.submit(`${path}/decide`, { decision: 'approve' });
    expect([answer.status, readText(answer.text)]).toEqual([
      409,
      expect.stringContaining('Your decision was not taken'),
    ]);
    expect((await read()).status).toBe('expired');
  });

  it('ends with the next request that waits', async () => {
    const { agent, browser, path } = await open();
    const preview = { title: 'Pay 10 EUR' };
    const next = await agent.request({ preview, scope: { amount: 1_000, currency: 'EUR' } });
    await browser.submit(`${path}/decide`, { decision: 'deny' });
    const link = `href="/console/permissions/${next.id}"`;
    expect((await browser.get(path)).text).toContain(link);
    const { text } = await browser.get(path);
    expect(text).toContain(link);
    expect(readText(text)).toContain(`Next: 1,000 EUR · ${next.resource}`);
  });

  it('revokes the token of an approved request', async () => {
    const { account, browser, id, path } = await open();
    await browser.submit(`${path}/decide`, { decision: 'approve' });
    expect((await browser.submit(`${path}/revoke`)).status).toBe(303);
    const [entry] = (await account.must(200, 'GET', `/v1/audit?permission_id=${id}`)).body
      .data as Json[];
    expect([entry?.event_type, entry?.details.decided_via]).toEqual(['revoke', 'console']);
    expect(readText((await browser.get(path)).text)).toContain('Token revoked');
  });
});

it('numbers are written as in the language of the reader', async () => {
  const scope = { amount: 2_000.5, currency: 'EUR' };
  const { browser, path } = await open('approver', { scope });
  const readIn = async (language: string, address: string) =>
    readText(
      (await browser.send('GET', address, { headers: { 'Accept-Language': language } })).text,
    );
  for (const [language, amount] of [
    ['de-DE,de;q=0.9,en;q=0.8', '2.000,5 EUR'],
    ['fr', '2 000,5 EUR'],
    ['en-GB', '2,000.5 EUR'],
  ] as const) {
    const card = await readIn(language, path);
    expect(card).toContain(`${amount} · mail:support`);
    expect(card).toContain(`At most ${amount.replace(' EUR', '')}`);
    expect(await readIn(language, '/console')).toContain(`${amount} · mail:support`);
  }
});

it('takes the time to act in the unit that was chosen', async () => {
  const { browser, path, read } = await open('approver', { token_ttl: 3_600 });
  const page = await browser.get(path);
  expect(page.text).toMatch(/name="token_ttl"[^>]*value="1"/);
  expect(readText(page.text)).toContain('At most 1 hour');
  const decide = (fields: Json) =>
    browser.submit(`${path}/decide`, { decision: 'approve', ...fields });
  const longer = await decide({ token_ttl: '2', token_ttl_unit: 'hour' });
  expect(longer.status).toBe(400);
  expect(longer.text).toMatch(/name="token_ttl"[^>]*value="2"/);
  await decide({ token_ttl: '10', token_ttl_unit: 'minute' });
  const { token, decided_at } = await read();
  expect(Date.parse(token.expires_at) - Date.parse(decided_at)).toBe(600_000);
});

describe('past decisions', () => {
  it('are the newest five of the agent for the action, by the time of the decision', async () => {
    const { account, agent, browser, path } = await open();
    const asked = { action: 'mail.send', resource: 'mail:support' };
    const ask = async (title: string) => {
      const { id } = await agent.request({ ...asked, preview: { title } });
      return id;
    };
    const first = await ask('Asked first, decided last');
    for (let number = 1; number <= 5; number++) {
      const decision = number % 2 === 0 ? 'approve' : 'deny';
      await account.must(
        200,
        'POST',
        `/v1/permissions/${await ask(`Number ${number}`)}/${decision}`,
        {},
      );
      account.world.advance(1_000);
    }
    await account.must(200, 'POST', `/v1/permissions/${first}/approve`, {});
    await ask('Still pending');
    const page = await browser.get(path);
    const text = readText(page.text);
    const part = text.slice(text.indexOf('Past decisions on this action'));
    expect(part.match(/Asked first, decided last|Number \d|Still pending/g)).toEqual([
      'Asked first, decided last',
      ...['Number 5', 'Number 4', 'Number 3', 'Number 2'],
    ]);
    expect(page.cost.trips).toBe(2);
  });
});

describe('a review', () => {
  it('takes no approval from a card that shows other limits than the votes have left', async () => {
    const { account, agent, people } = await makeReview({ approvals: 2 });
    const [ada, grace] = people;
    const { id } = await agent.request({ scope: { to: ['ada@example.com', 'evil@example.com'] } });
    const path = `/console/permissions/${id}`;
    // Grace sees both recipients, and unchecks the second one.
    const fields = {
      decision: 'approve',
      reason: 'Ada only',
      'limit-0-shown': '1',
      'limit-0': '0',
      votes: '0',
    };
    await ada.browser.submit(`${path}/decide`, {
      decision: 'approve',
      'limit-0-shown': '1',
      'limit-0': '1',
    });
    for (const step of ['decide', 'statement']) {
      const refused = await grace.browser.submit(`${path}/${step}`, fields);
      expect([step, refused.status]).toEqual([step, 409]);
      expect(readText(refused.text)).toContain('Somebody voted after you opened the request');
    }
    const { body } = await account.must(200, 'GET', `/v1/permissions/${id}`);
    expect([body.status, body.review.votes.length]).toEqual(['pending', 1]);
  });

  it('collects approvals on the card, and shows the limits that they leave', async () => {
    const { agent, people } = await makeReview({ approvals: 2 });
    const [ada, grace] = people;
    const { id } = await agent.request({ scope: { max: 10 } });
    const path = `/console/permissions/${id}`;
    await ada.browser.submit(`${path}/decide`, {
      decision: 'approve',
      'limit-0': '7',
      reason: 'Seven are enough',
    });
    const own = readText((await ada.browser.get(path)).text);
    expect(own).toContain('You have approved it. It waits for others');
    const other = await grace.browser.get(path);
    expect(readText(other.text)).toMatch(/Review: 1 of 2 approvals .*“Seven are enough”/);
    expect(readText(other.text)).toContain('max 10 7');
    expect(other.text).toMatch(/name="limit-0"[^>]*max="7"/);
    const wide = await grace.browser.submit(`${path}/decide`, {
      decision: 'approve',
      'limit-0': '8',
      votes: '1',
    });
    expect([wide.status, readText(wide.text)]).toEqual([
      400,
      expect.stringContaining('never widen'),
    ]);
    await grace.browser.submit(`${path}/decide`, { decision: 'approve', votes: '1' });
    const done = readText((await ada.browser.get(path)).text);
    expect(done).toContain('Review: 2 of 2 approvals');
    expect(done).toContain(`By ${ada.email} and ${grace.email}, `);
    const list = readText((await ada.browser.get('/console?status=approved')).text);
    expect(list).toContain(`by ${ada.email} and ${grace.email}, `);
    expect(done).toContain('max 10 7');
  });

  it('shows those who may not approve why, and what they can do', async () => {
    const { account, agent, people } = await makeReview({ roles: ['admin'] }, [
      'approver',
      'admin',
    ]);
    const [other, owner] = people;
    await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { owner_id: owner.id });
    const { id } = await agent.request();
    const path = `/console/permissions/${id}`;
    expect(readText((await other.browser.get(path)).text)).toContain('You are not one of them');
    const card = (await owner.browser.get(path)).text;
    expect(readText(card)).toContain('You own this agent, so others approve. You can deny it.');
    expect(card).not.toContain('value="approve"');
    const refused = await other.browser.submit(`${path}/decide`, { decision: 'approve' });
    expect([refused.status, readText(refused.text)]).toEqual([
      403,
      expect.stringContaining('not one of the reviewers'),
    ]);
    expect((await owner.browser.submit(`${path}/decide`, { decision: 'deny' })).status).toBe(303);
  });

  it('lets the owner of the agent deny, also where owners may approve but this one is no reviewer', async () => {
    const world = new World();
    await world.account({ email: 'other@example.com' });
    const rule = { roles: ['admin'], allow_self: true };
    const { account, agent, people } = await makeReview(rule, ['approver', 'admin'], { world });
    const [owner] = people;
    await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { owner_id: owner.id });
    const { id } = await agent.request();
    const path = `/console/permissions/${id}`;
    const card = (await owner.browser.get(path)).text;
    expect(readText(card)).toContain('You can deny it.');
    expect([card.includes('value="approve"'), card.includes('value="deny"')]).toEqual([
      false,
      true,
    ]);
    const refused = await owner.browser.submit(`${path}/decide`, { decision: 'approve' });
    expect(refused.status).toBe(403);
    expect((await owner.browser.submit(`${path}/decide`, { decision: 'deny' })).status).toBe(303);
  });

  it('with signatures takes an approval only with the passkey of the member', async () => {
    const { account, agent, people } = await makeReview({ passkey: true });
    const [ada] = people;
    const { id } = await agent.request({ scope: { max: 10 } });
    const path = `/console/permissions/${id}`;
    expect((await ada.browser.get(path)).text).toContain('Approve with passkey');
    const fields = { decision: 'approve', 'limit-0': '5', reason: 'Signed' };
    const unsigned = await ada.browser.submit(`${path}/decide`, fields);
    expect([unsigned.status, readText(unsigned.text)]).toEqual([
      403,
      expect.stringContaining('have to be signed'),
    ]);
    const { body, cost } = await ada.browser.submit(`${path}/statement`, fields);
    expect(cost.trips).toBeLessThanOrEqual(2);
    const assertion = JSON.stringify(await ada.browser.authenticator.get(body.options));
    const signature = { assertion, signed_at: body.signed_at };
    const other = await ada.browser.submit(`${path}/decide`, {
      ...fields,
      ...signature,
      'limit-0': '6',
    });
    expect([other.status, readText(other.text)]).toEqual([
      400,
      expect.stringContaining('The signature is not accepted'),
    ]);
    expect((await ada.browser.submit(`${path}/decide`, { ...fields, ...signature })).status).toBe(
      303,
    );
    const [entry] = (await account.must(200, 'GET', `/v1/audit?permission_id=${id}`)).body
      .data as Json[];
    expect(entry?.details.votes).toMatchObject([
      { by: ada.id, via: 'console', signed: true, scope: { max: 5 } },
    ]);
  });
});

describe('what was typed', () => {
  const send = async (browser: Json, path: string, fields: Record<string, string>) =>
    browser.send('POST', path, {
      raw: new URLSearchParams(fields).toString(),
      headers: {
        Origin: ORIGIN,
        Accept: 'text/html',
        'Content-Type': 'application/x-www-form-urlencoded',
      },
    });

  it('is shown when the session has ended, but the decision is made anew on the card', async () => {
    const { browser, path, read } = await open();
    const sender = /name="sender" value="([^"]+)"/.exec((await browser.get(path)).text)?.[1] ?? '';
    const fields = {
      decision: 'deny',
      reason: 'Typed with care',
      sender,
      csrf: await browser.csrf(),
    };
    browser.cookie = '';
    const ended = await send(browser, `${path}/decide`, fields);
    await browser.signIn();
    const changed = await send(browser, `${path}/decide`, fields);
    expect([ended.status, changed.status]).toEqual([401, 403]);
    for (const { text } of [ended, changed]) {
      expect(readText(text)).toMatch(
        /What you typed is kept here.*reason Typed with care Open the request and decide/,
      );
      expect(text).toContain(`action="${path}"`);
      expect(text).not.toContain('Send it again');
      expect(text).not.toContain('/decide"');
    }
    expect((await read()).status).toBe('pending');
  });

  it('is shown again on the card with its limits after the sign-in, to the person who typed it', async () => {
    const { account, browser, path, read } = await open();
    const card = (await browser.get(path)).text;
    const sender = /name="sender" value="([^"]+)"/.exec(card)?.[1] ?? '';
    const typed = {
      reason: 'Typed with care',
      token_ttl: '77',
      votes: '0',
      sender,
      csrf: await browser.csrf(),
    };
    browser.cookie = '';
    const ended = await send(browser, `${path}/decide`, {
      ...typed,
      decision: 'approve',
      assertion: '',
      signed_at: '',
    });
    const form = ended.text.slice(ended.text.indexOf('<main'));
    const kept = Object.fromEntries(
      [...form.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(
        ([, name = '', value = '']) => [name, value],
      ),
    );
    expect(kept).toEqual({ ...typed, csrf: '' });
    expect((await send(browser, path, kept)).status).toBe(401);
    await browser.signIn();
    const again = await send(browser, path, kept);
    expect([again.status, again.cost.trips]).toEqual([200, 2]);
    expect(readText(again.text)).toContain('Your session had ended, so nothing was decided.');
    for (const part of [
      'value="Typed with care"',
      'value="77"',
      '<details data-key="edit" id="limits" open',
    ]) {
      expect(again.text).toContain(part);
    }
    const other = await makeMember(account, 'approver');
    const foreign = await send(other.browser, path, kept);
    expect([foreign.status, foreign.text.includes('Typed with care')]).toEqual([200, false]);
    const evil = await browser.send('POST', path, {
      raw: new URLSearchParams(kept).toString(),
      headers: {
        Origin: 'https://evil.example.com',
        'Content-Type': 'application/x-www-form-urlencoded',
      },
    });
    expect(evil.status).toBe(403);
    expect((await read()).status).toBe('pending');
    await account.must(200, 'POST', `${path.replace('/console', '/v1')}/deny`, {});
    const late = readText((await send(browser, path, kept)).text);
    expect(late).toContain(
      'Your session had ended, so nothing was decided. Your decision was not taken.',
    );
  });

  it('is not taken from a page of another site', async () => {
    const { browser, path, read } = await open();
    const raw = new URLSearchParams({ decision: 'approve', csrf: await browser.csrf() }).toString();
    const headers = {
      Origin: 'https://evil.example.com',
      Accept: 'text/html',
      'Content-Type': 'application/x-www-form-urlencoded',
    };
    const answer = await browser.send('POST', `${path}/decide`, { raw, headers });
    expect([answer.status, answer.text.includes('Send it again')]).toEqual([403, false]);
    expect((await read()).status).toBe('pending');
  });
});

import { describe, expect, it } from 'vitest';
import '../support/shards';
import type { Browser } from '../support/browser';
import { readHiddenFields, readLinks, readText } from '../support/html';
import { makeMember, type TestMember } from '../support/members';
import { makeReview, type People } from '../support/reviews';
import { type Json, type TestAccount, World } from '../support/world';

/** An account, not the first one, whose payouts need two of three named people. */
async function open(rule: Json = {}) {
  const world = new World();
  await makeReview({}, ['approver'], { world });
  const scene = await makeReview(
    ([ada, bea, cem]: People) => ({ approvals: 2, members: [ada.id, bea.id], ...named(rule, cem) }),
    ['approver', 'approver', 'approver'],
    { world, name: 'Large <b>payouts' },
  );
  const [ada, bea, cem] = scene.people;
  const owner = await makeMember(scene.account, 'owner');
  return { ...scene, ada, bea, cem, owner, browser: owner.browser };
}

/** A rule that names a third member later. */
function named(rule: Json, { id }: TestMember): Json {
  return rule.escalation ? { escalation: { after: 600, members: [id] } } : rule;
}

const pageOf = (member: TestMember) => `/console/members/${member.id}`;
const ruleOf = async (account: TestAccount, { id }: Json) =>
  (await account.must(200, 'GET', `/v1/policies/${id}`)).body.review;

/** The forms of a member's page that take a reviewer away. */
const FORMS = ['role', 'status', 'remove'] as const;
type GoingForm = (typeof FORMS)[number];

/** Where each form is sent, and the name of its field for who reviews instead. */
const PATHS = { role: '', status: '/status', remove: '/remove' };
const REPLACEMENTS = {
  role: 'change_replacement',
  status: 'status_replacement',
  remove: 'removal_replacement',
};

/** The fields with which a form of a member's page takes the member away from the reviewers. */
function goingOf(html: string, member: TestMember, form: GoingForm): Json {
  const fields = readHiddenFields(html, pageOf(member) + PATHS[form]);
  if (form === 'role') return { ...fields, name: '', role: 'developer' };
  return form === 'remove' ? { ...fields, confirm: member.email } : fields;
}

/** Takes a reviewer away by a form, with somebody else in their place. */
async function replace(browser: Browser, member: TestMember, form: GoingForm, by: string) {
  const { text } = await browser.get(pageOf(member));
  const fields = { ...goingOf(text, member, form), [REPLACEMENTS[form]]: by };
  return browser.submit(pageOf(member) + PATHS[form], fields);
}

describe('a member whom policies need', () => {
  it('has a page that says which policies fall short without them, and who can review instead', async () => {
    const { account, ada, bea, cem, owner, browser, policy } = await open();
    const { body: invited } = await account.must(201, 'POST', '/v1/members', {
      ...{ email: 'dan@example.com', name: 'Dan <i>', role: 'admin' },
    });
    await makeMember(account, 'auditor', 'eve@example.com');
    const page = await browser.get(pageOf(ada));
    expect([page.status, page.cost.trips]).toEqual([200, 2]);
    expect(readText(page.text)).toContain(
      'Without this member, too few reviewers are left in: Large <b>payouts: it needs 2 approvals, and 1 person may review.',
    );
    expect(readLinks(page.text)).toContain(`/console/policies/${policy.id}`);
    const [, select = ''] =
      /<select[^>]*name="removal_replacement"[^>]*>(.*?)<\/select>/s.exec(page.text) ?? [];
    const options = [...select.matchAll(/value="([^"]*)"[^>]*>([^<]*)/g)].map(([, id, name]) => [
      id,
      name,
    ]);
    const expected = [bea, cem, owner].map(({ id, email }) => [id, email]);
    expect(options).toEqual(
      expect.arrayContaining([...expected, [invited.id, 'Dan &lt;i&gt; (invited)']]),
    );
    expect(select).not.toContain(ada.id);
    expect(select).not.toContain('eve@example.com');
    const other = await browser.get(pageOf(cem));
    expect(readText(other.text)).not.toContain('too few reviewers');
    expect(other.text).not.toContain('_replacement"');
  });

  it.each([
    ['role', { role: 'developer', status: 'active' }],
    ['status', { role: 'approver', status: 'suspended' }],
    ['remove', { role: 'approver', status: 'removed' }],
  ] as const)('is replaced in the act that takes them away (%s)', async (form, left) => {
    const { account, ada, bea, cem, browser, policy } = await open();
    const answer = await replace(browser, ada, form, cem.id);
    expect([answer.status, answer.cost.trips]).toEqual([303, 2]);
    const { body: gone } = await account.must(200, 'GET', `/v1/members/${ada.id}`);
    expect(gone).toMatchObject(left);
    expect((await ruleOf(account, policy)).members).toEqual([cem.id, bea.id]);
    const { body } = await account.must(200, 'GET', `/v1/activity?target=${policy.id}`);
    expect(body.data[0]).toMatchObject({ action: 'policy.updated', changes: ['review'] });
    expect(readText((await browser.get('/console/policies')).text)).not.toContain('too few');
  });

  it.each(FORMS)(
    'is replaced in more policies than one statement can record (%s)',
    async (form) => {
      const { account, ada, bea, cem, browser, policy } = await open();
      const { name, actions, resources, effect, review } = policy;
      for (let number = 2; number <= 12; number++) {
        await account.must(201, 'POST', '/v1/policies', {
          ...{ name: `${name} ${number}`, effect, actions, resources, review },
        });
      }
      const answer = await replace(browser, ada, form, cem.id);
      expect([answer.status, answer.cost.trips]).toEqual([303, 2]);
      const { body: policies } = await account.must(200, 'GET', '/v1/policies');
      const reviewers = policies.data.map(({ review }: Json) => review.members);
      expect(reviewers).toEqual(Array(12).fill([cem.id, bea.id]));
      const { body } = await account.must(200, 'GET', '/v1/activity?action=policy.updated');
      const ids = (list: Json[], key: string) => list.map((each) => each[key]).toSorted();
      expect(ids(body.data, 'target')).toEqual(ids(policies.data, 'id'));
    },
  );

  it('stays a reviewer with another role that may decide, and with another name', async () => {
    const { account, ada, cem, browser, policy } = await open();
    for (const change of [{ name: 'Ada' }, { name: 'Ada', role: 'admin' }]) {
      const { text } = await browser.get(pageOf(ada));
      const fields = { ...goingOf(text, ada, 'role'), role: 'approver', ...change };
      const sent = { ...fields, change_replacement: cem.id };
      expect((await browser.submit(pageOf(ada), sent)).status).toBe(303);
      const { body } = await account.must(200, 'GET', `/v1/members/${ada.id}`);
      expect(body).toMatchObject(change);
      expect((await ruleOf(account, policy)).members).toContain(ada.id);
    }
  });

  it('is asked who reviews instead when they give themselves another role', async () => {
    const { world, account, owner, cem, browser } = await open();
    await makeMember(account, 'owner');
    const { body: policy } = await account.must(201, 'POST', '/v1/policies', {
      ...{ name: 'Deploys', effect: 'review', actions: ['deploy.*'], resources: ['*'] },
      review: { members: [owner.id] },
    });
    const page = await browser.get(pageOf(owner));
    expect(readText(page.text)).toContain(
      'Deploys: it needs 1 approval, and nobody is left who may review.',
    );
    expect(page.cost.trips).toBe(2);
    expect((await replace(browser, owner, 'role', cem.id)).status).toBe(303);
    expect((await ruleOf(account, policy)).members).toEqual([cem.id]);
    world.advance(1);
    const developer = await browser.get(pageOf(owner));
    expect(developer.text).not.toContain('change_replacement');
  });

  it('is not asked for in the form of the role of a member who may not decide anyway', async () => {
    const { account, ada, cem, browser, policy } = await open();
    await account.must(200, 'PUT', `/v1/members/${ada.id}`, { role: 'auditor' });
    const page = await browser.get(pageOf(ada));
    expect(page.text).not.toContain('change_replacement');
    expect(page.text).toContain('removal_replacement');
    expect((await replace(browser, ada, 'role', cem.id)).status).toBe(303);
    expect((await ruleOf(account, policy)).members).toContain(ada.id);
  });

  it('is replaced also where they become a reviewer later, and named once', async () => {
    const { account, bea, cem, browser, policy } = await open({ escalation: true });
    const { text } = await browser.get(pageOf(cem));
    expect(readText(text)).toContain('Policies that name this member as a reviewer: Large');
    const fields = { ...goingOf(text, cem, 'remove'), removal_replacement: bea.id };
    expect((await browser.submit(`${pageOf(cem)}/remove`, fields)).status).toBe(303);
    expect((await ruleOf(account, policy)).escalation.members).toEqual([bea.id]);
    const again = { ...goingOf((await browser.get(pageOf(bea))).text, bea, 'remove') };
    const { members } = await ruleOf(account, policy);
    const other = members.find((id: string) => id !== bea.id);
    const sent = await browser.submit(`${pageOf(bea)}/remove`, {
      ...again,
      removal_replacement: other,
    });
    expect([sent.status, readText(sent.text)]).toEqual([
      400,
      expect.stringContaining('leaves “Large <b>payouts” with too few reviewers: it needs 2.'),
    ]);
    expect((await account.must(200, 'GET', `/v1/members/${bea.id}`)).body.status).toBe('active');
  });

  it('can go without a replacement, which leaves a red mark on the policy', async () => {
    const { account, ada, owner, browser, policy } = await open();
    const path = `/console/policies/${policy.id}`;
    const mark = 'too few reviewers';
    expect((await browser.get('/console/policies')).text).not.toContain(mark);
    const fields = goingOf((await browser.get(pageOf(ada))).text, ada, 'remove');
    expect((await browser.submit(`${pageOf(ada)}/remove`, fields)).status).toBe(303);
    const list = await browser.get('/console/policies');
    expect([list.cost.trips, list.text.includes(`<span class="badge bad">${mark}</span>`)]).toEqual(
      [2, true],
    );
    const page = await browser.get(path);
    expect(page.cost.trips).toBe(2);
    expect(readText(page.text)).toContain(`${ada.email} is gone, or may not decide`);
    expect(readText(page.text)).toContain(
      'Too few reviewers: it needs 2 approvals, and 1 person may review. Requests that this policy sends to reviewers wait until they expire.',
    );
    await account.must(200, 'PUT', path.replace('/console', '/v1'), { is_active: false });
    expect((await browser.get('/console/policies')).text).not.toContain(mark);
    expect((await owner.browser.get(path)).text).not.toContain('Too few reviewers');
  });

  it('leaves requests that wait until the escalation, where a policy has one', async () => {
    const { account, ada, bea, browser, policy } = await open({ escalation: true });
    const { text } = await browser.get(pageOf(ada));
    await browser.submit(`${pageOf(ada)}/remove`, goingOf(text, ada, 'remove'));
    const path = `/console/policies/${policy.id}`;
    const page = await browser.get(path);
    const notice = 'Requests that this policy sends to reviewers wait until';
    expect(readText(page.text)).toContain(`${notice} the escalation. Name others`);
    const { name, actions, resources, effect } = policy;
    const other = { name, actions, resources, effect, review: { members: [bea.id] } };
    for (let number = 0; number < 5; number++)
      await account.must(201, 'POST', '/v1/policies', other);
    expect((await browser.get(path)).cost.read).toBe(page.cost.read);
  });

  it('is not said to be gone to a reader who may not know who is a member', async () => {
    const { account, ada, cem, browser, policy } = await open({ escalation: true });
    const { body } = await account.must(201, 'POST', '/v1/me/tokens', {
      scopes: ['policies:read', 'policies:write'],
    });
    await browser.signInWithToken(body.token);
    const page = await browser.get(`/console/policies/${policy.id}`);
    for (const { id } of [ada, cem]) expect(page.text).toContain(`value="${id}" checked`);
    expect(page.text).not.toContain('is gone, or may not decide');
  });

  it('is replaced by nobody of another account, nor by the same member, nor by a token that may not', async () => {
    const { world, account, ada, bea, cem, browser, policy } = await open();
    const stranger = await makeMember(await world.account(), 'approver');
    const fields = goingOf((await browser.get(pageOf(ada))).text, ada, 'remove');
    for (const id of [stranger.id, ada.id, 'nobody', `${cem.id}'`]) {
      const answer = await browser.submit(`${pageOf(ada)}/remove`, {
        ...fields,
        removal_replacement: id,
      });
      expect([id, answer.status]).toEqual([id, 400]);
      expect(answer.text).toMatch(/id="field-removal_replacement-fault">must be/);
    }
    expect((await ruleOf(account, policy)).members).toEqual([ada.id, bea.id]);
    expect((await account.must(200, 'GET', `/v1/members/${ada.id}`)).body.status).toBe('active');
    const { body } = await account.must(201, 'POST', '/v1/me/tokens', {
      scopes: ['account:read', 'account:write', 'policies:read'],
    });
    await browser.signInWithToken(body.token);
    expect((await browser.get(pageOf(ada))).text).not.toContain('_replacement"');
    const refused = await browser.submit(`${pageOf(ada)}/remove`, {
      ...fields,
      removal_replacement: cem.id,
    });
    expect(refused.status).toBe(403);
    expect((await browser.submit(`${pageOf(ada)}/remove`, fields)).status).toBe(303);
    expect((await ruleOf(account, policy)).members).toEqual([ada.id, bea.id]);
  });
});

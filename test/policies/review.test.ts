import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import guide from '../../src/docs/guides/policies.md?raw';
import { idBytes } from '../../src/lib/typeid';
import { makeMember } from '../support/members';
import { approve, makeReview } from '../support/reviews';
import { type Json, World } from '../support/world';

const RULE = { effect: 'review', actions: ['*'], resources: ['*'], name: 'People decide' };
const APPROVAL = { effect: 'approve', actions: ['*'], resources: ['*'], name: 'Fine' };
const UNKNOWN = 'member_01h455vb4pex5vsknk084sn02q';

describe('a review policy', () => {
  it('is created with defaults, shown, changed field by field, and loses its rule with another effect', async () => {
    const account = await new World().account();
    const approver = await makeMember(account, 'approver');
    const { body } = await account.must(201, 'POST', '/v1/policies', RULE);
    expect(body.review).toEqual({
      approvals: 1,
      members: null,
      roles: null,
      allow_self: false,
      passkey: false,
      escalation: null,
    });
    const rule = { members: [approver.id], escalation: { after: 60, roles: ['owner'] } };
    const put = async (fields: Json) =>
      (await account.must(200, 'PUT', `/v1/policies/${body.id}`, fields)).body;
    expect((await put({ review: rule })).review).toEqual({
      approvals: 1,
      members: [approver.id],
      roles: null,
      allow_self: false,
      passkey: false,
      escalation: { after: 60, members: null, roles: ['owner'] },
    });
    expect((await put({ name: 'Other' })).review.members).toEqual([approver.id]);
    expect((await account.must(200, 'GET', `/v1/policies/${body.id}`)).body.review.members).toEqual(
      [approver.id],
    );
    expect((await put({ effect: 'deny' })).review).toBeNull();
    expect((await put({ effect: 'review' })).review.members).toBeNull();
  });

  it.each<[Json, string]>([
    [{ review: { approvals: 0 } }, 'body.review.approvals'],
    [{ review: { approvals: 6 } }, 'body.review.approvals'],
    [{ review: { members: [] } }, 'body.review.members'],
    [{ review: { members: ['user_x'] } }, 'body.review.members.0'],
    [{ review: { roles: ['boss'] } }, 'body.review.roles.0'],
    [{ review: { escalation: { after: 59, roles: ['owner'] } } }, 'body.review.escalation.after'],
    [{ review: { escalation: { after: 60 } } }, 'body.review.escalation'],
    [{ review: { quorum: 2 } }, 'body.review.quorum'],
    [{ effect: 'approve', review: { approvals: 1 } }, 'body.review'],
  ])('is refused with %j', async (fields, path) => {
    const account = await new World().account();
    await makeMember(account, 'approver');
    const { status, body } = await account.call('POST', '/v1/policies', { ...RULE, ...fields });
    expect([status, body.code, body.errors[0].path]).toEqual([400, 'invalid_request', path]);
    expect((await account.must(200, 'GET', '/v1/policies')).body.data).toEqual([]);
  });

  it('is refused when it has fewer reviewers than it demands approvals', async () => {
    const account = await new World().account();
    const [approver, developer] = [
      await makeMember(account, 'approver'),
      await makeMember(account, 'developer'),
    ];
    const escalation = { after: 60, roles: ['owner'] };
    for (const review of [
      { approvals: 2 },
      { approvals: 2, members: [approver.id, approver.id] },
      { approvals: 2, members: [approver.id, developer.id] },
      { roles: ['admin'], escalation },
    ]) {
      const { body } = await account.call('POST', '/v1/policies', { ...RULE, review });
      expect([body.code, body.errors]).toEqual([
        'invalid_request',
        [{ path: 'body.review.approvals', message: 'must be at most the number of reviewers' }],
      ]);
    }
    const { body } = await account.must(201, 'POST', '/v1/policies', RULE);
    const path = `/v1/policies/${body.id}`;
    expect((await account.call('PUT', path, { review: { approvals: 2 } })).status).toBe(400);
    await account.must(200, 'PUT', path, { effect: 'approve' });
    await account.must(204, 'DELETE', `/v1/members/${approver.id}`);
    expect((await account.call('PUT', path, { effect: 'review' })).status).toBe(400);
  });

  it('names active or invited members of the account only', async () => {
    const world = new World();
    const [other, account] = [await world.account(), await world.account()];
    const stranger = await makeMember(other, 'approver');
    const approver = await makeMember(account, 'approver');
    const owner = await makeMember(account, 'owner');
    const gone = await makeMember(account, 'approver');
    const suspended = await makeMember(account, 'approver');
    const invitation = { email: 'new@example.com', role: 'approver' };
    const { body: invited } = await account.must(201, 'POST', '/v1/members', invitation);
    await account.must(204, 'DELETE', `/v1/members/${gone.id}`);
    await account.must(200, 'PUT', `/v1/members/${suspended.id}`, { status: 'suspended' });
    const named = {
      members: [approver.id, invited.id],
      escalation: { after: 60, members: [invited.id, owner.id] },
    };
    const { body: policy } = await account.must(201, 'POST', '/v1/policies', {
      ...RULE,
      review: named,
    });
    const path = `/v1/policies/${policy.id}`;
    for (const id of [stranger.id, gone.id, suspended.id, UNKNOWN]) {
      const escalation = { after: 60, members: [owner.id, id] };
      for (const [review, place] of [
        [{ ...named, members: [approver.id, id] }, 'members'],
        [{ ...named, members: [id] }, 'members'],
        [{ ...named, escalation }, 'escalation.members'],
        [{ roles: ['approver'], escalation }, 'escalation.members'],
      ] as const) {
        const errors = [
          {
            path: `body.review.${place}`,
            message: 'must be active or invited members of this account',
          },
        ];
        const created = await account.call('POST', '/v1/policies', { ...RULE, review });
        expect([created.status, created.body.errors]).toEqual([400, errors]);
        const changed = await account.call('PUT', path, { review });
        expect([changed.status, changed.body.errors]).toEqual([400, errors]);
      }
    }
    expect((await account.must(200, 'GET', '/v1/policies')).body.data).toEqual([policy]);
  });

  it('that names somebody who left can be renamed and switched off, but not on', async () => {
    const world = new World();
    await makeMember(await world.account(), 'approver');
    const account = await world.account();
    const people = await Promise.all(
      ['approver', 'approver', 'owner'].map((role) => makeMember(account, role)),
    );
    const [first, second, owner] = people.map(({ id }) => id);
    const make = async (review: Json) => {
      const { body } = await account.must(201, 'POST', '/v1/policies', { ...RULE, review });
      return `/v1/policies/${body.id}`;
    };
    const paths = [
      await make({ members: [first, second] }),
      await make({ members: [first], escalation: { after: 60, members: [owner, second] } }),
    ];
    await account.must(204, 'DELETE', `/v1/members/${second}`);
    for (const path of paths) {
      await account.must(200, 'PUT', path, { name: 'Renamed', priority: 3, is_active: false });
      await account.must(200, 'PUT', path, { effect: 'review' });
      expect((await account.call('PUT', path, { is_active: true })).status).toBe(400);
      const body = { review: { members: [first] }, is_active: true };
      const { body: mended } = await account.must(200, 'PUT', path, body);
      expect([mended.priority, mended.is_active, mended.name]).toEqual([3, true, 'Renamed']);
    }
  });

  it('may be short later, and can still be renamed and switched off, but not on', async () => {
    const { account, people, policy } = await makeReview({}, ['approver']);
    await account.must(204, 'DELETE', `/v1/members/${people[0].id}`);
    const path = `/v1/policies/${policy.id}`;
    await account.must(200, 'PUT', path, { name: 'Renamed', is_active: false });
    expect((await account.call('PUT', path, { is_active: true })).status).toBe(400);
  });

  it('keeps its rule when its effect changes between reading and writing', async () => {
    const { account, policy } = await makeReview({}, ['approver']);
    const path = `/v1/policies/${policy.id}`;
    const answers = await Promise.all(
      [{ effect: 'deny' }, { review: { allow_self: true } }].map((fields) =>
        account.call('PUT', path, fields),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    const { body } = await account.must(200, 'GET', path);
    expect(body.effect === 'deny' ? body.review : body.review.allow_self).toBe(
      body.effect === 'deny' ? null : true,
    );
  });
});

it('the review policy in the guide is accepted, and every field of its table exists', async () => {
  const account = await new World().account();
  for (let i = 0; i < 2; i++) await makeMember(account, 'approver');
  const section = guide.slice(guide.indexOf('## Send requests to reviewers'));
  const [, policy = ''] = /```json\n([\s\S]+?)```/.exec(section) ?? [];
  const { body } = await account.must(201, 'POST', '/v1/policies', JSON.parse(policy));
  const table = section.slice(
    section.indexOf('| in `review`'),
    section.indexOf('Reviewers are active'),
  );
  const named = [...table.matchAll(/^\| (`.+?) \|/gm)].flatMap(
    ([, cell = '']) => cell.match(/[a-z_]+/g) ?? [],
  );
  expect(named.toSorted()).toEqual(Object.keys(body.review).toSorted());
});

describe('evaluation', () => {
  it('prefers a denial, then priority, then a review to an approval, then age', async () => {
    const { account, agent, policy, world } = await makeReview({}, ['approver']);
    const decision = async () => {
      const body = { action: 'email.send', resource: 'mailbox:support' };
      return (await account.must(200, 'POST', '/v1/policies/simulate', body)).body;
    };
    const approval = (await account.must(201, 'POST', '/v1/policies', APPROVAL)).body;
    expect(await decision()).toMatchObject({
      decision: 'review',
      matched: [policy.id, approval.id],
      exhausted: [],
    });
    await account.must(200, 'PUT', `/v1/policies/${approval.id}`, { priority: 1 });
    expect(await decision()).toMatchObject({ decision: 'approve', policy_id: approval.id });
    world.advance(1);
    await account.must(201, 'POST', '/v1/policies', { ...RULE, priority: 1 });
    expect((await decision()).decision).toBe('review');
    await account.must(201, 'POST', '/v1/policies', { ...APPROVAL, effect: 'deny', priority: -5 });
    expect((await decision()).decision).toBe('deny');
    expect((await agent.request()).status).toBe('denied');
  });

  it('sends to reviewers, and approves nothing, even if the stored rule is lost', async () => {
    const { agent, policy } = await makeReview({ approvals: 2 });
    await env.DB.prepare('update policies set review = null where id = ?')
      .bind(idBytes(policy.id))
      .run();
    expect(await agent.request()).toMatchObject({
      status: 'pending',
      review: { approvals_required: 1 },
    });
  });

  it('sends to reviewers what it cannot judge', async () => {
    const { account, policy } = await makeReview({}, ['approver'], {
      conditions: { amount: { min: 100 } },
    });
    const decide = async (scope: Json) =>
      (
        await account.must(200, 'POST', '/v1/policies/simulate', {
          action: 'a.b',
          resource: 'c:d',
          scope,
        })
      ).body;
    expect((await decide({ amount: 99 })).decision).toBe('pending');
    for (const scope of [{ amount: 100 }, {}, { amount: 'much' }, { amount: 100, other: 1 }]) {
      expect(await decide(scope)).toMatchObject({ decision: 'review', policy_id: policy.id });
    }
  });

  it("simulates with the number of reviewers, without the agent's owner", async () => {
    const { account, agent, people } = await makeReview(
      { approvals: 2, roles: ['approver', 'admin'] },
      ['approver', 'admin', 'approver', 'owner'],
    );
    await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { owner_id: people[1].id });
    const simulate = async (fields: Json) =>
      (
        await account.must(200, 'POST', '/v1/policies/simulate', {
          action: 'a.b',
          resource: 'c:d',
          ...fields,
        })
      ).body;
    expect(await simulate({ agent_id: agent.id })).toMatchObject({
      decision: 'review',
      reviewers: 2,
      approvals: 2,
    });
    expect(await simulate({})).toMatchObject({ reviewers: 3 });
    await account.must(201, 'POST', '/v1/policies', { ...APPROVAL, priority: 1 });
    expect(await simulate({})).not.toHaveProperty('reviewers');
  });

  it('is replayed: what a draft sends to people counts as neither right nor wrong', async () => {
    const { account, agent, people, ...scene } = await makeReview({}, ['approver']);
    const { id } = await agent.request();
    await approve(scene, people[0], id);
    const { body } = await account.must(200, 'POST', '/v1/policies/replay', {
      policy: { ...RULE, name: 'Draft' },
    });
    expect(body).toEqual({
      requests: 1,
      approve: 0,
      deny: 0,
      review: 1,
      undecided: 0,
      agrees: 0,
      disagrees: [],
      complete: true,
    });
  });
});

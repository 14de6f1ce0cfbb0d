import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { idBytes } from '../../../src/lib/typeid';
import { makeMember, makeToken } from '../../support/members';
import { approve, deny, makeReview, type People, refusal } from '../../support/reviews';
import type { Json, TestAccount } from '../../support/world';

async function lastEntry(account: TestAccount): Promise<Json> {
  return (await account.log()).at(-1);
}

describe('a request that a review policy routes', () => {
  it('waits for the reviewers, and shows how it is reviewed', async () => {
    const { agent, account, policy } = await makeReview({ approvals: 2 }, undefined, {
      token_ttl: 300,
      max_uses: 2,
    });
    const { id, status } = await agent.request({ scope: { n: 5 }, max_uses: 9 });
    expect(status).toBe('pending');
    const { body } = await account.must(200, 'GET', `/v1/permissions/${id}`);
    expect(body.review).toEqual({
      policy_id: policy.id,
      approvals_required: 2,
      members: null,
      roles: null,
      passkey: false,
      allow_self: false,
      proposal: { scope: { n: 5 }, token_ttl: 300, max_uses: 2 },
      escalates_at: null,
      escalated_at: null,
      short_of_reviewers: false,
      votes: [],
    });
    const list = await account.must(200, 'GET', '/v1/permissions');
    expect(list.body.data[0].review).toEqual(body.review);
  });

  it('shows its agent only how many have to approve, and how long it may take', async () => {
    const { agent } = await makeReview({ approvals: 2 });
    const seen = { approvals_required: 2, escalates_at: null, short_of_reviewers: false };
    const made = await agent.request({ external_id: 'call-1' });
    expect(made.review).toEqual(seen);
    expect((await agent.must(200, 'GET', `/v1/permissions/${made.id}`)).body.review).toEqual(seen);
    const again = { action: made.action, resource: made.resource, external_id: 'call-1' };
    expect((await agent.must(200, 'POST', '/v1/permissions', again)).body.review).toEqual(seen);
    expect((await agent.must(200, 'GET', '/v1/permissions')).body.data[0].review).toEqual(seen);
    expect(
      (await agent.must(200, 'POST', `/v1/permissions/${made.id}/withdraw`, {})).body.review,
    ).toEqual(seen);
  });

  it('keeps the rule that it was requested under', async () => {
    const scene = await makeReview({ approvals: 2 });
    const { account, agent, people, policy } = scene;
    const { id } = await agent.request();
    await account.must(200, 'PUT', `/v1/policies/${policy.id}`, { review: { approvals: 1 } });
    expect((await approve(scene, people[0], id)).body.status).toBe('pending');
    await account.must(204, 'DELETE', `/v1/policies/${policy.id}`);
    expect((await approve(scene, people[1], id)).body.status).toBe('approved');
  });
});

describe('votes', () => {
  it('approve once as many people as needed have approved, each of whom may narrow the limits', async () => {
    const scene = await makeReview({ approvals: 3 });
    const { account, agent, people, policy, world } = scene;
    const [first, second, third] = people;
    const { id } = await agent.request({
      scope: { n: 9, to: ['a', 'b'] },
      token_ttl: 900,
      max_uses: 5,
    });
    await world.must(200, 'PUT', `/v1/members/${second.id}`, {
      token: account.token,
      body: { name: 'Bo' },
    });
    const one = await approve(scene, first, id, {
      scope: { n: 7, to: ['a', 'b'] },
      reason: 'Seven',
    });
    expect([one.status, one.body.status, one.body.token]).toEqual([200, 'pending', null]);
    expect(one.body.review.proposal).toEqual({
      scope: { n: 7, to: ['a', 'b'] },
      token_ttl: 900,
      max_uses: 5,
    });
    world.advance(1_000);
    const two = await approve(scene, second, id, { max_uses: 2 });
    expect(two.body.review.votes).toMatchObject([
      { by: first.id },
      { by: second.id, name: 'Bo', max_uses: 2 },
    ]);
    expect((await approve(scene, third, id, { scope: { n: 8, to: ['a'] } })).body.code).toBe(
      'scope_widened',
    );
    const three = await approve(scene, third, id, {
      scope: { n: 7, to: ['b'] },
      token_ttl: 60,
      reason: 'Go',
    });
    expect(three.body).toMatchObject({
      status: 'approved',
      granted_scope: { n: 7, to: ['b'] },
      decided_by: third.id,
      decision_reason: 'Go',
      policy_id: null,
      token: { max_uses: 2 },
    });
    const token = (await agent.must(200, 'GET', `/v1/permissions/${id}`)).body.token;
    expect(token.expires_at).toBe('2026-01-31T12:01:01.000Z');
    const entry = await lastEntry(account);
    expect(entry.event_type).toBe('approve');
    expect(entry.details).toEqual({
      action: 'email.send',
      resource: 'mailbox:support',
      scope: { n: 7, to: ['b'] },
      decided_by: third.id,
      decided_via: 'api',
      decision_reason: 'Go',
      policy_id: null,
      input_digest: null,
      preview_digest: null,
      token_id: token.id,
      review_policy_id: policy.id,
      votes: [
        {
          by: first.id,
          decision: 'approve',
          scope: { n: 7, to: ['a', 'b'] },
          token_ttl: 900,
          max_uses: 5,
          reason: 'Seven',
          via: 'api',
          signed: false,
          at: '2026-01-31T12:00:00.001Z',
        },
        {
          by: second.id,
          decision: 'approve',
          token_ttl: 900,
          max_uses: 2,
          reason: null,
          via: 'api',
          signed: false,
          at: '2026-01-31T12:00:01.001Z',
        },
        {
          by: third.id,
          decision: 'approve',
          scope: { n: 7, to: ['b'] },
          token_ttl: 60,
          max_uses: 2,
          reason: 'Go',
          via: 'api',
          signed: false,
          at: '2026-01-31T12:00:01.001Z',
        },
      ],
    });
    const { body } = await account.must(200, 'GET', '/v1/activity?action=permission.voted');
    expect(body.data.map(({ actor, target, changes }: Json) => [actor, target, changes])).toEqual([
      [second.id, id, ['max_uses']],
      [first.id, id, ['scope']],
    ]);
  });

  it('deny at once, also after approvals, also by a person who approved', async () => {
    const scene = await makeReview({ approvals: 3 });
    const { account, agent, people } = scene;
    const { id } = await agent.request({ scope: { n: 1 } });
    await approve(scene, people[0], id, { scope: { n: 0 } });
    const { body } = await deny(scene, people[0], id, { reason: 'On second thought' });
    expect(body).toMatchObject({ status: 'denied', decided_by: people[0].id, granted_scope: null });
    expect(body.review.proposal.scope).toEqual({ n: 0 });
    const { details } = await lastEntry(account);
    expect(details.votes.map(({ decision, scope }: Json) => [decision, scope])).toEqual([
      ['approve', { n: 0 }],
      ['deny', { n: 1 }],
    ]);
    expect(refusal(await approve(scene, people[1], id))).toEqual([409, 'not_pending']);
  });

  it('are refused in the order of the contract', async () => {
    const scene = await makeReview(
      ([named, owner]: People) => ({
        approvals: 2,
        members: [named.id, owner.id],
        passkey: true,
      }),
      ['approver', 'admin', 'approver'],
    );
    const { account, agent, people, world } = scene;
    const [named, owner, other] = people;
    await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { owner_id: owner.id });
    const { id } = await agent.request({ scope: { n: 1 } });
    const wide = { scope: { n: 2 } };
    const missing = 'perm_01h455vb4pex5vsknk084sn02q';
    expect(refusal(await approve(scene, named, missing, wide))).toEqual([404, 'not_found']);
    expect(refusal(await account.call('POST', `/v1/permissions/${id}/approve`, wide))).toEqual([
      403,
      'person_required',
    ]);
    expect(refusal(await account.call('POST', `/v1/permissions/${id}/deny`, {}))).toEqual([
      403,
      'person_required',
    ]);
    expect(refusal(await approve(scene, other, id, wide))).toEqual([403, 'not_a_reviewer']);
    expect(refusal(await deny(scene, other, id))).toEqual([403, 'not_a_reviewer']);
    expect(refusal(await approve(scene, owner, id, wide))).toEqual([403, 'self_approval']);
    expect(refusal(await approve(scene, named, id, wide))).toEqual([403, 'passkey_required']);
    expect((await account.must(200, 'GET', `/v1/permissions/${id}`)).body.review.votes).toEqual([]);
    expect((await deny(scene, owner, id)).body.status).toBe('denied');
    expect(refusal(await approve(scene, other, id, wide))).toEqual([409, 'not_pending']);
    const second = await agent.request();
    world.advance(3_600_000);
    expect(refusal(await approve(scene, named, second.id))).toEqual([409, 'not_pending']);
  });

  it('of the owner are refused, whether the owner at the request or the one now, unless the policy allows it', async () => {
    for (const allow_self of [false, true]) {
      const scene = await makeReview({ allow_self }, ['approver', 'approver']);
      const { account, agent, people } = scene;
      const [before, after] = people;
      await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { owner_id: before.id });
      const { id } = await agent.request();
      await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { owner_id: after.id });
      for (const owner of [before, after].slice(allow_self ? 1 : 0)) {
        const { body } = await approve(scene, owner, id);
        expect(body.code ?? body.status).toBe(allow_self ? 'approved' : 'self_approval');
      }
    }
  });

  it('count once for a person, by whatever credential', async () => {
    const scene = await makeReview({ approvals: 2 }, ['owner', 'approver']);
    const { account, agent, people, world } = scene;
    const { id } = await agent.request();
    await approve(scene, people[0], id);
    const token = await makeToken(account, people[0]);
    const again = await world.call('POST', `/v1/permissions/${id}/approve`, { token, body: {} });
    expect(refusal(again)).toEqual([409, 'already_voted']);
  });

  it('count no longer once the voter is suspended, removed or has a role that cannot decide', async () => {
    const changes: [string, Json | null][] = [
      ['PUT', { status: 'suspended' }],
      ['PUT', { role: 'auditor' }],
      ['DELETE', null],
    ];
    for (const [method, body] of changes) {
      const scene = await makeReview({ approvals: 2 }, ['approver', 'approver', 'approver']);
      const { account, agent, people } = scene;
      const { id } = await agent.request({ scope: { n: 5 } });
      await approve(scene, people[0], id, { scope: { n: 3 } });
      await account.call(method, `/v1/members/${people[0].id}`, body ?? undefined);
      const second = await approve(scene, people[1], id);
      expect(second.body.status).toBe('pending');
      // What a vote has narrowed stays narrow.
      expect(second.body.review.proposal.scope).toEqual({ n: 3 });
      expect((await approve(scene, people[2], id)).body).toMatchObject({
        status: 'approved',
        granted_scope: { n: 3 },
      });
      expect((await lastEntry(account)).details.votes).toHaveLength(3);
    }
  });

  it('of several need people who were active with their role before the request', async () => {
    const scene = await makeReview({ approvals: 2 }, ['approver', 'approver', 'approver', 'owner']);
    const { account, agent, people, world } = scene;
    const [first, second, third] = people;
    const { id } = await agent.request();
    const late = await makeMember(account, 'approver');
    expect(refusal(await approve(scene, late, id))).toEqual([403, 'not_a_reviewer']);
    await approve(scene, first, id);
    world.advance(1);
    const change = (body: Json) => account.must(200, 'PUT', `/v1/members/${first.id}`, body);
    await change({ role: 'developer' });
    await change({ role: 'approver' });
    expect((await approve(scene, second, id)).body.status).toBe('pending');
    expect(refusal(await approve(scene, first, id))).toEqual([403, 'not_a_reviewer']);
    // A change of the name changes nothing.
    await account.must(200, 'PUT', `/v1/members/${third.id}`, { name: 'Cy' });
    expect((await approve(scene, third, id)).body.status).toBe('approved');
  });

  it('of one need only that the voter is a reviewer now', async () => {
    const scene = await makeReview({}, ['approver']);
    const { id } = await scene.agent.request();
    const late = await makeMember(scene.account, 'approver');
    expect((await approve(scene, late, id)).body.status).toBe('approved');
  });

  it('stand in the entry of an expiry or a withdrawal', async () => {
    const scene = await makeReview({ approvals: 2 });
    const { account, agent, people, policy, world } = scene;
    for (const withdraws of [true, false]) {
      const { id, input_digest } = await agent.request({ input: [1] });
      await approve(scene, people[0], id);
      if (withdraws) await agent.must(200, 'POST', `/v1/permissions/${id}/withdraw`, {});
      else {
        world.advance(3_600_000);
        await world.sweep();
      }
      const { event_type, details } = await lastEntry(account);
      expect([event_type, details.expired]).toEqual([
        'expire',
        withdraws ? 'withdrawn' : 'request',
      ]);
      expect(details.votes).toMatchObject([{ by: people[0].id, decision: 'approve' }]);
      expect(details).toMatchObject({
        review_policy_id: policy.id,
        input_digest,
        preview_digest: null,
      });
    }
  });

  it('are erased with their permission', async () => {
    const scene = await makeReview({ approvals: 2 });
    const { account, agent, people, world } = scene;
    const { id } = await agent.request();
    await approve(scene, people[0], id);
    await account.must(204, 'DELETE', `/v1/agents/${agent.id}`);
    await world.sweep();
    const rows = await env.DB.prepare(
      'select (select count(*) from reviews where id = ?1) + (select count(*) from votes where permission = ?1) as n',
    )
      .bind(idBytes(id))
      .first('n');
    expect(rows).toBe(0);
  });
});

describe('reviewers', () => {
  it.each([
    ['members', ([a, b]: People) => ({ approvals: 2, members: [a.id, b.id] }), [0, 1]],
    ['roles', { approvals: 2, roles: ['admin', 'owner'] }, [2, 3]],
    ['both', ([a]: People) => ({ approvals: 2, members: [a.id], roles: ['admin'] }), [0, 2]],
    ['nobody in particular', { approvals: 4 }, [0, 1, 2, 3]],
  ])('are those whom the rule names by %s', async (_, rule: Json, expected) => {
    const scene = await makeReview(rule, [
      'approver',
      'approver',
      'admin',
      'owner',
      'developer',
      'auditor',
    ]);
    const { id } = await scene.agent.request();
    const others = scene.people.filter((_, i) => !expected.includes(i));
    for (const person of others) {
      expect((await approve(scene, person, id)).body.code).toBeOneOf([
        'not_a_reviewer',
        'insufficient_scope',
      ]);
    }
    const reviewers = scene.people.filter((_, i) => expected.includes(i));
    for (const person of reviewers) expect((await approve(scene, person, id)).status).toBe(200);
    expect((await scene.agent.must(200, 'GET', `/v1/permissions/${id}`)).body.status).toBe(
      'approved',
    );
  });

  it('may become too few: then the request says so, and is never approved by fewer', async () => {
    const scene = await makeReview({ approvals: 2 }, ['approver', 'approver']);
    const { account, agent, people, world } = scene;
    const { id } = await agent.request();
    await approve(scene, people[0], id);
    await account.must(204, 'DELETE', `/v1/members/${people[1].id}`);
    const read = async () => (await account.must(200, 'GET', `/v1/permissions/${id}`)).body;
    expect((await read()).review.short_of_reviewers).toBe(true);
    expect((await agent.request()).review.short_of_reviewers).toBe(true);
    world.advance(3_600_000);
    await world.sweep();
    expect(await read()).toMatchObject({
      status: 'expired',
      review: { short_of_reviewers: false },
    });
  });

  it('are more from the escalation on, which is recorded once', async () => {
    const scene = await makeReview(
      ([first, boss]: People) => ({
        members: [first.id],
        escalation: { after: 60, members: [boss.id] },
      }),
      ['approver', 'approver'],
    );
    const { account, agent, people, world } = scene;
    const { id, review } = await agent.request();
    expect(review.escalates_at).toBe('2026-01-31T12:01:00.001Z');
    world.advance(59_999);
    await world.sweep();
    expect(refusal(await approve(scene, people[1], id))).toEqual([403, 'not_a_reviewer']);
    world.advance(1);
    const records = async () =>
      (await account.must(200, 'GET', '/v1/activity?action=permission.escalated')).body.data;
    expect(await records()).toEqual([]);
    await world.sweep();
    await world.sweep();
    expect(await records()).toMatchObject([{ actor: null, target: id, user_agent: 'countersign' }]);
    const { body } = await account.must(200, 'GET', `/v1/permissions/${id}`);
    expect(body.review.escalated_at).toBe('2026-01-31T12:01:00.001Z');
    expect((await approve(scene, people[1], id)).body.status).toBe('approved');
  });

  it('are not escalated to for a request that is decided', async () => {
    const scene = await makeReview(
      { roles: ['admin'], escalation: { after: 60, roles: ['approver'] } },
      ['admin', 'approver'],
    );
    const { account, agent, people, world } = scene;
    const { id } = await agent.request();
    await approve(scene, people[0], id);
    world.advance(60_000);
    await world.sweep();
    expect(
      (await account.must(200, 'GET', '/v1/activity?action=permission.escalated')).body.data,
    ).toEqual([]);
  });
});

describe('the cost', () => {
  it('is two round trips, and 8 rows for a vote and 13 for the approval that decides', async () => {
    const scene = await makeReview({ approvals: 2 });
    const { agent, people } = scene;
    await approve(scene, people[2], (await agent.request()).id);
    const { id } = await agent.request({ scope: { n: 2 } });
    const { cost: vote } = await approve(scene, people[0], id, { scope: { n: 1 } });
    const { cost: last } = await approve(scene, people[1], id, { scope: { n: 0 } });
    expect([vote.trips, last.trips]).toEqual([2, 2]);
    expect([vote.written, last.written]).toEqual([8, 13]);
  });
});

import { describe, expect, it } from 'vitest';
import { approve, deny, makeReview, type ReviewScene, refusal, sign } from '../../support/reviews';
import type { Json } from '../../support/world';

const SERIES = { requests: 5, expires_in: 600, varies: ['n'] };
const ACT = { scope: { n: 9, to: 'a' }, series: SERIES };
const NARROWER = { requests: 3, expires_in: 300, varies: [] };

async function proposalOf({ account }: ReviewScene, id: string): Promise<Json> {
  return (await account.must(200, 'GET', `/v1/permissions/${id}`)).body.review.proposal;
}

async function statuses({ agent }: ReviewScene, times: number, scope: Json): Promise<string[]> {
  const found: string[] = [];
  for (let n = 0; n < times; n++) found.push((await agent.request({ scope })).status);
  return found;
}

describe('in a review with two approvals a series', () => {
  it('is what both votes give: the second may narrow it', async () => {
    const scene = await makeReview({ approvals: 2 });
    const { people, agent, account } = scene;
    const { id, review } = await agent.request(ACT);
    expect(review).not.toHaveProperty('proposal');
    expect(await proposalOf(scene, id)).toMatchObject({ series: SERIES });
    const first = await approve(scene, people[0], id, { series: SERIES });
    expect(first.body).toMatchObject({ status: 'pending', granted_series: null });
    expect(await proposalOf(scene, id)).toMatchObject({ series: SERIES });
    expect(await statuses(scene, 1, ACT.scope)).toEqual(['pending']);
    const { body } = await approve(scene, people[1], id, { series: NARROWER });
    expect(body).toMatchObject({ status: 'approved', granted_series: NARROWER });
    expect(body.review.votes).toMatchObject([{ series: SERIES }, { series: NARROWER }]);
    expect(await statuses(scene, 3, ACT.scope)).toEqual(['approved', 'approved', 'pending']);
    const log = await account.log('&event_type=approve');
    expect(log[0]?.details).toMatchObject({
      granted_series: NARROWER,
      votes: [{ series: SERIES }, { series: NARROWER }],
    });
    const given_by = [people[0].id, people[1].id];
    expect(log[1]?.details.series).toEqual({ permission_id: id, given_by });
  });

  it('is dropped for good by a vote that gives none', async () => {
    const scene = await makeReview({ approvals: 2 });
    const { people, agent, account } = scene;
    const { id } = await agent.request(ACT);
    const first = await approve(scene, people[0], id);
    expect(first.body.review.votes[0]).not.toHaveProperty('series');
    expect(await proposalOf(scene, id)).toMatchObject({ series: null });
    const wider = await approve(scene, people[1], id, { series: NARROWER });
    expect(refusal(wider)).toEqual([400, 'scope_widened']);
    const { body } = await approve(scene, people[1], id);
    expect(body).toMatchObject({ status: 'approved', granted_series: null });
    expect(await statuses(scene, 1, ACT.scope)).toEqual(['pending']);
    const { body: records } = await account.must(
      200,
      'GET',
      '/v1/activity?action=permission.voted',
    );
    expect(records.data[0].changes).toEqual(['series']);
  });

  it('is dropped by the second vote', async () => {
    const scene = await makeReview({ approvals: 2 });
    const { id } = await scene.agent.request(ACT);
    await approve(scene, scene.people[0], id, { series: SERIES });
    const { body } = await approve(scene, scene.people[1], id);
    expect(body).toMatchObject({ status: 'approved', granted_series: null });
    expect(await statuses(scene, 1, ACT.scope)).toEqual(['pending']);
  });

  it('does not outlive the role of either of them', async () => {
    for (const giver of [0, 1] as const) {
      const scene = await makeReview({ approvals: 2 });
      const { people, account } = scene;
      const { id } = await scene.agent.request(ACT);
      await approve(scene, people[0], id, { series: SERIES });
      await approve(scene, people[1], id, { series: SERIES });
      expect(await statuses(scene, 1, ACT.scope)).toEqual(['approved']);
      await account.must(200, 'PUT', `/v1/members/${people[giver].id}`, { role: 'admin' });
      expect(await statuses(scene, 1, ACT.scope)).toEqual(['pending']);
    }
  });

  it('counts only those whose approval counts', async () => {
    const scene = await makeReview({ approvals: 2 });
    const { people, account, agent } = scene;
    const { id } = await agent.request(ACT);
    await approve(scene, people[0], id, { series: SERIES });
    await account.must(200, 'PUT', `/v1/members/${people[0].id}`, { status: 'suspended' });
    await approve(scene, people[1], id, { series: SERIES });
    const { body } = await approve(scene, people[2], id, { series: SERIES });
    expect(body.status).toBe('approved');
    expect(await statuses(scene, 1, ACT.scope)).toEqual(['approved']);
    const [, entry] = await account.log('&event_type=approve');
    expect(entry?.details.series.given_by).toEqual([people[1].id, people[2].id]);
  });

  it('is not given by a denial', async () => {
    const scene = await makeReview();
    const { id } = await scene.agent.request(ACT);
    const answer = await deny(scene, scene.people[0], id, { series: SERIES });
    expect(refusal(answer)).toEqual([400, 'invalid_request']);
    await deny(scene, scene.people[0], id);
    expect(await statuses(scene, 1, ACT.scope)).toEqual(['pending']);
  });
});

describe('a signed decision', () => {
  const statementOf = async (scene: ReviewScene, id: string, decision: Json) =>
    (
      await scene.world.must(200, 'POST', `/v1/permissions/${id}/statement`, {
        token: scene.people[0].token,
        body: decision,
      })
    ).body.statement;

  it('holds the series only where it is given', async () => {
    const scene = await makeReview({ passkey: true });
    const { people, agent, account } = scene;
    const { id } = await agent.request(ACT);
    const without = await statementOf(scene, id, { decision: 'approve' });
    expect(without).not.toHaveProperty('series');
    expect(await statementOf(scene, id, { decision: 'deny' })).not.toHaveProperty('series');
    const giving = { decision: 'approve', series: NARROWER };
    expect(await statementOf(scene, id, giving)).toEqual({ ...without, series: NARROWER });
    const signed = await sign(scene, people[0], id, giving);
    const { series: _, ...withoutSeries } = signed;
    expect(refusal(await approve(scene, people[0], id, withoutSeries))).toEqual([
      400,
      'invalid_assertion',
    ]);
    const longer = { ...signed, series: SERIES };
    expect(refusal(await approve(scene, people[0], id, longer))).toEqual([
      400,
      'invalid_assertion',
    ]);
    expect((await approve(scene, people[0], id, signed)).status).toBe(200);
    expect(await statuses(scene, 3, ACT.scope)).toEqual(['approved', 'approved', 'pending']);
    const [entry] = await account.log('&event_type=approve');
    expect(entry?.details.votes[0]).toMatchObject({ series: NARROWER, signed: true });
  });

  it('without a series gives none', async () => {
    const scene = await makeReview();
    const { people, agent } = scene;
    const { id } = await agent.request(ACT);
    const signed = await sign(scene, people[0], id, { decision: 'approve' });
    const widened = { ...signed, series: NARROWER };
    expect(refusal(await approve(scene, people[0], id, widened))).toEqual([
      400,
      'invalid_assertion',
    ]);
    expect((await approve(scene, people[0], id, signed)).body.granted_series).toBeNull();
  });
});

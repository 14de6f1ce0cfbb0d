import { describe, expect, it } from 'vitest';
import { readText } from '../support/html';
import { makeReview } from '../support/reviews';
import { ACT, giveSeries, makeSeriesScene, SERIES, statusOf } from '../support/series';
import type { Json } from '../support/world';

const NOBODY = 'Nobody sees their arguments first.';

describe('the decision card', () => {
  it('offers the series that is asked for, in one sentence', async () => {
    const { agent, ada } = await makeSeriesScene();
    const { id } = await agent.request({ ...ACT, series: SERIES });
    const page = await ada.browser.get(`/console/permissions/${id}`);
    const text = readText(page.text);
    expect(text).toContain(
      'Approve this, and the next 3 requests by this agent for refund.create on shop:main, ' +
        'with max_amount of at most 200 and currency EUR each, until',
    );
    expect(text).toContain(NOBODY);
    expect(page.cost.trips).toBeLessThanOrEqual(2);
    const other = await agent.request(ACT);
    const plain = await ada.browser.get(`/console/permissions/${other.id}`);
    expect(readText(plain.text)).not.toContain('series');
  });

  it('and every page that shows one write numbers as in the language of the reader', async () => {
    const scene = await makeSeriesScene();
    const { agent, ada, account } = scene;
    const read = async (path: string) => {
      const headers = { 'Accept-Language': 'de' };
      return readText((await ada.browser.send('GET', path, { headers })).text);
    };
    const large = { ...SERIES, requests: 1_000 };
    const { id: first } = await giveSeries(scene, large);
    const card = `/console/permissions/${first}`;
    expect(await read(card)).toContain('It gave a series: 1 of 1.000 requests approved');
    expect(await read('/console')).toContain('1 of 1.000 approved');
    const asked = await agent.request({ ...ACT, resource: 'shop:new', series: large });
    const offer = await read(`/console/permissions/${asked.id}`);
    expect(offer).toContain('At most 1.000');
    expect(offer).toContain('the next 999 requests');
    const { data } = (await account.must(200, 'GET', `/v1/audit?permission_id=${first}`)).body;
    const approval = data.find(({ event_type }: Json) => event_type === 'approve');
    expect(await read(`/console/audit/${approval.id}`)).toContain('1.000 requests in');
  });

  it('gives it only if its box is checked, and no more of it than the form says', async () => {
    const { agent, ada, account } = await makeSeriesScene();
    const fields = { series_requests: '3', series_expires_in: '600', 'series_varies-shown': '1' };
    for (const [form, granted] of [
      [fields, null],
      [
        { ...fields, series: 'on' },
        { requests: 3, expires_in: 600, varies: [] },
      ],
      [{ series: 'on' }, SERIES],
      [
        { ...fields, series: 'on', series_varies: '0' },
        { ...SERIES, requests: 3, expires_in: 600 },
      ],
    ] as const) {
      const { id } = await agent.request({ ...ACT, resource: 'shop:new', series: SERIES });
      const path = `/console/permissions/${id}`;
      const sent = { votes: '0', decision: 'approve', ...form };
      expect((await ada.browser.submit(`${path}/decide`, sent)).status).toBe(303);
      const { body } = await account.must(200, 'GET', `/v1/permissions/${id}`);
      expect(body.granted_series).toEqual(granted);
      await account.call('DELETE', `/v1/permissions/${id}/series`);
    }
  });

  it('says what is wrong with it, and keeps what was typed', async () => {
    const { agent, ada } = await makeSeriesScene();
    const { id } = await agent.request({ ...ACT, series: SERIES });
    const sent = { votes: '0', decision: 'approve', series: 'on', series_requests: '9' };
    const page = await ada.browser.submit(`/console/permissions/${id}/decide`, sent);
    expect(page.status).toBe(400);
    expect(readText(page.text)).toContain('series.requests must be at most the requested 4');
    expect(page.text).toMatch(/name="series_requests"[^>]*value="9"/);
    expect(page.text).toMatch(/name="series" value="on" checked/);
  });

  it('says that an earlier vote dropped it, and that a token of the account gives none', async () => {
    const scene = await makeReview({ approvals: 2 });
    const { agent, people, account } = scene;
    const { id } = await agent.request({
      scope: { max_amount: 200, currency: 'EUR' },
      series: SERIES,
    });
    const path = `/console/permissions/${id}`;
    const before = readText((await people[1].browser.get(path)).text);
    expect(before).toContain('for 1 h from the last approval');
    await scene.world.must(200, 'POST', `/v1/permissions/${id}/approve`, {
      token: people[0].token,
      body: {},
    });
    const after = readText((await people[1].browser.get(path)).text);
    expect(after).toContain('an earlier vote gave none');
    expect(after).not.toContain(NOBODY);
    const other = await makeSeriesScene();
    const asked = await other.agent.request({ ...ACT, series: SERIES });
    await other.ada.browser.signInWithToken(other.account.token);
    const shown = await other.ada.browser.get(`/console/permissions/${asked.id}`);
    expect(readText(shown.text)).toContain('which only a member can give');
    expect(account.id).not.toBe(other.account.id);
  });

  it('of its first and its later requests leads to the series', async () => {
    const scene = await makeSeriesScene();
    const { agent, ada } = scene;
    const first = await giveSeries(scene);
    const second = await agent.request(ACT);
    const shown = async (id: string) =>
      readText((await ada.browser.get(`/console/permissions/${id}`)).text);
    expect(await shown(first.id)).toContain('It gave a series: 2 of 4 requests approved, until');
    expect(await shown(second.id)).toMatch(
      /Approved by a series \( ?its first request ?\), which .* gave/,
    );
  });
});

describe('live series', () => {
  it('are listed in the inbox and on the page of their agent, and ended by one press', async () => {
    const scene = await makeSeriesScene();
    const { agent, account, ada } = scene;
    const { id } = await giveSeries(scene);
    await statusOf(agent);
    const other = { ...scene, agent: await account.agent({ name: 'Other' }) };
    await giveSeries(other, SERIES, { resource: 'shop:other' });
    const inbox = await ada.browser.get('/console');
    const text = readText(inbox.text);
    expect(text).toContain('Mailer: approves the next 2 requests by this agent for refund.create');
    expect(text).toContain('2 of 4 approved');
    expect(text).toContain('shop:other');
    expect(inbox.cost.trips).toBeLessThanOrEqual(2);
    const page = await ada.browser.get(`/console/agents/${agent.id}`);
    expect(readText(page.text)).toContain('Approves the next 2 requests');
    expect(readText(page.text)).not.toContain('shop:other');
    expect(page.cost.trips).toBeLessThanOrEqual(2);
    const end = () =>
      ada.browser.submit(`/console/permissions/${id}/series/end`, {
        from: `/console/agents/${agent.id}`,
      });
    for (let n = 0; n < 2; n++) {
      const { status, headers } = await end();
      expect([status, headers.get('Location')]).toEqual([303, `/console/agents/${agent.id}`]);
    }
    expect(await statusOf(agent)).toBe('pending');
    const after = await ada.browser.get(`/console/agents/${agent.id}`);
    expect(readText(after.text)).not.toContain('Live series');
  });

  it('are shown without a button to who may not decide', async () => {
    const scene = await makeSeriesScene();
    await giveSeries(scene);
    const { browser } = scene.owners[0] ?? scene.ada;
    const page = await browser.get('/console');
    expect(readText(page.text)).toContain('Live series');
    expect(page.text).not.toContain('/series/end');
  });
});

import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { depth } from '../support/depth';
import { ALWAYS, download, sha256 } from '../support/exports';
import {
  makeReport,
  openReport,
  PERIOD,
  REPORTS,
  readReport,
  startReport,
} from '../support/reports';
import { approve, makeReview } from '../support/reviews';
import { type Json, World } from '../support/world';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 86_400_000;

async function makeAccount(fields: Json = { plan: 'enterprise' }) {
  const world = new World();
  const account = await world.account(fields);
  return { world, account, agent: await account.agent() };
}

describe('a report', () => {
  it('is processing, then completed with a download link, size and digest', async () => {
    const { account, agent, world } = await makeAccount();
    await agent.request();
    const asked = { report_type: 'hipaa', period: PERIOD, format: 'json' };
    const created = await account.must(202, 'POST', REPORTS, asked);
    const id = created.body.report_id;
    const common = { report_id: id, ...asked, error: null, created_at: '2026-01-31T12:00:00.000Z' };
    const processing = { ...common, status: 'processing', download_url: null, expires_at: null };
    expect(id).toMatch(/^report_[0-9a-z]{26}$/);
    expect(created.body).toEqual(processing);
    expect(created.cost.trips).toBeLessThanOrEqual(2);
    expect(await readReport(account, id)).toEqual(processing);
    world.advance(5 * SECOND);
    await world.work();
    const shown = await readReport(account, id);
    const { bytes, headers } = await download(world, shown.download_url);
    expect(shown).toEqual({
      ...common,
      status: 'completed',
      download_url: expect.stringContaining(`https://countersign.test/v1/downloads/${id}?`),
      expires_at: '2026-02-01T12:00:05.000Z',
      file_size_bytes: bytes.length,
      sha256: await sha256(bytes),
      completed_at: '2026-01-31T12:00:05.000Z',
    });
    expect(headers.get('Content-Type')).toBe('application/json');
    expect(headers.get('Content-Disposition')).toBe(`attachment; filename="${id}.json"`);
    const { body } = await account.must(200, 'GET', `/v1/activity?target=${id}`);
    expect(body.data.map(({ action }: Json) => action)).toEqual([
      'report.downloaded',
      'report.requested',
    ]);
  });

  it('is a PDF by default', async () => {
    const { account } = await makeAccount();
    const { body } = await account.must(202, 'POST', REPORTS, {
      report_type: 'gdpr',
      period: PERIOD,
    });
    expect(body.format).toBe('pdf');
  });

  it('names its framework, account, period and time', async () => {
    const { account, world } = await makeAccount({ plan: 'enterprise', name: 'Ακμή 株式会社' });
    world.advance(MINUTE);
    const report = await makeReport(account);
    expect(report).toMatchObject({
      report_type: 'soc2_type2',
      framework: expect.stringContaining('SOC 2'),
      account: { id: account.id, name: 'Ακμή 株式会社', plan: 'enterprise' },
      period: PERIOD,
      generated_at: '2026-01-31T12:01:00.000Z',
      statement: expect.stringContaining('evidence, not attestation'),
    });
  });

  it('has all its parts even if the account has no entries', async () => {
    const account = await new World().account({ plan: 'enterprise' });
    const report = await makeReport(account);
    expect(report.summary).toMatchObject({ entries: 0, agents: 0, requests: 0 });
    expect([report.agents, report.deciders, report.exceptions, report.sample]).toEqual([
      [],
      [],
      [],
      [],
    ]);
    expect(report.months).toHaveLength(1);
    expect(report.controls).toHaveLength(6);
    expect(report.scope.join()).toContain('held no entry of the period');
    const design = await makeReport(account, { report_type: 'soc2_type1' });
    expect(JSON.stringify(design.controls)).not.toContain('To illustrate');
  });
});

describe('the controls of a framework', () => {
  it.each([
    ['soc2_type1', ['CC6.1', 'CC6.2', 'CC6.3', 'CC6.6', 'CC7.2', 'CC7.3'], 'design'],
    ['soc2_type2', ['CC6.1', 'CC6.2', 'CC6.3', 'CC6.6', 'CC7.2', 'CC7.3'], 'throughout the period'],
    ['iso27001', ['A.5.3', 'A.5.15', 'A.5.16', 'A.5.17', 'A.5.18', 'A.8.2', 'A.8.15'], ''],
    ['hipaa', ['164.308(a)(4)', '164.312(a)', '164.312(b)'], ''],
    ['gdpr', ['Art. 30', 'Art. 32'], ''],
    ['eu_ai_act', ['Art. 12', 'Art. 14', 'Art. 26'], ''],
  ])(
    'are listed in a %s report, each with evidence from entries that exist',
    async (report_type, ids, words) => {
      const { account, agent } = await makeAccount();
      for (let i = 0; i < 7; i++) await agent.approved();
      const { controls, statement } = await makeReport(account, { report_type });
      expect(controls.map(({ id }: Json) => id)).toEqual(ids);
      expect(statement).toContain('evidence, not attestation');
      expect(statement).toContain(words);
      const log = await account.log();
      const known = new Set(log.map(({ id }) => id));
      for (const { title, evidence, not_covered } of controls) {
        expect([title.length > 6, evidence.length > 1, not_covered.length > 50]).toEqual([
          true,
          true,
          true,
        ]);
        for (const { text, entries, entry_ids } of evidence) {
          expect(text).toMatch(/^[A-Z0-9].+\.$/);
          expect(text).not.toMatch(/undefined|NaN|null/);
          expect(entry_ids.every((id: string) => known.has(id))).toBe(true);
          expect(entry_ids.length).toBeLessThanOrEqual(entries);
        }
      }
      const proven = controls
        .flatMap(({ evidence }: Json) => evidence)
        .filter(({ entry_ids }: Json) => entry_ids.length);
      expect(proven.length).toBeGreaterThan(0);
    },
  );

  it('cite the first five entries of a finding, in the order of the log', async () => {
    const { account, agent, world } = await makeAccount();
    const policy = { name: 'Auto', effect: 'approve', actions: ['auto.*'], resources: ['*'] };
    await account.must(201, 'POST', '/v1/policies', policy);
    for (let i = 0; i < 8; i++) {
      if (i % 2 === 0) await agent.approved();
      else await agent.request({ action: 'auto.run' });
      world.advance(SECOND);
    }
    const { controls } = await makeReport(account);
    const approvals = (await account.log('&event_type=approve')).map(({ id }) => id);
    const found = controls
      .flatMap(({ evidence }: Json) => evidence)
      .find(({ text }: Json) => /approved: 4 by people, 4 by policies/.test(text));
    expect(found).toMatchObject({ entries: 8, entry_ids: approvals.slice(0, 5) });
  });
});

describe('a finding', () => {
  const sentences = ({ controls }: Json): string =>
    controls.flatMap(({ evidence }: Json) => evidence.map(({ text }: Json) => text)).join('\n');

  it('counts only agents with a request in the period as requesting agents', async () => {
    const { account, agent, world } = await makeAccount();
    const other = await account.agent();
    const { id } = await other.request({ expires_in: 604_800 });
    world.advance(DAY);
    await agent.request();
    await account.must(200, 'POST', `/v1/permissions/${id}/deny`);
    const report = await makeReport(account, {
      period: { start: '2026-02-01', end: '2026-02-01' },
    });
    expect(report.summary).toMatchObject({ requests: 1, denied: 1, agents: 2 });
    expect(sentences(report)).toContain('1 request of 1 agent was recorded');
  });

  it('about sequence numbers cites an entry even if the period has no requests', async () => {
    const { account, agent, world } = await makeAccount();
    const { id } = await agent.request({ expires_in: 604_800 });
    world.advance(DAY);
    await account.must(200, 'POST', `/v1/permissions/${id}/deny`);
    const { controls } = await makeReport(account, {
      period: { start: '2026-02-01', end: '2026-02-01' },
    });
    const numbering = controls
      .flatMap(({ evidence }: Json) => evidence)
      .find(({ text }: Json) => text.startsWith('Entries are numbered'));
    const [denial] = await account.log('&event_type=deny');
    expect(numbering).toMatchObject({ entries: 1, entry_ids: [denial.id] });
  });

  it('claims nothing about keys, tokens and people that the service does not guarantee', async () => {
    const { account, agent } = await makeAccount();
    await agent.approved();
    for (const report_type of ['soc2_type2', 'eu_ai_act']) {
      const text = sentences(await makeReport(account, { report_type }));
      expect(text).toContain('that checks only the signature and the expiry does not see them');
      expect(text).not.toMatch(/hash alone|no standing permission|People took|could not be used/);
    }
    expect(sentences(await makeReport(account))).toContain('a hash and the first 12 characters');
    const { statement } = await makeReport(account, {
      report_type: 'soc2_type1',
      period: { start: '2026-01-01', end: '2026-01-02' },
    });
    expect(statement).toContain('agents and policies as they stood when the report was made');
  });
});

describe('the entries that a report covers', () => {
  it('are those in the log at the time of the request', async () => {
    const { account, agent, world } = await makeAccount();
    const { id: permission } = await agent.request();
    const id = await startReport(account);
    await account.must(200, 'POST', `/v1/permissions/${permission}/approve`);
    await agent.request();
    await world.work();
    expect((await openReport(account, id)).summary).toMatchObject({ entries: 1, approved: 0 });
    expect((await makeReport(account)).summary).toMatchObject({ entries: 3, approved: 1 });
  });

  it('are those of the tree whose root it states', async () => {
    const { account, agent, world } = await makeAccount();
    await agent.request();
    await agent.request();
    const id = await startReport(account);
    await agent.request();
    await world.work();
    const { integrity, method } = await openReport(account, id);
    const { body } = await account.must(200, 'GET', '/v1/audit/consistency?from=2&to=3');
    expect(integrity).toEqual({ tree_size: 2, root_hash: body.from_root_hash });
    expect(method.at(-1)).toContain(integrity.root_hash);
  });

  it.runIf(depth.isDeep)(
    'have no tree if the log cannot be sealed, and the report says so',
    async () => {
      const { account, agent, world } = await makeAccount();
      await agent.request();
      await world.sweep();
      // The log now differs from the one that was signed.
      await env.DB.prepare("update audit_entries set ip_address = '10.0.0.1'").run();
      await env.DB.prepare(
        "update trees set size = 0, root = null, frontier = x'', published_size = 0",
      ).run();
      const { integrity, method } = await makeReport(account);
      expect([integrity, method.at(-1)]).toEqual([
        null,
        expect.stringContaining('could not be sealed'),
      ]);
    },
  );

  it('are those of the days of its period, including the first and the last', async () => {
    const { account, agent, world } = await makeAccount();
    for (let i = 0; i < 8; i++) {
      await agent.request();
      world.advance(DAY / 4);
    }
    const counts = [];
    for (const [start, end] of [
      ['2026-01-31', '2026-01-31'],
      ['2026-02-01', '2026-02-01'],
      ['2026-02-01', '2026-02-02'],
      ['2025-12-01', '2026-01-30'],
      ['2025-12-01', '2026-02-02'],
    ]) {
      counts.push((await makeReport(account, { period: { start, end } })).summary.entries);
    }
    expect(counts).toEqual([2, 4, 6, 0, 8]);
  });

  it('exclude entries older than the retention, and the report says so', async () => {
    const { account, agent, world } = await makeAccount({
      plan: 'enterprise',
      audit_retention_days: 7,
    });
    await agent.request();
    world.advance(DAY);
    await agent.request();
    world.advance(6 * DAY);
    const period = { start: '2026-01-01', end: '2026-02-07' };
    const id = await startReport(account, { period });
    world.advance(2 * DAY);
    await world.work();
    const kept = await openReport(account, id);
    expect(kept.summary.entries).toBe(2);
    expect(kept.scope.join()).toContain(
      'Entries before 2026-01-31T12:00:00.000Z are no longer kept',
    );
    expect((await makeReport(account, { period })).summary.entries).toBe(0);
    const whole = await makeReport(account, { period: { start: '2026-02-05', end: '2026-02-07' } });
    expect(whole.scope.join()).not.toContain('no longer kept');
  });

  it('are not reported as missing for an agent if the whole period is older than the retention', async () => {
    const { account, agent, world } = await makeAccount({
      plan: 'enterprise',
      audit_retention_days: 7,
    });
    await agent.request();
    world.advance(30 * DAY);
    const exceptions = async (start: string, end: string) =>
      (await makeReport(account, { period: { start, end } })).exceptions.map(
        ({ kind }: Json) => kind,
      );
    expect(await exceptions('2026-01-31', '2026-02-01')).toEqual([]);
    expect(await exceptions('2026-01-31', '2026-03-01')).toEqual(['agent_without_activity']);
  });

  it('exclude entries of other accounts', async () => {
    const { account, agent, world } = await makeAccount();
    const other = await world.account({ plan: 'enterprise' });
    const foreign = await other.agent({ name: 'Foreign' });
    await foreign.approved();
    await agent.request();
    const report = await makeReport(account);
    expect(report.summary).toMatchObject({ entries: 1, agents: 1 });
    const text = JSON.stringify(report);
    for (const secret of [other.id, foreign.id, other.tokenId, 'Foreign'])
      expect(text).not.toContain(secret);
  });

  it.runIf(depth.isDeep)(
    'exclude entries of deleted agents, before and after the sweep',
    async () => {
      const { account, agent, world } = await makeAccount();
      const leaving = await account.agent({ name: 'Leaving' });
      await leaving.approved();
      for (const asking of [agent, leaving, agent, leaving, agent]) await asking.request();
      const { id } = await leaving.request();
      await account.must(200, 'POST', `/v1/permissions/${id}/deny`);
      await account.must(204, 'DELETE', `/v1/agents/${leaving.id}`);
      for (let sweeps = 0; sweeps < 2; sweeps++) {
        const report = await makeReport(account);
        expect(report.summary).toMatchObject({
          entries: 3,
          agents: 1,
          requests: 3,
          approved: 0,
          denied: 0,
        });
        expect(report.agents.map(({ agent_id }: Json) => agent_id)).toEqual([agent.id]);
        expect(new Set(report.sample.map(({ agent_id }: Json) => agent_id))).toEqual(
          new Set([agent.id]),
        );
        expect(report.exceptions).toEqual([]);
        expect(JSON.stringify(report)).not.toContain('Leaving');
        const named = new Set(JSON.stringify(report).match(/audit_\w{26}/g));
        expect(named).toEqual(new Set((await account.log()).map(({ id }) => id)));
        await world.sweep();
      }
    },
  );
});

describe('the sample', () => {
  it('can be reproduced by its stated rule, and has entries as the API returns them', async () => {
    const { account, agent, world } = await makeAccount();
    for (let i = 0; i < 15; i++) {
      await agent.approved();
      world.advance(SECOND);
    }
    const leaving = await account.agent();
    for (let i = 0; i < 10; i++) await leaving.request();
    for (let i = 0; i < 5; i++) await agent.request();
    await account.must(204, 'DELETE', `/v1/agents/${leaving.id}`);
    const id = await startReport(account);
    await world.work();
    const { sample, method } = await openReport(account, id);
    const log = new Map((await account.log()).map((entry) => [entry.sequence, entry]));
    const expected = new Set<Json>();
    for (let n = 0; expected.size < 25; n++) {
      const hash = await sha256(new TextEncoder().encode(`${id}:${n}`));
      const entry = log.get(1 + (Number.parseInt(hash.slice(0, 12), 16) % 45));
      if (entry) expected.add(entry);
    }
    expect(sample).toEqual([...expected]);
    expect(method.join()).toContain(`1 + (the first 48 bits of SHA-256("${id}:n") modulo 45)`);
  });

  it('has every entry if there are only a few', async () => {
    const { account, agent } = await makeAccount();
    for (let i = 0; i < 6; i++) await agent.request();
    const { sample } = await makeReport(account);
    expect(sample.map(({ sequence }: Json) => sequence).toSorted()).toEqual([1, 2, 3, 4, 5, 6]);
  });
});

it('a report lists the key rotations and configuration changes of the period', async () => {
  const { account, agent, world } = await makeAccount();
  world.advance(DAY);
  const period = { start: '2026-02-01', end: '2026-02-01' };
  for (let i = 0; i < 3; i++) await account.must(200, 'POST', `/v1/agents/${agent.id}/rotate-key`);
  const policy = { name: 'Any', effect: 'deny', actions: ['*'], resources: ['*'] };
  const { body: made } = await account.must(201, 'POST', '/v1/policies', policy);
  await account.must(200, 'PUT', `/v1/policies/${made.id}`, { name: 'None' });
  for (let i = 0; i < 101; i++)
    await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { name: `n${i}` });
  const { activity } = await makeReport(account, { period });
  expect(activity.by_action).toEqual({
    'agent.key_rotated': 3,
    'policy.created': 1,
    'policy.updated': 1,
    'agent.updated': 101,
    'report.requested': 1,
  });
  expect(activity.key_rotations).toHaveLength(3);
  expect(activity.key_rotations[0]).toMatchObject({
    action: 'agent.key_rotated',
    actor: account.tokenId,
    target: agent.id,
  });
  const { body } = await account.must(200, 'GET', '/v1/activity?limit=1000&action=agent.updated');
  const listed = new Map(body.data.map((record: Json) => [record.id, record]));
  expect(activity.configuration_changes).toHaveLength(100);
  for (const { id, action, changes } of activity.configuration_changes) {
    if (action === 'agent.updated') expect(listed.get(id)).toMatchObject({ changes });
  }
});

it('votes and escalations are counted in the activity, and are no configuration changes', async () => {
  const escalation = { after: 60, roles: ['owner'] };
  const { world, account, agent, people } = await makeReview({ approvals: 2, escalation }, [
    'approver',
    'approver',
  ]);
  const operator = { token: env.ADMIN_TOKEN, body: { plan: 'enterprise' } };
  await world.must(200, 'PATCH', `/v1/admin/users/${account.id}`, operator);
  await approve({ world }, people[0], (await agent.request()).id);
  world.advance(2 * MINUTE);
  await world.sweep();
  const { activity } = await makeReport(account);
  expect(activity.by_action).toMatchObject({ 'permission.voted': 1, 'permission.escalated': 1 });
  const actions = activity.configuration_changes.map(({ action }: Json) => action);
  expect(actions).toContain('member.joined');
  expect(actions.filter((action: string) => action.startsWith('permission.'))).toEqual([]);
});

it('a period that ends after today ends today, as the answer says', async () => {
  const { account } = await makeAccount();
  const { period } = await makeReport(account, {
    period: { start: '2026-01-30', end: '2099-12-31' },
  });
  expect(period).toEqual({ start: '2026-01-30', end: '2026-01-31' });
  const { body } = await account.must(200, 'GET', REPORTS);
  expect(body.data[0].period).toEqual(period);
});

describe('the validation of a report request', () => {
  it.each<[string, Json, string]>([
    [
      'an end before the start',
      { period: { start: '2026-01-02', end: '2026-01-01' } },
      'body.period.start',
    ],
    [
      'a day that does not exist',
      { period: { start: '2025-02-30', end: '2026-01-01' } },
      'body.period.start',
    ],
    [
      'a leap day of another year',
      { period: { start: '2025-02-01', end: '2025-02-29' } },
      'body.period.end',
    ],
    [
      'a period in the future',
      { period: { start: '2027-01-01', end: '2027-02-01' } },
      'body.period.start',
    ],
    ['367 days', { period: { start: '2025-01-30', end: '2026-01-31' } }, 'body.period.end'],
    [
      'a time of day',
      { period: { start: '2026-01-01T00:00:00Z', end: '2026-01-31' } },
      'body.period.start',
    ],
    ['no end', { period: { start: '2026-01-01' } }, 'body.period.end'],
    ['no start', { period: { end: '2026-01-01' } }, 'body.period.start'],
    [
      'a number for a day',
      { period: { start: 20_260_101, end: '2026-01-31' } },
      'body.period.start',
    ],
    ['no period', { period: undefined }, 'body.period'],
    ['a period as a string', { period: '2026-01' }, 'body.period'],
    ['a null period', { period: null }, 'body.period'],
    [
      'an unknown field of the period',
      { period: { ...PERIOD, timezone: 'UTC' } },
      'body.period.timezone',
    ],
    ['no type', { report_type: undefined }, 'body.report_type'],
    ['an unknown type', { report_type: 'soc3' }, 'body.report_type'],
    ['a type in capitals', { report_type: 'SOC2_TYPE1' }, 'body.report_type'],
    ['an unknown format', { format: 'csv' }, 'body.format'],
    ['an unknown field', { agent_id: 'x' }, 'body.agent_id'],
    ['a read-only field', { status: 'completed' }, 'body.status'],
  ])('rejects the request and changes nothing: %s', async (_, fields, path) => {
    const { account } = await makeAccount();
    const answer = await account.call('POST', REPORTS, {
      report_type: 'gdpr',
      period: PERIOD,
      ...fields,
    });
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request']);
    expect(answer.body.errors.map((error: Json) => error.path)).toEqual([path]);
    expect((await account.must(200, 'GET', REPORTS)).body.data).toEqual([]);
  });

  it('accepts 366 days, and today as the last day', async () => {
    const { account } = await makeAccount();
    await startReport(account, { period: { start: '2025-01-31', end: '2026-01-31' } });
    await startReport(account, { period: { start: '2026-01-31', end: '2026-01-31' } });
  });
});

describe('a plan other than enterprise', () => {
  it.each(['free', 'pro', 'team'])('cannot request reports (%s)', async (plan) => {
    const { account } = await makeAccount({ plan });
    const answer = await account.call('POST', REPORTS, { report_type: 'gdpr', period: PERIOD });
    expect([answer.status, answer.body.code]).toEqual([403, 'plan_required']);
    expect((await account.must(200, 'GET', REPORTS)).body.data).toEqual([]);
  });

  it('can read reports that were requested under an earlier enterprise plan', async () => {
    const { account, world } = await makeAccount();
    const id = await startReport(account);
    const operator = { token: env.ADMIN_TOKEN, body: { plan: 'free' } };
    await world.must(200, 'PATCH', `/v1/admin/users/${account.id}`, operator);
    await world.work();
    expect((await openReport(account, id)).report_id).toBe(id);
  });
});

it('reports and exports share the limit of five unfinished files', async () => {
  const { account, world } = await makeAccount();
  const ask = (i: number) =>
    i % 2 === 0
      ? account.call('POST', '/v1/audit/export', ALWAYS)
      : account.call('POST', REPORTS, { report_type: 'gdpr', period: PERIOD, format: 'json' });
  const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => ask(i)));
  expect(answers.map(({ status }) => status).toSorted()).toEqual([
    ...Array(5).fill(202),
    ...Array(5).fill(429),
  ]);
  expect((await ask(1)).body.code).toBe('too_many_exports');
  await world.work();
  expect((await ask(1)).status).toBe(202);
});

it('the list of reports is newest first, in pages, without exports and reports of other accounts', async () => {
  const { account, world } = await makeAccount();
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) {
    world.advance(SECOND);
    ids.unshift(await startReport(account));
    await world.work();
    await account.must(202, 'POST', '/v1/audit/export', ALWAYS);
    await world.work();
  }
  await startReport(await world.account({ plan: 'enterprise' }));
  const seen: string[] = [];
  for (let cursor = ''; ; ) {
    const { body } = await account.must(
      200,
      'GET',
      `${REPORTS}?limit=2${cursor && `&cursor=${cursor}`}`,
    );
    seen.push(...body.data.map(({ report_id }: Json) => report_id));
    if (!body.has_more) break;
    cursor = body.next_cursor;
  }
  expect(seen).toEqual(ids);
  const { body } = await account.must(200, 'GET', '/v1/audit/export?limit=1');
  const answer = await account.call('GET', `${REPORTS}?cursor=${body.next_cursor}`);
  expect([answer.status, answer.body.code]).toEqual([400, 'invalid_cursor']);
});

it('a report is not found by another account, with the prefix of exports, or with an invalid id', async () => {
  const { account, world } = await makeAccount();
  const id = await startReport(account);
  await (await world.account({ plan: 'enterprise' })).must(404, 'GET', `${REPORTS}/${id}`);
  for (const text of [id.replace('report_', 'export_'), id.toUpperCase(), 'x', `${id}x`]) {
    await account.must(404, 'GET', `${REPORTS}/${text}`);
  }
  await account.must(404, 'GET', `/v1/audit/export/${id}`);
});

describe('the deletion of an agent', () => {
  it('fails unfinished reports, expires finished ones, and deletes their files', async () => {
    const { account, agent, world } = await makeAccount();
    await agent.request();
    const finished = await startReport(account);
    await world.work();
    const { download_url } = await readReport(account, finished);
    const made = await startReport(account);
    await account.must(204, 'DELETE', `/v1/agents/${agent.id}`);
    await world.work();
    expect(await readReport(account, made)).toMatchObject({
      status: 'failed',
      error: 'agent_deleted',
    });
    expect(await readReport(account, finished)).toMatchObject({
      status: 'expired',
      download_url: null,
      error: null,
    });
    expect((await download(world, download_url)).status).toBe(410);
    await world.sweep();
    for (const id of [finished, made])
      expect((await env.FILES.list({ prefix: `files/${id}` })).objects).toEqual([]);
  });
});

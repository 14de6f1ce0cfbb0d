import { describe, expect, it } from 'vitest';
import { JOB_SIZES, type JobSizes } from '../../src/files/job-context';
import { depth } from '../support/depth';
import { makeMember, type TestMember } from '../support/members';
import { makeReport, openReport, startReport } from '../support/reports';
import { approve, deny, sign } from '../support/reviews';
import { type Json, type TestAccount, type TestAgent, World } from '../support/world';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Sizes that split a report into slices of a few entries. */
const SMALL: JobSizes = { ...JOB_SIZES, sliceRows: 10, batchRows: 3 };

async function makeAccount() {
  const world = new World();
  return { world, account: await world.account({ plan: 'enterprise' }) };
}

async function makePolicy(account: TestAccount, fields: Json): Promise<string> {
  const policy = {
    name: 'Rule',
    effect: 'approve',
    actions: ['auto.*'],
    resources: ['*'],
    ...fields,
  };
  return (await account.must(201, 'POST', '/v1/policies', policy)).body.id;
}

/** Has one person approve with or without a signature, and often another one decide. */
async function review(
  account: TestAccount,
  people: TestMember[],
  id: string,
  i: number,
): Promise<void> {
  const [first, second] = [people[i % 3], people[(i + 1) % 3]] as [TestMember, TestMember];
  const body = i % 20 < 10 ? await sign(account, first, id, { decision: 'approve' }) : {};
  await approve(account, first, id, body);
  if (i % 30 === 29) return;
  await (i % 40 === 19 ? deny : approve)(account, second, id);
}

/** Makes requests for seven weeks, with all kinds of decisions and outcomes. */
async function live(
  account: TestAccount,
  agents: TestAgent[],
  people: TestMember[],
): Promise<void> {
  const { world } = account;
  const fates = [
    'use',
    'use twice',
    'deny',
    'expire',
    'unused',
    'revoke',
    'policy',
    'policy denial',
    'use',
    'review',
  ];
  for (let i = 0; i < 60; i++) {
    const agent = agents[(i * i) % agents.length] as TestAgent;
    const fate = fates[i % fates.length] as string;
    const actions: Record<string, string> = {
      policy: 'auto.run',
      'policy denial': 'never.run',
      review: 'pay.out',
    };
    const action = actions[fate] ?? `mail.${i % 2 ? 'send' : 'read'}`;
    const { id } = await agent.request({ action, resource: `mailbox:${i % 3}`, max_uses: 3 });
    world.advance(i % 4 === 0 ? 4 * SECOND : 40 * SECOND);
    if (fate === 'deny') await account.must(200, 'POST', `/v1/permissions/${id}/deny`);
    if (fate === 'review') await review(account, people, id, i);
    if (/use|revoke/.test(fate)) await account.must(200, 'POST', `/v1/permissions/${id}/approve`);
    const { body } = await agent.must(200, 'GET', `/v1/permissions/${id}`);
    const token = body.token?.value;
    for (let uses = fate === 'use twice' ? 2 : fate === 'use' ? 1 : 0; uses > 0; uses--) {
      world.advance(MINUTE);
      await agent.must(200, 'POST', '/v1/tokens/use', { token });
    }
    if (fate === 'revoke') await account.must(200, 'POST', '/v1/tokens/revoke', { token });
    world.advance(21 * HOUR);
    await world.sweep();
  }
}

/** Computes the expected figures entry by entry from the log that the API returns. */
function modelReport(log: Json[], { start, end }: Json): Json {
  const entries = log.filter(
    ({ created_at }) => created_at.slice(0, 10) >= start && created_at.slice(0, 10) <= end,
  );
  const count = (some: Json[]) => {
    const of = (type: string) => some.filter(({ event_type }) => event_type === type);
    return {
      entries: some.length,
      requests: of('request').length,
      approved: of('approve').length,
      denied: of('deny').length,
      expired: of('expire').filter(({ details }) => details.expired === 'request').length,
      tokens_issued: of('approve').length,
      tokens_used: of('use').filter((use) => isFirstUse(use)).length,
      tokens_revoked: of('revoke').length,
    };
  };
  const isFirstUse = (use: Json) =>
    !entries.some(
      (entry) =>
        entry.event_type === 'use' &&
        entry.sequence < use.sequence &&
        entry.permission_request_id === use.permission_request_id,
    );
  const decisions = entries.filter(({ event_type }) => ['approve', 'deny'].includes(event_type));
  const votes: Json[] = entries.flatMap(({ details }) => details.votes ?? []);
  const tally = (key: (entry: Json) => string, some: Json[]) =>
    Object.groupBy(some, key) as Record<string, Json[]>;
  const by = (kind: 'person' | 'policy', type: string) =>
    decisions.filter(
      (entry) =>
        entry.event_type === type && (entry.details.policy_id === null) === (kind === 'person'),
    ).length;
  const requestOf = (decision: Json) =>
    log.find(
      (entry) =>
        entry.event_type === 'request' &&
        entry.permission_request_id === decision.permission_request_id,
    );
  const isQuick = (decision: Json) =>
    decision.details.policy_id === null &&
    Date.parse(decision.created_at) - Date.parse(requestOf(decision).created_at) <= 5 * SECOND;
  const isRetried = (denial: Json) =>
    entries
      .filter(
        (entry) =>
          entry.event_type === 'request' &&
          entry.sequence > denial.sequence &&
          entry.agent_id === denial.agent_id &&
          entry.details.action === denial.details.action,
      )
      .slice(0, 5)
      .some((entry) => entry.details.resource === denial.details.resource);
  const show = (some: Json[]) => ({
    entries: some.length,
    entry_ids: some.slice(0, 5).map(({ id }) => id),
  });
  const total = count(entries);
  return {
    summary: {
      ...total,
      by_event_type: Object.fromEntries(
        ['request', 'approve', 'deny', 'use', 'expire', 'revoke'].map((type) => [
          type,
          entries.filter(({ event_type }) => event_type === type).length,
        ]),
      ),
      agents: new Set(entries.map(({ agent_id }) => agent_id)).size,
      approved_by_person: by('person', 'approve'),
      approved_by_policy: by('policy', 'approve'),
      approved_by_series: 0,
      denied_by_person: by('person', 'deny'),
      denied_by_policy: by('policy', 'deny'),
    },
    months: Object.fromEntries(
      Object.entries(tally(({ created_at }) => created_at.slice(0, 7), entries)).map(
        ([month, some]) => [month, { month, ...count(some) }],
      ),
    ),
    agents: Object.fromEntries(
      Object.entries(tally(({ agent_id }) => agent_id, entries)).map(([agent, some]) => [
        agent,
        count(some),
      ]),
    ),
    deciders: Object.fromEntries(
      Object.entries(tally(({ details }) => details.decided_by, decisions)).map(
        ([decider, some]) => [
          decider,
          { approved: count(some).approved, denied: count(some).denied },
        ],
      ),
    ),
    votes: Object.fromEntries(
      Object.entries(tally(({ by }) => by, votes)).map(([member, some]) => [
        member,
        { votes: some.length, signed: some.filter(({ signed }) => signed).length },
      ]),
    ),
    exceptions: {
      quick_decision: show(decisions.filter(isQuick)),
      denied_action_retried: show(
        decisions.filter(({ event_type }) => event_type === 'deny').filter(isRetried),
      ),
      token_never_used: show(entries.filter(({ details }) => details.expired === 'token')),
      request_undecided: show(entries.filter(({ details }) => details.expired === 'request')),
      token_revoked: show(entries.filter(({ event_type }) => event_type === 'revoke')),
    },
  };
}

it.runIf(depth.isDeep)(
  'the figures of a report equal a count of the log entry by entry, for large and small slices',
  async () => {
    const { account, world } = await makeAccount();
    await makePolicy(account, {});
    await makePolicy(account, { effect: 'deny', actions: ['never.*'], priority: 3 });
    const agents = [];
    for (const name of ['One', 'Δύο', '三', 'Quiet']) agents.push(await account.agent({ name }));
    const people: TestMember[] = [];
    for (let i = 0; i < 3; i++) people.push(await makeMember(account, 'approver'));
    await makePolicy(account, { effect: 'review', actions: ['pay.*'], review: { approvals: 2 } });
    world.advance(SECOND);
    await live(account, agents.slice(0, 3), people);
    const stranger = await world.account({ plan: 'enterprise' });
    await (await stranger.agent()).approved();
    const log = await account.log();
    expect(log.length).toBeGreaterThan(120);
    for (const period of [
      { start: '2026-01-01', end: '2026-03-19' },
      { start: '2026-02-10', end: '2026-03-03' },
      { start: '2026-03-01', end: '2026-03-01' },
    ].slice(0, depth.runs(1, 3))) {
      const model = modelReport(log, period);
      for (const sizes of depth.cases([SMALL, JOB_SIZES], 2)) {
        const report = await makeReport(account, { period }, sizes);
        const { summary, months, agents: listed, deciders, exceptions } = report;
        expect(summary).toEqual(model.summary);
        const empty = Object.fromEntries(Object.keys(months[0]).map((name) => [name, 0]));
        for (const month of months)
          expect(month).toEqual(model.months[month.month] ?? { ...empty, month: month.month });
        expect(
          Object.keys(model.months).every((month) =>
            months.some((row: Json) => row.month === month),
          ),
        ).toBe(true);
        expect(
          Object.fromEntries(listed.map(({ agent_id, counts }: Json) => [agent_id, counts])),
        ).toEqual(model.agents);
        const requests = listed.map(({ counts }: Json) => counts.requests);
        expect(requests).toEqual(requests.toSorted((a: number, b: number) => b - a));
        const decided = deciders.map(({ decided_by, approved, denied }: Json) => [
          decided_by,
          { approved, denied },
        ]);
        const none = { approved: 0, denied: 0 };
        const onlyVoted = Object.fromEntries(
          Object.keys(model.votes).map((member) => [member, none]),
        );
        expect(Object.fromEntries(decided)).toEqual({ ...onlyVoted, ...model.deciders });
        const ofMembers = deciders.filter(({ decided_by }: Json) =>
          decided_by.startsWith('member_'),
        );
        const voted = ofMembers.map(({ decided_by, approved, denied, voted, signed }: Json) => [
          decided_by,
          { votes: approved + denied + voted, signed },
        ]);
        expect(Object.fromEntries(voted)).toEqual(model.votes);
        for (const [kind, { entries, entry_ids }] of Object.entries<Json>(model.exceptions)) {
          const found = exceptions.find((exception: Json) => exception.kind === kind);
          expect([kind, found?.entries ?? 0, found?.entry_ids ?? []]).toEqual([
            kind,
            entries,
            entry_ids,
          ]);
        }
      }
    }
  },
);

it('a token counts as used in each period in which it was used', async () => {
  const { account, world } = await makeAccount();
  const agent = await account.agent();
  const { token } = await agent.approved({ max_uses: 9, token_ttl: 86_400 });
  for (let i = 0; i < 3; i++) {
    await agent.must(200, 'POST', '/v1/tokens/use', { token: token.value });
    world.advance(10 * HOUR);
  }
  const used = async (start: string, end: string) =>
    (await makeReport(account, { period: { start, end } })).summary.tokens_used;
  expect(await used('2026-01-31', '2026-01-31')).toBe(1);
  expect(await used('2026-02-01', '2026-02-01')).toBe(1);
  expect(await used('2026-01-31', '2026-02-01')).toBe(1);
});

it('a report names policies and agents, and deleted policies by id only', async () => {
  const { account } = await makeAccount();
  const policy = await makePolicy(account, { name: 'Automatic' });
  const agent = await account.agent({ name: 'Ιός' });
  await agent.request({ action: 'auto.run' });
  await agent.approved();
  const { deciders, agents } = await makeReport(account);
  const shared = { role: null, approved: 1, denied: 0, voted: 0, signed: 0 };
  expect(deciders.toSorted((a: Json, b: Json) => (a.kind < b.kind ? -1 : 1))).toEqual([
    { ...shared, decided_by: account.id, kind: 'person', name: null },
    { ...shared, decided_by: policy, kind: 'policy', name: 'Automatic' },
  ]);
  expect(agents).toMatchObject([{ agent_id: agent.id, name: 'Ιός' }]);
  await account.must(204, 'DELETE', `/v1/policies/${policy}`);
  const { deciders: later } = await makeReport(account);
  expect(later.find(({ kind }: Json) => kind === 'policy')).toMatchObject({
    decided_by: policy,
    name: null,
  });
});

describe('the exceptions', () => {
  const kinds = ({ exceptions }: Json) =>
    exceptions.map(({ kind, severity }: Json) => `${kind} ${severity}`);
  const PERIOD = { start: '2026-01-31', end: '2026-01-31' };

  /** Makes a request that a person decides after `wait` milliseconds. */
  async function decide(
    agent: TestAgent,
    verb: 'approve' | 'deny',
    wait: number,
    fields: Json = {},
  ): Promise<Json> {
    const { id } = await agent.request(fields);
    agent.account.world.advance(wait);
    await agent.account.must(200, 'POST', `/v1/permissions/${id}/${verb}`);
    return (await agent.must(200, 'GET', `/v1/permissions/${id}`)).body;
  }

  async function approveAndUse(agent: TestAgent): Promise<void> {
    const { token } = await decide(agent, 'approve', MINUTE);
    await agent.must(200, 'POST', '/v1/tokens/use', { token: token.value });
  }

  it('are empty if nothing is unusual', async () => {
    const { account } = await makeAccount();
    const agent = await account.agent();
    await makePolicy(account, { resources: ['mailbox:*'] });
    await approveAndUse(agent);
    await decide(agent, 'deny', MINUTE, { resource: 'mailbox:other' });
    expect(kinds(await makeReport(account, { period: PERIOD }))).toEqual([]);
  });

  it.each([
    [5 * SECOND, ['quick_decision medium']],
    [5 * SECOND + 1, []],
  ])(
    'list a decision as quick only if it takes at most five seconds (%d ms)',
    async (wait, expected) => {
      const { account } = await makeAccount();
      await decide(await account.agent(), 'deny', wait);
      expect(kinds(await makeReport(account, { period: PERIOD }))).toEqual(expected);
    },
  );

  it('rate many quick decisions as high, and list a person who took all decisions', async () => {
    const { account } = await makeAccount();
    const agent = await account.agent();
    for (let i = 0; i < 10; i++) await decide(agent, 'deny', SECOND, { resource: `mailbox:${i}` });
    const report = await makeReport(account, { period: PERIOD });
    expect(kinds(report)).toEqual(['quick_decision high', 'one_decider medium']);
    expect(report.exceptions[1].text).toContain(
      'cannot show whether one person took them or several',
    );
    expect(report.exceptions[1]).toMatchObject({ entries: 10 });
    const denials = await account.log('&event_type=deny');
    expect(report.exceptions[1].entry_ids).toEqual([denials[0].id, denials[9].id]);
  });

  it('list no single decider if another one has more than a tenth of the decisions', async () => {
    const { account } = await makeAccount();
    const agent = await account.agent();
    await makePolicy(account, { effect: 'deny' });
    for (let i = 0; i < 9; i++) await decide(agent, 'deny', MINUTE, { resource: `mailbox:${i}` });
    await agent.request({ action: 'auto.run' });
    expect(kinds(await makeReport(account, { period: PERIOD }))).toEqual(['one_decider medium']);
    await agent.request({ action: 'auto.stop' });
    expect(kinds(await makeReport(account, { period: PERIOD }))).toEqual([]);
  });

  it.each<[string, Json, boolean]>([
    ['everything', { actions: ['a.b', '*'], resources: ['*'] }, true],
    ['everything, by other patterns', { actions: ['*.*'], resources: ['**:*'] }, true],
    ['every action on some resources', { actions: ['*'], resources: ['mailbox:*'] }, false],
    ['some actions on every resource', { actions: ['mail.*'], resources: ['*'] }, false],
    [
      'everything within its conditions',
      { actions: ['*'], resources: ['*'], conditions: { n: { max: 1 } } },
      false,
    ],
    ['nothing: it is inactive', { actions: ['*'], resources: ['*'], is_active: false }, false],
    ['nothing: it denies', { effect: 'deny', actions: ['*'], resources: ['*'] }, false],
  ])(
    'list a policy only if it approves everything (this one approves %s)',
    async (_, fields, expected) => {
      const { account } = await makeAccount();
      const policy = await makePolicy(account, { name: 'Yes', ...fields });
      const agent = await account.agent();
      await agent.request({ scope: { n: 2 } });
      const { exceptions } = await makeReport(account, { period: PERIOD });
      const found = exceptions.filter(({ kind }: Json) => kind === 'policy_approves_everything');
      expect(found.length === 1).toBe(expected);
      if (!expected) return;
      const [approval] = await account.log('&event_type=approve');
      expect(found[0]).toMatchObject({ severity: 'high', entries: 1, entry_ids: [approval.id] });
      expect(found[0].text).toContain(policy);
    },
  );

  it('list unused tokens, undecided requests and revoked tokens', async () => {
    const { account, world } = await makeAccount();
    const agent = await account.agent();
    await agent.request({ expires_in: 60 });
    const { token } = await decide(agent, 'approve', 10 * SECOND, { token_ttl: 30 });
    await account.must(200, 'POST', '/v1/tokens/revoke', { token: token.value });
    await decide(agent, 'approve', 10 * SECOND, { token_ttl: 30 });
    world.advance(HOUR);
    await world.sweep();
    const report = await makeReport(account, { period: PERIOD });
    expect(kinds(report)).toEqual([
      'token_never_used medium',
      'request_undecided low',
      'token_revoked low',
    ]);
    const log = await account.log();
    const of = (test: (entry: Json) => boolean) => log.filter(test).map(({ id }) => id);
    expect(report.exceptions.map(({ entry_ids }: Json) => entry_ids)).toEqual([
      of(({ details }) => details.expired === 'token'),
      of(({ details }) => details.expired === 'request'),
      of(({ event_type }) => event_type === 'revoke'),
    ]);
  });

  it.each<[string, (agent: TestAgent, other: TestAgent) => Promise<unknown>, boolean]>([
    ['the same agent requests the same', (agent) => agent.request(), true],
    [
      'the same agent requests another resource',
      (agent) => agent.request({ resource: 'mailbox:sales' }),
      false,
    ],
    [
      'the same agent requests another action',
      (agent) => agent.request({ action: 'email.read' }),
      false,
    ],
    ['another agent requests the same', (_, other) => other.request(), false],
  ])(
    'list a denial only if the same agent requests the same again (%s)',
    async (_, retry, expected) => {
      const { account } = await makeAccount();
      const [agent, other] = [await account.agent(), await account.agent()];
      await other.request({ action: 'other.thing' });
      await agent.request();
      await decide(agent, 'deny', MINUTE);
      await retry(agent, other);
      expect(kinds(await makeReport(account, { period: PERIOD }))).toEqual(
        expected ? ['denied_action_retried medium'] : [],
      );
    },
  );

  it('list no retry after five other requests for the action, or after the report was requested', async () => {
    const { account, world } = await makeAccount();
    const agent = await account.agent();
    await decide(agent, 'deny', MINUTE);
    const id = await startReport(account, { period: PERIOD });
    for (let i = 0; i < 4; i++) await agent.request({ resource: `mailbox:${i}` });
    await agent.request();
    await world.work();
    expect(kinds(await openReport(account, id))).toEqual([]);
    expect(kinds(await makeReport(account, { period: PERIOD }))).toEqual([
      'denied_action_retried medium',
    ]);
    await decide(agent, 'deny', MINUTE, { resource: 'mailbox:late' });
    for (let i = 0; i < 5; i++) await agent.request({ resource: `mailbox:${i}` });
    await agent.request({ resource: 'mailbox:late' });
    expect((await makeReport(account, { period: PERIOD })).exceptions).toMatchObject([
      { entries: 1 },
    ]);
  });

  it('list keys older than 90 days, and agents without activity', async () => {
    const { account, world } = await makeAccount();
    const [old, rotated, idle, off] = [
      await account.agent({ name: 'Old' }),
      await account.agent({ name: 'Rotated' }),
      await account.agent({ name: 'Idle' }),
      await account.agent({ name: 'Off' }),
    ];
    world.advance(DAY);
    await account.must(200, 'POST', `/v1/agents/${rotated.id}/rotate-key`);
    await account.must(200, 'PUT', `/v1/agents/${off.id}`, { is_active: false });
    world.advance(89 * DAY);
    await account.agent({ name: 'Too new' });
    await old.request();
    const period = (end: string) => ({ period: { start: '2026-02-01', end } });
    // The first keys were created on January 31 at noon.
    const exact = await makeReport(account, period('2026-05-01'));
    expect(kinds(exact)).toEqual(['agent_without_activity low']);
    world.advance(1);
    const late = await makeReport(account, period('2026-05-01'));
    expect(kinds(late)).toEqual(['key_not_rotated medium', 'agent_without_activity low']);
    const [stale, quiet] = late.exceptions;
    expect(stale.text).toMatch(/^2 active agents /);
    for (const { id } of [old, idle]) expect(stale.text).toContain(id);
    expect(quiet.text).toMatch(/^3 active agents /);
    for (const name of ['Rotated', 'Idle', 'Too new']) expect(quiet.text).toContain(name);
    expect(kinds(await makeReport(account, period('2026-04-30')))).toEqual([
      'agent_without_activity low',
    ]);
  });

  it('judge keys by their age at the end of the period, even if they were rotated later', async () => {
    const { account, world } = await makeAccount();
    const [never, before, twice] = [
      await account.agent(),
      await account.agent(),
      await account.agent(),
    ];
    const rotate = (agent: TestAgent) =>
      account.must(200, 'POST', `/v1/agents/${agent.id}/rotate-key`);
    world.advance(30 * DAY);
    await rotate(twice);
    await account.must(200, 'PUT', `/v1/agents/${twice.id}`, { name: 'Twice' });
    world.advance(70 * DAY);
    await rotate(before);
    world.advance(DAY);
    for (const agent of [never, before, twice]) await rotate(agent);
    const stale = async (end: string) => {
      const { exceptions } = await makeReport(account, { period: { start: '2026-02-01', end } });
      return exceptions.find(({ kind }: Json) => kind === 'key_not_rotated');
    };
    // The first keys were created on January 31.
    expect(await stale('2026-04-30')).toBeUndefined();
    const found = await stale('2026-05-10');
    expect(found.text).toMatch(/^2 active agents had, at the end of 2026-05-10, a current key/);
    expect(found.text).toContain(never.id);
    expect(found.text).toContain(before.id);
    expect((await stale('2026-05-11')).text).toMatch(/^1 active agent .*at the end of 2026-05-11/);
    expect(await stale('2026-05-12')).toBeUndefined();
  });

  it('judge keys by their age at the time of the request if the period is not over', async () => {
    const { account, world } = await makeAccount();
    await account.agent();
    world.advance(91 * DAY);
    const { exceptions } = await makeReport(account, {
      period: { start: '2026-05-02', end: '2026-05-02' },
    });
    const { text } = exceptions.find(({ kind }: Json) => kind === 'key_not_rotated');
    expect(text).toContain('when the report was asked for, on 2026-05-02');
    expect(text).not.toContain('at the end');
  });

  it('list a policy that approved everything and is inactive now', async () => {
    const { account } = await makeAccount();
    const policy = await makePolicy(account, { actions: ['*'] });
    const agent = await account.agent();
    await agent.request();
    await account.must(200, 'PUT', `/v1/policies/${policy}`, { is_active: false });
    const { exceptions } = await makeReport(account, { period: PERIOD });
    expect(exceptions[0]).toMatchObject({ kind: 'policy_approves_everything', entries: 1 });
    expect(exceptions[0].text).toContain('inactive now');
  });

  it('list a policy that approves everything within a budget, or did until it expired', async () => {
    const { account, world } = await makeAccount();
    const limits = { budget: { per: 'day', requests: 1 }, expires_at: '2026-01-31T13:00:00Z' };
    await makePolicy(account, { actions: ['*'], ...limits });
    await (await account.agent()).request();
    const textOf = async () => {
      const report = await makeReport(account, { period: PERIOD });
      expect(kinds(report)).toEqual(['policy_approves_everything high']);
      return report.exceptions[0].text;
    };
    expect(await textOf()).toMatch(/unless another one denies\. It does so within a budget only\./);
    world.advance(HOUR);
    expect(await textOf()).toContain('inactive now');
  });

  it('list policies that were deleted or changed after they decided', async () => {
    const { account, world } = await makeAccount();
    const [kept, changed, deleted] = [
      await makePolicy(account, { actions: ['kept.*'] }),
      await makePolicy(account, { actions: ['changed.*'] }),
      await makePolicy(account, { actions: ['deleted.*'] }),
    ];
    const agent = await account.agent();
    for (const action of ['kept.run', 'changed.run', 'deleted.run'])
      await agent.request({ action });
    expect(kinds(await makeReport(account, { period: PERIOD }))).toEqual([]);
    world.advance(DAY);
    await account.must(200, 'PUT', `/v1/policies/${changed}`, { actions: ['never.*'] });
    await account.must(204, 'DELETE', `/v1/policies/${deleted}`);
    const report = await makeReport(account, { period: PERIOD });
    expect(kinds(report)).toEqual(['policy_not_as_it_decided medium']);
    const [{ text, entries, entry_ids }] = report.exceptions;
    const approvals = await account.log('&event_type=approve');
    expect(text).toMatch(/^2 policies that took 2 decisions /);
    expect(text).toContain(changed);
    expect(text).toContain(`${deleted} (deleted)`);
    expect(text).not.toContain(kept);
    expect([entries, entry_ids]).toEqual([2, approvals.slice(1).map(({ id }) => id)]);
  });

  it('quote names so that they cannot break out of their sentence', async () => {
    const { account, world } = await makeAccount();
    await account.agent({ name: 'A”.\n\nAll is well. “B\u202e' });
    await account.agent({ name: 'x'.repeat(255) });
    world.advance(DAY);
    const period = { start: '2026-02-01', end: '2026-02-01' };
    const { exceptions } = await makeReport(account, { period });
    expect(exceptions[0].text).toContain('“A". All is well. "B[U+202E]” (agent_');
    expect(exceptions[0].text).toContain(`“${'x'.repeat(80)}…” (agent_`);
  });
});

import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { composePages } from '../../src/reports/pdf/document';
import { fillLog } from '../support/exports';
import { makeMember, type TestMember } from '../support/members';
import { makeReport, readReport, startReport } from '../support/reports';
import { approve, deny, sign } from '../support/reviews';
import { ACT, makeSeriesScene, SERIES } from '../support/series';
import { type Json, type TestAccount, type TestAgent, World } from '../support/world';

const MINUTE = 60_000;
const DAY = 86_400_000;

interface Scene {
  world: World;
  account: TestAccount;
  /** An agent that nobody owns, and one that Bob owns. */
  agent: TestAgent;
  bobsAgent: TestAgent;
  ada: TestMember;
  bob: TestMember;
  eve: TestMember;
  /** The id of the policy that approves `auto.*`. */
  policy: string;
}

async function makePolicy(account: TestAccount, fields: Json): Promise<string> {
  return (
    await account.must(201, 'POST', '/v1/policies', { name: 'Rule', resources: ['*'], ...fields })
  ).body.id;
}

/**
 * Makes members with names, a policy that approves `auto.*`, and reviews: `pay.*` by two people,
 * `own.*` by one.
 */
async function makeScene(): Promise<Scene> {
  const world = new World();
  const account = await world.account({ plan: 'enterprise' });
  const named = async (name: string, role: string) => {
    const member = await makeMember(account, role);
    await account.must(200, 'PUT', `/v1/members/${member.id}`, { name });
    return member;
  };
  const ada = await named('Ada', 'admin');
  const bob = await named('Bob', 'approver');
  const eve = await named('Eve', 'approver');
  const policy = await makePolicy(account, {
    name: 'Automatic',
    effect: 'approve',
    actions: ['auto.*'],
  });
  await makePolicy(account, { effect: 'review', actions: ['pay.*'], review: { approvals: 2 } });
  await makePolicy(account, {
    effect: 'review',
    actions: ['own.*'],
    review: { allow_self: true, passkey: true },
  });
  const [agent, bobsAgent] = [await account.agent(), await account.agent()];
  await account.must(200, 'PUT', `/v1/agents/${bobsAgent.id}`, { owner_id: bob.id });
  world.advance(MINUTE);
  return { world, account, agent, bobsAgent, ada, bob, eve, policy };
}

/** Makes a request and lets it wait for a minute. */
async function request(
  { world }: Scene,
  agent: TestAgent,
  action: string,
  fields: Json = {},
): Promise<string> {
  const { id } = await agent.request({ action, ...fields });
  world.advance(MINUTE);
  return id;
}

async function approveSigned(scene: Scene, member: TestMember, id: string): Promise<void> {
  const answer = await approve(
    scene,
    member,
    id,
    await sign(scene, member, id, { decision: 'approve' }),
  );
  expect([answer.status, answer.body.code]).toEqual([200, undefined]);
}

/** Lets members, the account's own token and a policy decide, within and without reviews. */
async function decideAll(scene: Scene): Promise<void> {
  const { account, agent, bobsAgent, ada, bob, eve, world } = scene;
  const paid = await request(scene, agent, 'pay.out');
  await approveSigned(scene, ada, paid);
  await approve(scene, bob, paid);
  const refused = await request(scene, agent, 'pay.out');
  await approve(scene, ada, refused);
  await deny(scene, eve, refused);
  const expired = await request(scene, agent, 'pay.out', { expires_in: 300 });
  await approve(scene, bob, expired);
  await approveSigned(scene, bob, await request(scene, bobsAgent, 'own.run'));
  await approve(scene, bob, await request(scene, bobsAgent, 'mail.send'));
  await approveSigned(scene, ada, await request(scene, agent, 'mail.send'));
  await account.must(
    200,
    'POST',
    `/v1/permissions/${await request(scene, agent, 'mail.read')}/deny`,
  );
  await request(scene, agent, 'auto.run');
  world.advance(10 * MINUTE);
  await world.sweep();
}

function findingsOf({ controls }: Json, id: string): Json[] {
  return controls.find((control: Json) => control.id === id).evidence;
}

describe('the deciders of a report', () => {
  it('are members with name and role, the account, and policies, with votes and signatures', async () => {
    const scene = await makeScene();
    await decideAll(scene);
    const { account, ada, bob, eve, policy } = scene;
    const report = await makeReport(account);
    const none = { approved: 0, denied: 0, voted: 0, signed: 0 };
    const person = { kind: 'person', ...none };
    expect(report.deciders).toEqual([
      {
        ...person,
        decided_by: bob.id,
        name: 'Bob',
        role: 'approver',
        approved: 3,
        voted: 1,
        signed: 1,
      },
      {
        ...person,
        decided_by: ada.id,
        name: 'Ada',
        role: 'admin',
        approved: 1,
        voted: 2,
        signed: 2,
      },
      ...[
        { ...person, decided_by: account.id, name: null, role: null, denied: 1 },
        { ...person, decided_by: eve.id, name: 'Eve', role: 'approver', denied: 1 },
        { ...none, decided_by: policy, kind: 'policy', name: 'Automatic', role: null, approved: 1 },
      ].toSorted((a, b) => (a.decided_by < b.decided_by ? -1 : 1)),
    ]);
    expect(report.summary).toMatchObject({
      approved_by_person: 4,
      denied_by_person: 2,
      approved_by_policy: 1,
    });
  });

  it('are the people behind an approval by a series, which nobody took alone or quickly', async () => {
    const scene = await makeSeriesScene('enterprise');
    const { account, agent, ada, world } = scene;
    const asked = await agent.request({ ...ACT, series: SERIES });
    world.advance(60_000);
    await approve(account, ada, asked.id, { series: SERIES });
    for (let n = 0; n < 2; n++) await agent.request(ACT);
    const report = await makeReport(account);
    expect(report.summary).toMatchObject({
      approved: 3,
      approved_by_person: 1,
      approved_by_policy: 0,
      approved_by_series: 2,
    });
    expect(report.deciders).toMatchObject([{ decided_by: ada.id, approved: 1, by_series: 2 }]);
    expect(report.exceptions.map(({ kind }: Json) => kind)).not.toContain('quick_decision');
    const all = JSON.stringify(report.controls.length > 0 ? report.controls : report);
    expect(all).toContain('2 requests were approved by a series: people approved a first request');
  });

  it('have the present name and role of a member, also of a removed one, and none once the member is erased', async () => {
    const { account, world, ada, bob, eve, agent } = await makeScene();
    for (const member of [ada, bob, eve]) {
      await approve({ world }, member, (await agent.request({ action: 'mail.send' })).id);
    }
    await account.must(200, 'PUT', `/v1/members/${ada.id}`, {
      name: 'Ada Lovelace',
      role: 'auditor',
    });
    await account.must(204, 'DELETE', `/v1/members/${bob.id}`);
    // As the sweep does when the retention and seven days are over.
    await env.DB.prepare('delete from members where name = ?').bind('Eve').run();
    const { deciders } = await makeReport(account);
    const shown = deciders.map(({ decided_by, name, role }: Json) => [decided_by, name, role]);
    expect(shown.toSorted()).toEqual(
      [
        [ada.id, 'Ada Lovelace', 'auditor'],
        [bob.id, 'Bob', 'approver'],
        [eve.id, null, null],
      ].toSorted(),
    );
  });

  it('have only the votes of requests that ended in the period', async () => {
    const scene = await makeScene();
    const { world, account, agent, ada, bob } = scene;
    const id = await request(scene, agent, 'pay.out', { expires_in: 604_800 });
    await approve(scene, ada, id);
    world.advance(2 * DAY);
    await approve(scene, bob, id);
    const deciders = async (start: string, end: string) =>
      (await makeReport(account, { period: { start, end } })).deciders.map(
        ({ name, approved, voted }: Json) => [name, approved, voted],
      );
    expect(await deciders('2026-01-31', '2026-02-01')).toEqual([]);
    expect(await deciders('2026-02-02', '2026-02-02')).toEqual([
      ['Bob', 1, 0],
      ['Ada', 0, 1],
    ]);
  });

  it('are a table of the PDF that says which of them are no people', async () => {
    const scene = await makeScene();
    await decideAll(scene);
    const { account, world } = scene;
    const report = await makeReport(account);
    const pages = JSON.stringify(composePages(report as Parameters<typeof composePages>[0]));
    for (const text of [
      'Voted',
      'Signed',
      'Bob',
      'Approver',
      'Admin',
      'Account’s own tokens',
      'Policy',
    ]) {
      expect(pages).toContain(`"text":"${text}"`);
    }
    const id = await startReport(account, { format: 'pdf' });
    await world.work();
    expect(await readReport(account, id)).toMatchObject({ status: 'completed' });
  });
});

describe('the segregation of duties', () => {
  it('is described by what the entries show', async () => {
    const scene = await makeScene();
    await decideAll(scene);
    const { account, bobsAgent } = scene;
    const log = await account.log();
    const decisions = (test: (entry: Json) => boolean) =>
      log
        .filter((entry) => /approve|deny/.test(entry.event_type) && test(entry))
        .map(({ id }) => id);
    const reviewed = decisions(({ details }) => details.review_policy_id);
    const signed = decisions(({ details }) => details.votes?.some((vote: Json) => vote.signed));
    const owned = decisions(({ agent_id }) => agent_id === bobsAgent.id);
    const unreviewed = decisions(({ details }) => !details.review_policy_id && !details.policy_id);
    expect([reviewed, signed, owned, unreviewed].map(({ length }) => length)).toEqual([3, 3, 2, 3]);
    for (const [report_type, control] of [
      ['soc2_type2', 'CC6.3'],
      ['iso27001', 'A.5.3'],
    ] as const) {
      const report = await makeReport(account, { report_type });
      const found = findingsOf(report, control);
      const expected: [start: string, ids: string[]][] = [
        [
          '2 review policies are active: 1 with approval by two or more people, 1 with approvals signed with a passkey, 1 in which the agent’s owner may approve.',
          [],
        ],
        [
          '3 of 6 decisions of people were taken under a review policy: 2 approvals (1 by 1 person, 1 by 2 people) and 1 denial,',
          reviewed,
        ],
        ['3 of 8 decisions and votes of members are signed with a passkey.', signed],
        [
          '2 requests were approved by the member who owned the agent when the report was made: 1 under a review policy, 1 without one.',
          owned,
        ],
        [
          '3 requests that people decided were routed by no review policy: 2 decided by one member each, 1 with the account’s own user tokens, which name no person. Policies took 1 decision without people. 2 review policies were active',
          unreviewed,
        ],
      ];
      for (const [start, ids] of expected) {
        const finding = found.find(({ text }: Json) => text.startsWith(start));
        expect([start, finding?.entries, finding?.entry_ids]).toEqual([start, ids.length, ids]);
      }
    }
    const { exceptions } = await makeReport(account);
    const found = exceptions.find(({ kind }: Json) => kind === 'approved_by_owner');
    expect(found).toMatchObject({ severity: 'medium', entries: 2, entry_ids: owned });
    expect(found.text).toContain('1 under a review policy, 1 without one');
  });

  it('names no self-approval if nobody owns the agents, or the owner denied', async () => {
    const scene = await makeScene();
    const { account, agent, bobsAgent, ada, bob } = scene;
    await approve(scene, bob, await request(scene, agent, 'mail.send'));
    await approve(scene, ada, await request(scene, bobsAgent, 'mail.send'));
    await deny(scene, bob, await request(scene, bobsAgent, 'mail.send'));
    const report = await makeReport(account);
    expect(JSON.stringify(findingsOf(report, 'CC6.3'))).toContain(
      '0 requests were approved by the member who owned',
    );
    expect(report.exceptions.map(({ kind }: Json) => kind)).not.toContain('approved_by_owner');
  });
});

describe('the exception of one decider', () => {
  const dominant = async (account: TestAccount) =>
    (await makeReport(account)).exceptions.find(({ kind }: Json) => kind === 'one_decider');

  it('names the member, with the role', async () => {
    const scene = await makeScene();
    const { account, agent, bob } = scene;
    for (let i = 0; i < 10; i++) {
      await approve(
        scene,
        bob,
        await request(scene, agent, 'mail.send', { resource: `mailbox:${i}` }),
      );
    }
    const approvals = (await account.log('&event_type=approve')).map(({ id }) => id);
    expect(await dominant(account)).toEqual({
      kind: 'one_decider',
      severity: 'medium',
      text: `One member, “Bob” (${bob.id}), an approver, took 10 decisions of 10 (100 %) alone: nobody else voted on these requests.`,
      entries: 10,
      entry_ids: [approvals[0], approvals[9]],
    });
  });

  it('is not made of decisions on which somebody else voted', async () => {
    const scene = await makeScene();
    const { account, agent, ada, bob } = scene;
    for (let i = 0; i < 10; i++) {
      const id = await request(scene, agent, 'pay.out', { resource: `mailbox:${i}` });
      await approve(scene, ada, id);
      await approve(scene, bob, id);
    }
    expect(await dominant(account)).toBeUndefined();
  });

  it('says that the account’s own user tokens name no person', async () => {
    const scene = await makeScene();
    const { account, agent } = scene;
    for (let i = 0; i < 10; i++) {
      const id = await request(scene, agent, 'mail.send', { resource: `mailbox:${i}` });
      await account.must(200, 'POST', `/v1/permissions/${id}/approve`);
    }
    expect((await dominant(account)).text).toContain(
      `10 decisions of 10 (100 %) were taken with the account’s own user tokens (${account.id}), which name no person`,
    );
  });
});

it('a report reads one row more for each vote', { timeout: 60_000 }, async () => {
  let read = 0;
  const DB = {
    prepare: (sql: string) => env.DB.prepare(sql),
    batch: async (statements: D1PreparedStatement[]) => {
      const results = await env.DB.batch(statements);
      for (const { meta } of results) read += meta.rows_read;
      return results;
    },
  } as unknown as D1Database;
  const account = await new World({ DB }).account({ plan: 'enterprise' });
  await fillLog(await account.agent(), 3_000, 10);
  const set = (assignments: string, ...values: string[]) =>
    env.DB.prepare(
      `update audit_entries set details = json_set(details, ${assignments}) where event in (1, 2)`,
    )
      .bind(...values)
      .run();
  await set(`'$.decided_by', ?`, account.id);
  await account.world.sweep();
  const measure = async () => {
    read = 0;
    const { deciders } = await makeReport(account);
    return [read, deciders[0].approved + deciders[0].denied];
  };
  const [before, decisions] = await measure();
  const by = 'member_01h2xcejqtf2nbrexx3vqjhp41';
  const votes = [true, false].map((signed) => ({ by, decision: 'approve', signed }));
  await set(
    `'$.decided_by', ?, '$.votes', json(?), '$.review_policy_id', 'policy_1'`,
    by,
    JSON.stringify(votes),
  );
  const [after] = await measure();
  expect(decisions).toBe(1_000);
  expect(Number(after) - Number(before)).toBeLessThan(2 * Number(decisions) + 100);
});

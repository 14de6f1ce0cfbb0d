import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { toHex } from '../../src/lib/bytes';
import { type Id, idBytes } from '../../src/lib/typeid';
import { readLinks, readText } from '../support/html';
import { makeMember } from '../support/members';
import {
  copyMany,
  makeOutcomeScene,
  REPORT_PERIOD,
  report,
  usePromised,
} from '../support/outcomes';

/** The most rows that a page of these reads. */
const MOST_READ = 1_200;

async function open(role = 'approver') {
  const scene = await makeOutcomeScene();
  return { ...scene, member: await makeMember(scene.account, role) };
}

it('the card of a request shows its outcome as the word of the program', async () => {
  const { world, agent, member } = await open();
  const { id } = await usePromised(agent);
  const card = async () => readText((await member.browser.get(`/console/permissions/${id}`)).text);
  expect(await card()).toContain('outcome awaited');
  world.advance(REPORT_PERIOD);
  const unknown = await card();
  expect(unknown).toContain('outcome unknown');
  expect(unknown).toContain('No report came.');
  await report(agent, id, { status: 'failed', summary: '<b>Bounced</b> \u202e' });
  const page = await member.browser.get(`/console/permissions/${id}`);
  expect(page.text).not.toContain('<b>Bounced');
  const failed = readText(page.text);
  for (const part of [
    'reported as failed',
    'The program’s own word: nobody has checked it, and it is not in the log',
    '<b>Bounced</b> U+202E',
    'Part of the act may have happened',
  ])
    expect(failed).toContain(part);
  expect(page.cost.trips).toBeLessThanOrEqual(2);
});

it('the card of a request that promised nothing says nothing of an outcome', async () => {
  const { agent, member } = await open();
  const { id, token } = await agent.approved();
  await agent.must(200, 'POST', '/v1/tokens/use', { token: token.value });
  const page = await member.browser.get(`/console/permissions/${id}`);
  expect(readText(page.text)).not.toContain('What happened then');
});

it('the inbox has a tab of the acts whose outcome is unknown, reported so or not', async () => {
  const { world, account, agent, member } = await open('auditor');
  const second = await account.agent({ name: 'Second' });
  const empty = await member.browser.get('/console?outcome=unknown');
  expect(readText(empty.text)).toContain('No outcome is unknown.');
  const told = await usePromised(agent, { preview: { title: 'Pay invoice 118' } });
  await report(agent, told.id, { status: 'unknown', summary: 'The bank did not answer' });
  world.advance(1);
  const silent = await usePromised(second);
  const done = await usePromised(agent);
  await report(agent, done.id);
  world.advance(REPORT_PERIOD);
  const page = await member.browser.get('/console?outcome=unknown');
  const links = readLinks(page.text).filter((link) => link.startsWith('/console/permissions/'));
  expect(links).toEqual([silent, told].map(({ id }) => `/console/permissions/${id}`));
  const text = readText(page.text);
  expect(text).toContain('Agent says: Pay invoice 118');
  expect(text).toContain('The program says: “The bank did not answer”');
  expect(page.cost.trips).toBeLessThanOrEqual(2);
  expect(readLinks(page.text)).toContain('/console?status=approved');
  const one = await member.browser.get(`/console?outcome=unknown&agent_id=${second.id}`);
  expect(readLinks(one.text).filter((link) => link.startsWith('/console/perm'))).toEqual([
    `/console/permissions/${silent.id}`,
  ]);
  expect(readLinks((await member.browser.get('/console')).text)).toContain(
    '/console?outcome=unknown',
  );
});

describe('the acts whose outcome is unknown', () => {
  /** An account with many of them of two agents, beside one with others. */
  async function openMany(stored: number, overdue: number) {
    const scene = await open();
    const { account, agent, others, world } = scene;
    const second = await account.agent({ name: 'Second' });
    await copyMany((await usePromised(await others[1].agent())).id, 300, 'unknown');
    await copyMany((await usePromised(agent)).id, stored, 'unknown');
    await copyMany((await usePromised(second)).id, overdue, 'awaited');
    world.advance(REPORT_PERIOD);
    const { results } = await env.DB.prepare(
      `select lower(hex(id)) as id, agent from permissions
       where account = (select number from accounts where id = ?) and outcome_state in (1, 2)
       order by request_entry desc`,
    )
      .bind(idBytes(account.id as Id<'user'>))
      .all<{ id: string; agent: number }>();
    expect(results).toHaveLength(stored + overdue + 2);
    return { ...scene, second, all: results.map(({ id }) => id) };
  }

  type Many = Awaited<ReturnType<typeof openMany>>;

  /** The ids on every page. */
  async function readAll({ member }: Many, query = ''): Promise<string[]> {
    const ids: string[] = [];
    for (let path: string | undefined = `/console?outcome=unknown${query}`; path; ) {
      const { text, cost } = await member.browser.get(path);
      expect([cost.trips, cost.read < MOST_READ]).toEqual([2, true]);
      const links = readLinks(text);
      const rows = links.filter((link) => link.startsWith('/console/permissions/'));
      ids.push(...rows.map((link) => toHex(idBytes(link.split('/')[3] as Id<'perm'>))));
      path = links.find((link) => link.includes('cursor='));
    }
    return ids;
  }

  /** Sorts ids by the time of their decisions. */
  async function byDecision(ids: string[]): Promise<string[]> {
    const { results } = await env.DB.prepare(
      `select lower(hex(id)) as id from permissions where lower(hex(id)) in (select value from json_each(?))
       order by decided_at desc, permissions.id desc`,
    )
      .bind(JSON.stringify(ids))
      .all<{ id: string }>();
    return results.map(({ id }) => id);
  }

  it('are in the order of their decisions on every page', async () => {
    const scene = await openMany(70, 50);
    const sorted = await byDecision(scene.all);
    expect(sorted).not.toEqual(scene.all);
    expect(await readAll(scene)).toEqual(sorted);
    const ofSecond = await readAll(scene, `&agent_id=${scene.second.id}`);
    expect(ofSecond).toHaveLength(51);
    expect(ofSecond).toEqual(sorted.filter((id) => ofSecond.includes(id)));
  });

  it('are in this order too where there are hundreds', async () => {
    const scene = await openMany(580, 30);
    const sorted = await byDecision(scene.all);
    expect(await readAll(scene)).toEqual(sorted);
    const ofSecond = await readAll(scene, `&agent_id=${scene.second.id}`);
    expect(ofSecond).toEqual(sorted.filter((id) => ofSecond.includes(id)));
    expect(ofSecond).toHaveLength(31);
  });
});

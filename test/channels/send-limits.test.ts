import { describe, expect, it } from 'vitest';
import {
  confirmationPath,
  confirmEmail,
  makeMember,
  makeReachableMember,
} from '../support/members';
import { MAIL_SETTINGS, Resend } from '../support/resend';
import { type Json, World } from '../support/world';
import { makeSlackScene, textsOf } from './slack/scene';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

let scenes = 0;

/** Some accounts with a channel for e-mail each, of which one person is a member everywhere. */
async function makeScene(accounts: number) {
  scenes += 1;
  const world = new World(MAIL_SETTINGS);
  const domain = `limits-${scenes}.example.com`;
  const email = `ada@${domain}`;
  const resend = new Resend(world, domain);
  const places = [];
  for (let i = 0; i < accounts; i++) {
    const account = await world.account({ name: 'BUY NOW' });
    const member = await makeMember(account, 'admin', i % 2 === 0 ? email : `ADA@${domain}`);
    const { body: channel } = await account.must(201, 'POST', '/v1/channels', {
      kind: 'email',
      name: 'BUY NOW',
    });
    const test = () =>
      world.call('POST', `/v1/channels/${channel.id}/test`, { token: member.token, body: {} });
    places.push({ account, member, channel, test });
  }
  return { world, resend, email, places };
}

describe('a confirmation mail', () => {
  it('has fixed words, and its link changes nothing until the member confirms', async () => {
    const { world, resend, email, places } = await makeScene(2);
    const [, place] = places as [Json, Json];
    const { browser, id } = place.member;
    const proven = async () =>
      (await place.account.must(200, 'GET', `/v1/members/${id}`)).body.email_proven;
    expect(await proven()).toBe(false);
    expect((await browser.send('GET', '/console/me')).text).toContain(
      'You get no mail until you confirm',
    );
    expect((await browser.submit('/console/me/email/confirmation')).status).toBe(200);
    const [mail] = resend.mails;
    expect(resend.mails).toHaveLength(1);
    expect(mail?.to.toLowerCase()).toBe(email);
    expect(mail?.subject).toBe('Confirm your e-mail address');
    expect(mail?.text).not.toContain('BUY');
    const path =
      /https:\/\/countersign\.test(\/console\/me\/email\S+)/.exec(mail?.text ?? '')?.[1] ?? '';
    const page = await browser.send('GET', path);
    expect(page.status).toBe(200);
    expect(await proven()).toBe(false);
    const { browser: stranger } = await makeMember(place.account, 'admin');
    expect((await stranger.submit(path)).status).toBe(403);
    expect((await (places[0] as Json).member.browser.submit(path)).status).toBe(403);
    expect((await browser.submit(path.replace(/expires=(\d)/, 'expires=9$1'))).status).toBe(403);
    expect((await browser.submit(path)).status).toBe(303);
    expect(await proven()).toBe(true);
    const { body: me } = await world.must(200, 'GET', '/v1/me', { token: place.member.token });
    expect(me.member.email_proven).toBe(true);
    const { data } = (await place.account.must(200, 'GET', '/v1/members')).body;
    expect(data.filter((each: Json) => each.email_proven).map((each: Json) => each.id)).toEqual([
      id,
    ]);
    expect((await browser.send('GET', '/console/me')).text).not.toContain('You get no mail');
  });

  it('is sent once a day to an address, over all accounts, and its link works as long', async () => {
    const { world, resend, places } = await makeScene(2);
    const send = (i: number) =>
      (places[i] as Json).member.browser.submit('/console/me/email/confirmation');
    expect((await send(0)).status).toBe(200);
    expect((await send(1)).status).toBe(429);
    expect((await send(0)).status).toBe(429);
    const { account, member } = places[1] as Json;
    const path = await confirmationPath(world, {
      account: account.id,
      member: member.id,
      email: member.email,
    });
    world.advance(DAY);
    for (const { member } of places) await member.browser.signIn();
    expect((await member.browser.submit(path)).status).toBe(403);
    expect((await send(1)).status).toBe(200);
    expect(resend.mails).toHaveLength(2);
  });

  it('that was not sent may be sent again', async () => {
    const { resend, places } = await makeScene(1);
    const { browser } = (places[0] as Json).member;
    resend.failures.push(500);
    expect((await browser.submit('/console/me/email/confirmation')).status).toBe(503);
    expect((await browser.submit('/console/me/email/confirmation')).status).toBe(200);
  });
});

describe('mails to one address', () => {
  it('are five a minute at most, over all accounts and with the tests, and the others wait', async () => {
    const { world, resend, places } = await makeScene(3);
    for (const { account, member } of places) await confirmEmail(account, member);
    for (let i = 0; i < 12; i++) expect((await (places[i % 3] as Json).test()).status).toBe(202);
    const counts = [];
    for (let minute = 0; minute < 4; minute++) {
      await world.sweep();
      await world.deliver();
      counts.push(resend.mails.length);
      world.advance(MINUTE);
    }
    expect(counts).toEqual([5, 10, 12, 12]);
    expect(resend.mails.every(({ subject }) => !subject.includes('BUY'))).toBe(true);
    const { account, channel } = places[0] as Json;
    const { data } = (await account.must(200, 'GET', `/v1/channels/${channel.id}/deliveries`)).body;
    expect(data.map(({ status, attempts }: Json) => [status, attempts])).toEqual(
      Array.from({ length: 4 }, () => ['succeeded', 1]),
    );
  });

  it('about requests become one digest of each account, none of which is lost', async () => {
    const { world, resend, places } = await makeScene(2);
    for (const { account, member } of places) await confirmEmail(account, member);
    const ids: string[] = [];
    for (const { account } of places) {
      const agent = await account.agent();
      for (let i = 0; i < 4; i++) ids.push((await agent.request()).id);
    }
    await world.deliver();
    expect(resend.mails).toHaveLength(5);
    world.advance(MINUTE);
    await world.sweep();
    await world.deliver();
    expect(resend.mails.length).toBeLessThanOrEqual(7);
    const texts = resend.mails.map(({ text }) => text).join('\n');
    for (const id of ids) expect(texts).toContain(`/console/permissions/${id}`);
  });

  it('count no longer after a day', async () => {
    const world = new World(MAIL_SETTINGS);
    const account = await world.account();
    const { browser } = await makeReachableMember(account, 'admin');
    await browser.submit('/console/me/email/confirmation');
    const count = async () => {
      const databases = [world.env.DB, world.env.DB_01, world.env.DB_02].flatMap(
        (database) => database ?? [],
      );
      const rows = databases.map((database) =>
        database.prepare('select count(*) as n from send_counts').first<number>('n'),
      );
      return (await Promise.all(rows)).reduce<number>((sum, n) => sum + (n ?? 0), 0);
    };
    world.advance(2 * DAY);
    await world.clean();
    expect(await count()).toBe(0);
  });
});

describe('posts to a Slack channel', () => {
  it('are 20 a minute at most, then one that counts the rest and links to the inbox', async () => {
    const world = new World();
    await world.account();
    const scene = await makeSlackScene({}, world);
    const { slack, agent, account } = scene;
    const requests = [];
    for (let i = 0; i < 50; i++) requests.push(await agent.request());
    await world.deliver();
    expect(slack.messages).toHaveLength(20);
    world.advance(MINUTE);
    await world.sweep();
    await world.deliver();
    expect(slack.messages).toHaveLength(21);
    expect(textsOf(slack.messages[20]?.blocks)).toContain('30 more requests wait for a decision.');
    expect(JSON.stringify(slack.messages[20]?.blocks)).toContain(
      'https://countersign.test/console"',
    );
    const last = requests.at(-1) as Json;
    await account.must(200, 'POST', `/v1/permissions/${last.id}/deny`, {});
    await account.must(200, 'POST', `/v1/permissions/${(requests[0] as Json).id}/deny`, {});
    await world.deliver();
    // The first has a message of its own, which is updated. The last has none, so its end is
    // posted.
    expect(slack.messages).toHaveLength(22);
    expect(textsOf(slack.messages[20]?.blocks)).toContain('30 more requests');
    expect(slack.messages.filter(({ updates }) => updates > 0)).toHaveLength(1);
    const { data } = (await account.must(200, 'GET', `/v1/permissions/${last.id}/notifications`))
      .body;
    expect(data.map(({ status }: Json) => status)).toEqual(['succeeded', 'succeeded']);
  });
});

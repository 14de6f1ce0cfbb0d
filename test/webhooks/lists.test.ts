import { env } from 'cloudflare:test';
import { expect, it } from 'vitest';
import { depth } from '../support/depth';
import { watchLog } from '../support/log';
import { countRows } from '../support/tables';
import { makeProvenWebhook } from '../support/webhooks';
import { type Json, type TestAccount, World } from '../support/world';

const MANY = 20_000;
const DAY = 86_400_000;

const log = watchLog();

type State = 'new' | 'retried' | 'canceled' | 'succeeded' | 'failed';
type History = [state: State, count: number][];

/**
 * Makes a webhook with deliveries in the given states, oldest first and a millisecond apart.
 * Retries are due in a day, the oldest last. Canceled deliveries had one attempt before the webhook
 * was disabled.
 */
async function makeHistory(parts: History) {
  const world = new World();
  const account = await world.account();
  const webhook = await makeProvenWebhook(account);
  const states: State[] = [];
  for (const [state, count] of parts) {
    const isTried = state !== 'new';
    const status = { new: 0, retried: 0, canceled: 0, succeeded: 1, failed: 2 }[state];
    const time = world.now + states.length;
    await env.DB.prepare(
      `with recursive n(value) as (select 0 union all select value + 1 from n where value < ?1 - 1)
       insert into deliveries (receiver, id, original, disable_count, event, pos, agent, payload, status, attempts, due_at,
         last_status_code, last_error, duration, failures, created_at, completed_at)
       select number, unhex(printf('%012x', ?2 + value) || hex(randomblob(10))), null,
         iif(?3 = 'canceled', -1, disable_count), 5, null, null, '{"n":' || value || '}', ?4, ?5,
         iif(?4 = 0, iif(?5 = 0, ?2 + value, ?2 + ?6 - value), null), null, null, null, null, ?2 + value, null
       from n cross join receivers where number = (select max(number) from receivers)`,
    )
      .bind(count, time, state, status, isTried ? 1 : 0, DAY + MANY)
      .run();
    states.push(...Array<State>(count).fill(state));
  }
  world.advance(states.length);
  return { world, account, webhook, states: states.reverse() };
}

/** Reads all pages of a list, or the first `most`. */
async function readPages(
  account: TestAccount,
  webhook: { id: string },
  query: string,
  most = Number.POSITIVE_INFINITY,
) {
  const pages: { items: Json[]; read: number }[] = [];
  for (let cursor: string | null = ''; cursor !== null && pages.length < most; ) {
    const path = `/v1/webhooks/${webhook.id}/deliveries?${query}${cursor && `&cursor=${cursor}`}`;
    const { body, cost }: Json = await account.must(200, 'GET', path);
    pages.push({ items: body.data, read: cost.read });
    cursor = body.next_cursor;
  }
  return pages;
}

it.each<[string, History]>(
  depth.cases(
    [
      ['a webhook whose deliveries wait for their first attempt', [['new', MANY]]],
      ['a webhook whose deliveries wait for a retry', [['retried', MANY]]],
      ['a webhook whose deliveries succeeded', [['succeeded', MANY]]],
      ['a webhook whose deliveries failed', [['failed', MANY]]],
      ['a webhook that was disabled', [['canceled', MANY]]],
      ['a webhook that recovered', [...mixed(30), ['succeeded', MANY]]],
      [
        'a webhook that failed recently',
        [...mixed(30), ['retried', MANY / 2], ['failed', MANY / 2]],
      ],
    ],
    3,
  ),
)(
  'a page of the deliveries of %s reads few rows, however many deliveries there are',
  async (_, history) => {
    const { account, webhook } = await makeHistory(history);
    for (const status of ['', '&status=pending', '&status=failed']) {
      for (const { read } of await readPages(account, webhook, `limit=20${status}`, 3)) {
        expect([status, read]).toEqual([status, expect.toSatisfy((rows: number) => rows <= 150)]);
      }
    }
    // No index covers succeeded deliveries: a page scans at most a thousand rows, and says that
    // there may be more.
    for (const { read } of await readPages(account, webhook, 'limit=20&status=succeeded', 3)) {
      expect(read).toBeLessThanOrEqual(3_200);
    }
    if (history[0]?.[0] === 'succeeded') {
      for (const { read } of await readPages(account, webhook, 'limit=20&status=succeeded', 3)) {
        expect(read).toBeLessThanOrEqual(200);
      }
    }
  },
);

function mixed(count: number): History {
  return (['new', 'succeeded', 'retried', 'failed', 'canceled'] as const).map((state) => [
    state,
    count,
  ]);
}

it.each(depth.cases([100, 7], 2))(
  'pages of %i contain every delivery of each list once and in order',
  async (limit) => {
    const parts: History = [
      ...mixed(3),
      ...mixed(9),
      ['retried', 1_400],
      ['new', 650],
      ...mixed(2),
      ['succeeded', 12],
    ];
    const { account, webhook, states } = await makeHistory(parts);
    const all = (await readPages(account, webhook, 'limit=100')).flatMap(({ items }) => items);
    expect(all.map(({ status }) => status)).toEqual(
      states.map(
        (state) =>
          ({ new: 'pending', retried: 'pending', canceled: 'failed' })[state as string] ?? state,
      ),
    );
    const shown: [string, (state?: State) => boolean][] = [
      ['pending', (state) => state === 'new' || state === 'retried'],
      ['succeeded', (state) => state === 'succeeded'],
      ['failed', (state) => state === 'failed'],
    ];
    for (const [status, isShown] of shown) {
      const pages = await readPages(account, webhook, `limit=${limit}&status=${status}`);
      expect(pages.flatMap(({ items }) => items)).toEqual(all.filter((_, i) => isShown(states[i])));
      expect(Math.max(...pages.map(({ items }) => items.length))).toBeLessThanOrEqual(limit);
    }
  },
);

it.each<[string, History]>([
  ['that wait for a retry', [['retried', MANY]]],
  ['that are canceled', [['canceled', MANY]]],
])(
  'sending a new delivery reads few rows when there are many deliveries %s',
  async (_, history) => {
    const { world, account, webhook } = await makeHistory(history);
    const before = (await countRows(env.DB)).deliveries ?? 0;
    await account.must(202, 'POST', `/v1/webhooks/${webhook.id}/test`);
    log.clear();
    await world.deliver();
    expect(world.internet.sentTo(webhook.host)).toHaveLength(1);
    const [line, ...others] = log.of('queue_message');
    expect(others).toEqual([]);
    expect(line.rows_read).toBeLessThanOrEqual(60);
    expect((await countRows(env.DB)).deliveries).toBe(before + 1);
  },
);

it('first attempts and retries are sent in the order in which they are due', async () => {
  const { world, account, webhook } = await makeHistory([
    ['new', 2],
    ['retried', 2],
    ['new', 2],
    ['retried', 2],
  ]);
  // Makes each retry due when it was created, between the first attempts.
  await env.DB.prepare('update deliveries set due_at = created_at where due_at is not null').run();
  await account.must(202, 'POST', `/v1/webhooks/${webhook.id}/test`);
  const all = (await readPages(account, webhook, 'limit=100')).flatMap(({ items }) =>
    items.map(({ id }) => id),
  );
  await world.deliver();
  const sent = world.internet.sentTo(webhook.host).map(({ headers }) => headers.get('webhook-id'));
  expect(sent).toEqual(all.reverse());
});

it('a worker stops canceling deliveries after its working time, so that other webhooks are served', async () => {
  const { world, account, webhook } = await makeHistory([['canceled', 5_000]]);
  await env.DB.prepare(
    'update receivers set has_canceled = 1 where number = (select max(number) from receivers)',
  ).run();
  await account.must(202, 'POST', `/v1/webhooks/${webhook.id}/test`);
  const isCanceled =
    'disable_count < 0 and status = 0 and receiver = (select max(number) from receivers)';
  const countCanceled = () =>
    env.DB.prepare(`select count(*) as n from deliveries where ${isCanceled}`).first('n');
  // The clock advances by a second each time it is read.
  world.runtime.now = () => {
    world.advance(1_000);
    return world.now;
  };
  await world.deliverOnce();
  expect(await countCanceled()).toSatisfy((left: number) => left > 0 && left < 5_000);
  await world.deliver();
  expect(await countCanceled()).toBe(0);
  expect(world.internet.sentTo(webhook.host)).toHaveLength(1);
});

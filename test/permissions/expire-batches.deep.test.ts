import { env } from 'cloudflare:test';
import { beforeEach, expect, it } from 'vitest';
import { Cost, Database } from '../../src/db/database';
import { SERVICE_AUTHORITY } from '../../src/ledger/authority';
import { Ledger } from '../../src/ledger/ledger';
import { expireOverdue } from '../../src/permissions/expire';
import { makeReview } from '../support/reviews';
import { emptyTables } from '../support/tables';

/** The most bytes that D1 takes in a value. The local one takes more. */
const MAX_BYTES = 2_000_000;
/** How many requests expire together. */
const REQUESTS = 100;

beforeEach(() => emptyTables(env.DB));

/** A client that records the size of the largest text that it binds. */
class MeasuredClient {
  largest = 0;

  prepare(sql: string) {
    return {
      bind: (...values: unknown[]) => {
        for (const value of values) {
          if (typeof value !== 'string') continue;
          this.largest = Math.max(this.largest, new TextEncoder().encode(value).length);
        }
        return env.DB.prepare(sql).bind(...values);
      },
    };
  }

  batch(statements: D1PreparedStatement[]) {
    return env.DB.batch(statements);
  }
}

it('requests with large votes expire in transactions that D1 takes', async () => {
  const { world, account, agent, people } = await makeReview(
    { approvals: 5 },
    Array.from({ length: 5 }, () => 'approver'),
  );
  const scope = { text: '\\'.repeat(1_000), limit: 9 };
  const { id } = await agent.request({ scope, expires_in: 60 });
  for (const [i, { token }] of people.slice(0, 4).entries()) {
    const body = { reason: '\u0001'.repeat(1_000), scope: { ...scope, limit: 8 - i } };
    await world.must(200, 'POST', `/v1/permissions/${id}/approve`, { token, body });
  }
  await copyRequest(REQUESTS - 1);
  world.advance(60_000);
  const client = new MeasuredClient();
  const database = new Database(client as unknown as D1Database, new Cost());
  const ledger = new Ledger(database, SERVICE_AUTHORITY);
  while (await expireOverdue({ reader: database, ledger, runtime: world.runtime }));
  expect(await account.log('&event_type=expire')).toHaveLength(REQUESTS);
  expect(client.largest).toBeLessThan(MAX_BYTES);
  expect(client.largest).toBeGreaterThan(100_000);
});

/** Copies the one request, with its review and votes, as new ones. */
async function copyRequest(copies: number): Promise<void> {
  for (const [table, key] of [
    ['reviews', 'id'],
    ['votes', 'permission'],
    ['permissions', 'id'],
  ] as const) {
    const { results } = await env.DB.prepare(`pragma table_info(${table})`).all<{ name: string }>();
    const columns = results.map(({ name }) => name);
    const copied = columns.map((name) =>
      name === key ? `substr(${name}, 1, 12) || unhex(printf('%08x', n.value))` : name,
    );
    await env.DB.prepare(
      `insert into ${table} (${columns.join()})
       select ${copied.map((name) => (name.startsWith('substr') ? `cast(${name} as blob)` : name)).join()}
       from ${table}, (with recursive n(value) as (select 1 union all select value + 1 from n where value < ?)
         select value from n) as n`,
    )
      .bind(copies)
      .run();
  }
}

import { env } from 'cloudflare:test';
import { type Id, idBytes } from '../../src/lib/typeid';
import type { Answer, Json, TestAccount, TestAgent } from './world';
import { World } from './world';

/** How long a program has for its report, in milliseconds. */
export const REPORT_PERIOD = 600_000;

/**
 * Three accounts, of which the second is tested. The others have an outcome of each status, so that
 * no list or sweep may stop at the account under test.
 */
export async function makeOutcomeScene(world = new World()) {
  const first = await world.account();
  const neighbour = await first.agent();
  for (const status of ['failed', 'unknown', 'succeeded'])
    await report(neighbour, (await usePromised(neighbour)).id, { status });
  const account = await world.account();
  await account.agent();
  const agent = await account.agent();
  const last = await world.account();
  const lastAgent = await last.agent();
  await report(lastAgent, (await usePromised(lastAgent)).id, { status: 'unknown' });
  return { world, account, agent, others: [first, last] as const };
}

/** Takes the use of a permission whose request promised an outcome. */
export async function usePromised(
  agent: TestAgent,
  fields: Json = {},
  user: TestAgent | TestAccount = agent,
): Promise<Json> {
  const permission = await agent.approved({ reports_outcome: true, ...fields });
  await user.must(200, 'POST', '/v1/tokens/use', { token: permission.token.value });
  return permission;
}

/** Sends a report. */
export function report(
  caller: Pick<TestAgent, 'call'>,
  id: string,
  body: Json = { status: 'succeeded' },
): Promise<Answer> {
  return caller.call('POST', `/v1/permissions/${id}/outcome`, body);
}

/** The status of an answer and its problem code or, for a permission, the status of its outcome. */
export function resultOf({ status, body }: Answer) {
  return [status, body.code ?? body.outcome?.status];
}

/** The outcome of a permission as a caller reads it. */
export async function readOutcome(caller: TestAgent | TestAccount, id: string): Promise<Json> {
  return (await caller.must(200, 'GET', `/v1/permissions/${id}`)).body.outcome;
}

/** The states that copies may have, as they are stored. */
const STATES = { awaited: 1, unknown: 2, failed: 4 };

/**
 * Copies a permission of the newest places in the log many times, with another state. Their
 * decisions have another order than their requests, and some the same time.
 */
export async function copyMany(
  id: Id<'perm'>,
  count: number,
  state: keyof typeof STATES,
): Promise<void> {
  const { results } = await env.DB.prepare('select * from permissions where id = ?')
    .bind(idBytes(id))
    .all<Record<string, unknown>>();
  const columns = Object.keys(results[0] ?? {});
  const changed: Record<string, string> = {
    id: 'randomblob(16)',
    request_entry: 'request_entry + n.value',
    decided_at: 'decided_at + n.value * 37 % 101',
    outcome_state: String(STATES[state]),
  };
  const values = columns.map((column) => changed[column] ?? column);
  await env.DB.prepare(
    `insert into permissions (${columns.join()}) select ${values.join()} from permissions,
       (with recursive n(value) as (select 1 union all select value + 1 from n where value < ?)
        select value from n) as n where id = ?`,
  )
    .bind(count, idBytes(id))
    .run();
}

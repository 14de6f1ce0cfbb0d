import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Answer, Client } from '../support/local/client.ts';
import { findRuntimes, prepareState, startService } from '../support/local/service.ts';
import { createTenant } from '../support/local/tenant.ts';
import type { Report } from './report.ts';

const MAX_WRITTEN = 28;
const MAX_WRITTEN_WITH_KEYS = 37;
const MAX_WRITTEN_FOR_OUTCOME = 4;
/** What a budget adds to an approval that it counts. */
const MAX_WRITTEN_BY_BUDGET = 1;
/** What a series adds to the approval that gives it, and to an act that it approves. */
const MAX_WRITTEN_BY_SERIES = 1;
/** The end of a series: its row, which changes its place in the table, and the activity record. */
const MAX_WRITTEN_BY_END = 5;
const MAX_TRIPS = 2;
const MAX_TRIPS_OF_USE = 1;
const MAX_DOLLARS = 30;

/** List prices of Workers and D1, in dollars a million. */
const PRICES = { written: 1, read: 0.001, request: 0.3, milliseconds: 0.02 };

/** How many cycles the CPU is measured over. */
const CYCLES = 200;

type Permission = { id: string; token: { value?: string } | null };
type Decided = Permission & { status: string };
interface Step {
  name: string;
  answer: Answer<Permission>;
}

/**
 * Measures a cycle (ask with an input and an external id, approve, read, use): the rows that each
 * statement reads and writes, and what a million cycles cost.
 */
export async function measureCycle(report: Report, state: string): Promise<void> {
  report.heading('A cycle: ask with an input and an external id, approve, read, use');
  await prepareState(state);
  const service = await startService(state, 'test/bench/metered-worker.ts');
  try {
    const { token, agents } = await createTenant(service.origin, 'enterprise', 1);
    const user = new Client(service.origin, token);
    const agent = new Client(service.origin, agents[0]?.key ?? '');
    // The first calls of a minute also record the use of the credentials.
    await runCycle(user, agent);
    const steps = await runCycle(user, agent);
    for (const { name, answer } of steps) showStatements(report, name, answer);
    const written = sum(steps, 'written');
    const read = sum(steps, 'read');
    report.atMost(MAX_WRITTEN, written, 'rows written in a cycle');
    report.note(`rows read in a cycle: ${read}`);
    const trips = steps.find(({ name }) => name === 'use')?.answer.cost.trips ?? Infinity;
    report.atMost(MAX_TRIPS_OF_USE, trips, 'trips of a use');
    const withKeys = await runCycle(user, agent, {
      headers: () => ({ 'Idempotency-Key': randomUUID() }),
    });
    report.atMost(
      MAX_WRITTEN_WITH_KEYS,
      sum(withKeys, 'written'),
      'the same with idempotency keys',
    );
    await measureBudget(report, user, agent);
    await measureSeries(report, { origin: service.origin, user, agent });
    // By now the token is a member's, whose decision stands in one index more.
    const plain = sum(await runCycle(user, agent), 'written');
    for (const status of ['succeeded', 'failed', 'unknown']) {
      const reported = await runCycle(user, agent, { outcome: status });
      const more = sum(reported, 'written') - plain;
      report.atMost(MAX_WRITTEN_FOR_OUTCOME, more, `rows more for an outcome that is ${status}`);
    }
    const milliseconds = await measureCpu(service.pid, () => runCycle(user, agent));
    const dollars =
      written * PRICES.written +
      read * PRICES.read +
      steps.length * PRICES.request +
      milliseconds * PRICES.milliseconds;
    report.note(
      `CPU of the local runtime with its database: ${milliseconds.toFixed(1)} ms a cycle`,
    );
    report.atMost(MAX_DOLLARS, Math.round(dollars * 10) / 10, 'dollars a million cycles');
  } finally {
    await service.stop();
  }
}

/** Measures a request that a policy approves, without a budget, with one, and without room. */
async function measureBudget(report: Report, user: Client, agent: Client): Promise<void> {
  const asked = { action: 'refund.send', resource: 'order:1', scope: { amount: 10 } };
  const policy = { name: 'Refunds', effect: 'approve', actions: ['refund.*'], resources: ['*'] };
  const { body } = await user.expect<{ id: string }>(201, 'POST', '/v1/policies', policy);
  const ask = async (name: string, status: string) => {
    const answer = await agent.expect<Permission & { status: string }>(
      201,
      'POST',
      '/v1/permissions',
      asked,
    );
    if (answer.body.status !== status) throw new Error(`the request is ${answer.body.status}`);
    showStatements(report, name, answer);
    return answer.cost;
  };
  const plain = await ask('ask, approved by a policy', 'approved');
  const budget = { per: 'day', requests: 2, sum: { key: 'amount', max: 20 } };
  await user.expect(200, 'PUT', `/v1/policies/${body.id}`, { budget });
  const counted = await ask('the same, within a budget', 'approved');
  await ask('the same again', 'approved');
  await ask('the same, without room', 'pending');
  const more = counted.written - plain.written;
  report.atMost(MAX_WRITTEN_BY_BUDGET, more, 'rows more for an approval that a budget counts');
  await user.expect(204, 'DELETE', `/v1/policies/${body.id}`);
}

/**
 * Measures a series: the approval that gives it, beside one that gives none; an act that it
 * approves, beside one that a policy approves; and its end.
 */
async function measureSeries(
  report: Report,
  { origin, user, agent }: { origin: string; user: Client; agent: Client },
): Promise<void> {
  const asked = { action: 'payout.send', resource: 'order:1', scope: { amount: 10 } };
  const act = () => agent.expect<Decided>(201, 'POST', '/v1/permissions', asked);
  const ask = (series?: object) =>
    agent.expect<Permission>(201, 'POST', '/v1/permissions', {
      ...asked,
      ...(series && { series }),
    });
  const policy = { name: 'Payouts', effect: 'approve', actions: ['payout.*'], resources: ['*'] };
  const { body: created } = await user.expect<{ id: string }>(201, 'POST', '/v1/policies', policy);
  const byPolicy = await act();
  await user.expect(204, 'DELETE', `/v1/policies/${created.id}`);
  await makeMembersToken(origin);
  const approve = async ({ body }: Answer<Permission>, approval: object) =>
    user.expect<Permission>(200, 'POST', `/v1/permissions/${body.id}/approve`, approval);
  // The first call of a minute also records the use of the credential.
  await approve(await ask(), {});
  const plain = await approve(await ask(), {});
  const series = { requests: 5, expires_in: 3_600 };
  const given = await approve(await ask(series), { series });
  const acted = await act();
  if (acted.body.status !== 'approved') throw new Error(`the act is ${acted.body.status}`);
  const ended = await user.expect<Permission>(
    204,
    'DELETE',
    `/v1/permissions/${given.body.id}/series`,
  );
  const steps = { 'approve, giving a series': given, 'act by the series': acted, 'end it': ended };
  for (const [name, answer] of Object.entries(steps)) {
    showStatements(report, name, answer);
    report.atMost(MAX_TRIPS, answer.cost.trips, `trips of: ${name}`);
  }
  const more = (one: Answer<unknown>, other: Answer<unknown>) =>
    one.cost.written - other.cost.written;
  report.atMost(MAX_WRITTEN_BY_SERIES, more(given, plain), 'rows more to give a series');
  report.atMost(
    MAX_WRITTEN_BY_SERIES,
    more(acted, byPolicy),
    'rows more for an act by a series than for one by a policy',
  );
  report.atMost(MAX_WRITTEN_BY_END, ended.cost.written, 'rows written to end a series');
}

/** Makes the account's owner active, and its user token one of the owner, who may give a series. */
async function makeMembersToken(origin: string): Promise<void> {
  const owner = '(select id from members where role = 0)';
  for (const sql of [
    `update members set status = 1, active_since = created_at, invitation_hash = null where id = ${owner}`,
    `update user_tokens set member = ${owner}`,
  ]) {
    const answer = await fetch(`${origin}/bench/sql`, { method: 'POST', body: sql });
    if (!answer.ok) throw new Error(`${sql}: ${await answer.text()}`);
  }
}

async function runCycle(
  user: Client,
  agent: Client,
  {
    headers = () => ({}),
    outcome,
  }: {
    headers?: () => Record<string, string>;
    /** The outcome that the request promises, and that the agent reports. */
    outcome?: string;
  } = {},
): Promise<Step[]> {
  const ask = {
    ...{ action: 'email.send', resource: 'mailbox:support', scope: { max_recipients: 10 } },
    ...{ input: { to: 'customer@example.com' }, external_id: randomUUID() },
    ...(outcome && { reports_outcome: true }),
  };
  const asked = await agent.expect<Permission>(201, 'POST', '/v1/permissions', ask, headers());
  const path = `/v1/permissions/${asked.body.id}`;
  const approved = await user.expect<Permission>(200, 'POST', `${path}/approve`, {}, headers());
  const read = await agent.expect<Permission>(200, 'GET', path);
  const use = { token: read.body.token?.value, input_digest: digestOf(read) };
  const used = await agent.expect<Permission>(200, 'POST', '/v1/tokens/use', use, headers());
  const steps = [
    { name: 'ask', answer: asked },
    { name: 'approve', answer: approved },
    { name: 'read', answer: read },
    { name: 'use', answer: used },
  ];
  if (!outcome) return steps;
  const body = { status: outcome, summary: 'As told by the agent' };
  const reported = await agent.expect<Permission>(200, 'POST', `${path}/outcome`, body, headers());
  return [...steps, { name: 'report', answer: reported }];
}

function digestOf({ body }: Answer<Permission & { input_digest?: string }>): string | undefined {
  return body.input_digest;
}

function sum(steps: Step[], of: 'read' | 'written'): number {
  return steps.reduce((total, { answer }) => total + answer.cost[of], 0);
}

/** Prints what each statement of an answer that reads or writes a row costs. */
function showStatements(report: Report, name: string, { cost, statements }: Answer<unknown>): void {
  report.note(`${name}: ${cost.trips} trips, reads ${cost.read}, writes ${cost.written}`);
  for (const { sql, read, written } of statements) {
    if (read + written === 0) continue;
    const text = sql.replace(/\s+/g, ' ').trim().slice(0, 70);
    report.note(`  ${String(read).padStart(4)} ${String(written).padStart(4)}  ${text}`);
  }
}

/** Milliseconds of CPU that the runtime takes for each run. */
async function measureCpu(pid: number, run: () => Promise<unknown>): Promise<number> {
  const before = cpuOf(pid);
  for (let i = 0; i < CYCLES; i++) await run();
  return (cpuOf(pid) - before) / CYCLES;
}

const TICK = 10;

/** The CPU time of the runtimes below a process so far, in milliseconds. */
function cpuOf(pid: number): number {
  return findRuntimes(pid).reduce((total, runtime) => {
    const fields = readFileSync(`/proc/${runtime}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return total + (Number(fields[11]) + Number(fields[12])) * TICK;
  }, 0);
}

import { env } from 'cloudflare:test';
import { countLogs } from '../../src/agents/statistics/count';
import { foldHours } from '../../src/agents/statistics/fold';
import { Cost, Database } from '../../src/db/database';
import { SERVICE_AUTHORITY } from '../../src/ledger/authority';
import { Ledger } from '../../src/ledger/ledger';
import { expireOverdue } from '../../src/permissions/expire';
import { statisticsChecks } from './check-statistics';
import { makeExport, parseFile } from './exports';
import type { Json, TestAccount, TestAgent, World } from './world';

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

/** Periods of each unit, short and long. */
export const PERIODS = ['1h', '2h', '24h', '720h', '1d', '2d', '30d', '365d'];

/** Counts one slice of the logs that are due. */
export function countSlice(world: World, positions?: number, client = env.DB): Promise<boolean> {
  return countLogs(new Database(client, new Cost()), world.now, positions);
}

/** Folds one slice of old hours. */
export function foldSlice(world: World, hours?: number, client = env.DB): Promise<boolean> {
  return foldHours(new Database(client, new Cost()), world.now, hours);
}

/** Expires what is overdue, without the other work of a sweep. */
async function expireDue({ runtime }: World): Promise<void> {
  const database = new Database(env.DB, new Cost());
  const ledger = new Ledger(database, SERVICE_AUTHORITY);
  while (await expireOverdue({ reader: database, ledger, runtime }));
}

/** The statistics of an agent in each of {@link PERIODS}. */
export async function readStatistics({ account, id }: TestAgent): Promise<Json[]> {
  const read = async (period: string) =>
    (await account.must(200, 'GET', `/v1/agents/${id}/stats?period=${period}`)).body;
  return Promise.all(PERIODS.map(read));
}

/** Every entry of an account's log, from an export of it. */
export async function exportLog(account: TestAccount): Promise<Json[]> {
  const { bytes } = await makeExport(account, { format: 'json', include_details: true });
  return parseFile('json', bytes);
}

/**
 * What the statistics of an agent have to be in each of {@link PERIODS}, from the entries of its
 * account alone, if no request is overdue.
 */
export function expectStatistics(entries: Json[], agent: string, now: number): Json[] {
  const own = entries.filter(({ agent_id }) => agent_id === agent);
  const requestedAt = new Map<string, number>();
  for (const { event_type, permission_request_id, created_at } of own)
    if (event_type === 'request') requestedAt.set(permission_request_id, Date.parse(created_at));
  const used = new Set<string>();
  const firstUses = own.filter(({ event_type, permission_request_id: id }) => {
    if (event_type !== 'use' || used.has(id)) return false;
    used.add(id);
    return true;
  });
  return PERIODS.map((period) => {
    const count = Number.parseInt(period, 10);
    const since = period.endsWith('d')
      ? (Math.floor(now / DAY) - count + 1) * DAY
      : (Math.floor(now / HOUR) - count) * HOUR;
    const isIn = ({ created_at }: Json) => Date.parse(created_at) >= since;
    const requested = (entry: Json) => requestedAt.get(entry.permission_request_id) as number;
    const ofRequests = (type: string) =>
      own.filter((entry) => entry.event_type === type && requested(entry) >= since);
    const ofTokens = (type: string) =>
      own.filter((entry) => entry.event_type === type && isIn(entry)).length;
    const approvals = ofRequests('approve');
    const denied = ofRequests('deny').length;
    const expired = ofRequests('expire').filter(
      ({ details }) => details.expired !== 'token',
    ).length;
    const requests = ofRequests('request').length;
    const waited = approvals.map((entry) => Date.parse(entry.created_at) - requested(entry));
    return {
      period,
      total_requests: requests,
      approved_requests: approvals.length,
      denied_requests: denied,
      pending_requests: requests - approvals.length - denied - expired,
      expired_requests: expired,
      tokens_issued: ofTokens('approve'),
      tokens_used: firstUses.filter(isIn).length,
      tokens_revoked: ofTokens('revoke'),
      avg_approval_time_ms:
        waited.length === 0 ? 0 : waited.reduce((sum, wait) => sum + wait) / waited.length,
    };
  });
}

/** The faults of the stored statistics in a database, in words. */
export async function findFaults(now: number, client = env.DB): Promise<string[]> {
  const found = statisticsChecks(now).map(async ([fault, sql]) => {
    const { results } = await client.prepare(sql).all();
    return results.length > 0 ? [`${fault}: ${JSON.stringify(results)}`] : [];
  });
  return (await Promise.all(found)).flat();
}

/**
 * Writes something of every kind to the log: requests with each outcome, and tokens that expire, are
 * used once or several times, or revoked; over a day and a half. Nothing is overdue at the end.
 * @param approvals how many tokens are used
 */
export async function makeHistory(agent: TestAgent, approvals: number): Promise<void> {
  const { account } = agent;
  const { world } = account;
  const week = { expires_in: 604_800, token_ttl: 604_800, max_uses: 3 };
  const waiting = await agent.request(week);
  for (let n = 0; n < approvals; n++) {
    const { token } = await agent.approved(week);
    for (let uses = 0; uses <= n % 3; uses++) {
      world.advance(40 * 60_000);
      await agent.must(200, 'POST', '/v1/tokens/use', { token: token.value });
    }
  }
  const { token } = await agent.approved(week);
  await agent.approved({ token_ttl: 60 });
  const { id: denied } = await agent.request();
  await account.must(200, 'POST', `/v1/permissions/${denied}/deny`);
  const { id: withdrawn } = await agent.request();
  await agent.must(200, 'POST', `/v1/permissions/${withdrawn}/withdraw`);
  await agent.request({ expires_in: 60 });
  world.advance(25 * HOUR);
  await expireDue(world);
  await account.must(200, 'POST', '/v1/tokens/revoke', { token_id: token.id });
  const late = await agent.request(week);
  world.advance(7 * 60_000 + approvals);
  await account.must(200, 'POST', `/v1/permissions/${late.id}/approve`);
  await account.must(200, 'POST', `/v1/permissions/${waiting.id}/deny`);
}

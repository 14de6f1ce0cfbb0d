import { Client } from '../support/local/client.ts';
import { type Counters, countHistory } from './counters.ts';
import type { Report } from './report.ts';
import type { LoadedTenant } from './tenant.ts';

/** Days are stored as such, and the last 31 by the hour. */
const MAX_READ = { '365d': 1_100, '720h': 750 };
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

interface Statistics {
  total_requests: number;
  approved_requests: number;
  denied_requests: number;
  pending_requests: number;
  expired_requests: number;
  tokens_issued: number;
  tokens_used: number;
  tokens_revoked: number;
  avg_approval_time_ms: number;
}

/**
 * Reads the statistics of an account's one agent over the longest periods, and checks them against
 * its history.
 */
export async function measureStatistics(
  report: Report,
  origin: string,
  tenant: LoadedTenant,
): Promise<void> {
  report.heading(
    `GET /v1/agents/:id/stats of an agent with ${tenant.history.agent.length} requests: rows read`,
  );
  const client = new Client(origin, tenant.token);
  const now = Date.now();
  for (const [period, length, first] of [
    ['365d', DAY, Math.floor(now / DAY) - 364],
    ['720h', HOUR, Math.floor(now / HOUR) - 720],
  ] as const) {
    const path = `/v1/agents/${tenant.agents[0]?.id}/stats?period=${period}`;
    const { cost, body } = await client.expect<Statistics>(200, 'GET', path);
    report.atMost(MAX_READ[period], cost.read, `period ${period}, ${body.total_requests} requests`);
    const counted = total(
      countHistory(tenant.history, length, first).get(0)?.values() ?? [].values(),
    );
    report.verdict(agrees(body, counted), `period ${period} agrees with the history`);
  }
}

function total(buckets: Iterable<Counters>): Counters {
  const [sum, ...rest] = buckets;
  if (!sum) throw new Error('the agent has no requests');
  const whole = { ...sum };
  for (const counters of rest) for (const key of keysOf(whole)) whole[key] += counters[key];
  return whole;
}

function keysOf(counters: Counters): (keyof Counters)[] {
  return Object.keys(counters) as (keyof Counters)[];
}

/**
 * Whether statistics match the history; requests that expired after its end may count as pending or
 * expired.
 */
function agrees(body: Statistics, counted: Counters): boolean {
  const undecided = counted.requests - counted.approved - counted.denied;
  return (
    body.total_requests === counted.requests &&
    body.approved_requests === counted.approved &&
    body.denied_requests === counted.denied &&
    body.pending_requests + body.expired_requests === undecided &&
    body.expired_requests >= counted.expired &&
    body.tokens_issued === counted.tokensIssued &&
    body.tokens_used === counted.tokensUsed &&
    body.tokens_revoked === counted.tokensRevoked &&
    body.avg_approval_time_ms === counted.approvalTime / counted.approved
  );
}

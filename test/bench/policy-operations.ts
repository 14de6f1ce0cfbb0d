import { Client } from '../support/local/client.ts';
import { startService } from '../support/local/service.ts';
import { measure } from './operations.ts';
import type { Report } from './report.ts';
import { enterprise, setScene } from './scene.ts';

const POLICIES = 200;
const EVALUATIONS = 2_000;
const MAX_WRITTEN = 32;
const MAX_TRIPS = 2;
const MAX_MILLISECONDS = 1;

const ENTRIES = 100_000;

/**
 * Creates as many policies as an account can have, each of which needs a full evaluation. Measures
 * a request that one of them approves, and the evaluation alone.
 */
export async function measurePolicies(report: Report, state: string): Promise<void> {
  report.heading(
    `A request that a policy approves, with ${POLICIES} policies and ${ENTRIES} entries`,
  );
  const [{ token, agents }] = await setScene(state, [enterprise(ENTRIES, 200, 360)] as const);
  const { origin, stop } = await startService(state, 'test/bench/metered-worker.ts');
  try {
    await measureApproval(report, origin, token, agents[0]?.key ?? '');
  } finally {
    await stop();
  }
}

async function measureApproval(
  report: Report,
  origin: string,
  token: string,
  key: string,
): Promise<void> {
  const user = new Client(origin, token);
  const agent = new Client(origin, key);
  for (let at = 0; at < POLICIES; at++) {
    await user.expect(201, 'POST', '/v1/policies', {
      ...{
        name: `Policy ${at}`,
        effect: 'approve',
        priority: at,
        actions: ['file.*', '*-0.verb-*'],
      },
      ...{
        resources: ['calendar:*', 'mail*:*port'],
        conditions: { max_recipients: { min: 0, max: 50 } },
      },
    });
  }
  const asked = {
    action: 'area-0.verb-0',
    resource: 'mailbox:support',
    scope: { max_recipients: 10 },
  };
  // The first call of a minute also records the use of the credential.
  await agent.expect(201, 'POST', '/v1/permissions', asked);
  const answer = await agent.expect<{ status: string }>(201, 'POST', '/v1/permissions', asked);
  if (answer.body.status !== 'approved') throw new Error('no policy approved the request');
  report.atMost(MAX_TRIPS, answer.cost.trips, 'round trips');
  report.atMost(MAX_WRITTEN, answer.cost.written, 'rows written');
  measure(report, 'request and approve', answer, 2);

  const { body } = await user.expect<{ data: unknown[] }>(200, 'GET', '/v1/policies?limit=100');
  const policies = [...body.data, ...body.data];
  const judge = async (evaluations: number) => {
    const begun = performance.now();
    await new Client(origin, '').expect(200, 'POST', '/bench/evaluate', {
      policies,
      asked,
      evaluations,
    });
    return performance.now() - begun;
  };
  await judge(EVALUATIONS);
  const [idle, busy] = [await judge(0), await judge(EVALUATIONS)];
  const each = Math.round(((busy - idle) / EVALUATIONS) * 10_000) / 10_000;
  report.atMost(
    MAX_MILLISECONDS,
    each,
    `evaluating ${policies.length} policies, ms, the mean of ${EVALUATIONS}`,
  );
}

import { expect, it } from 'vitest';
import { makeOutcomeScene, REPORT_PERIOD, report, usePromised } from '../support/outcomes';
import { makeReport } from '../support/reports';
import type { Json } from '../support/world';

it('a report counts outcomes, and lists the acts of which nobody knows whether they happened', async () => {
  const { world, account, agent } = await makeOutcomeScene();
  await world.must(200, 'PATCH', `/v1/admin/users/${account.id}`, {
    token: world.env.ADMIN_TOKEN ?? '',
    body: { plan: 'enterprise' },
  });
  const other = await account.agent();
  for (const status of ['succeeded', 'succeeded', 'failed'])
    await report(agent, (await usePromised(agent)).id, { status });
  const told = await usePromised(other, { resource: 'mailbox:böse' });
  const summary = 'The relay did not answer';
  await report(other, told.id, { status: 'unknown', summary });
  const silent = await usePromised(agent);
  world.advance(REPORT_PERIOD);
  await usePromised(agent);
  await agent.approved({ reports_outcome: true });
  const plain = await agent.approved();
  await agent.must(200, 'POST', '/v1/tokens/use', { token: plain.token.value });
  const { outcomes, exceptions } = await makeReport(account);
  const act = { action: 'email.send', agent_id: agent.id, resource: 'mailbox:support' };
  expect(outcomes).toEqual({
    ...{ succeeded: 2, failed: 1, unknown: 2, awaited: 1 },
    unknown_acts: [
      {
        ...act,
        ...{ permission_id: told.id, agent_id: other.id, resource: 'mailbox:böse', summary },
        used_at: '2026-01-31T12:00:00.000Z',
      },
      { ...act, permission_id: silent.id, used_at: '2026-01-31T12:00:00.000Z', summary: null },
    ],
  });
  const found = exceptions.find(({ kind }: Json) => kind === 'outcome_unknown');
  expect([found.severity, found.entries, found.entry_ids.length]).toEqual(['medium', 2, 2]);
  expect(found.text).toContain('2 acts of 6 acts');

  await account.must(204, 'DELETE', `/v1/agents/${other.id}`);
  const later = await makeReport(account);
  expect([later.outcomes.unknown, later.outcomes.unknown_acts.length]).toEqual([1, 1]);
});

it('a report of an account whose programs promise nothing has no outcomes', async () => {
  const { world, others } = await makeOutcomeScene();
  const account = await world.account({ plan: 'enterprise' });
  const agent = await account.agent();
  const { token } = await agent.approved();
  await agent.must(200, 'POST', '/v1/tokens/use', { token: token.value });
  const { outcomes, exceptions } = await makeReport(account);
  const none = { succeeded: 0, failed: 0, unknown: 0, awaited: 0, unknown_acts: [] };
  expect(outcomes).toEqual(none);
  expect(exceptions.map(({ kind }: Json) => kind)).not.toContain('outcome_unknown');
  expect(others).toHaveLength(2);
});

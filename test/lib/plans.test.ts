import { expect, it } from 'vitest';
import { PLANS, type Plan, retentionDays } from '../../src/lib/plans';

it.each<[Plan, number]>([
  ['free', 7],
  ['pro', 90],
  ['team', 365],
  ['enterprise', 2557],
])('keeps audit entries on plan %s for %d days', (plan, days) => {
  expect(retentionDays({ plan, auditRetentionDays: null })).toBe(days);
});

it('lets enterprise accounts alone choose', () => {
  const chosen = PLANS.map((plan) => retentionDays({ plan, auditRetentionDays: 30 }));
  expect(chosen).toEqual([7, 90, 365, 30]);
});

it('keeps the codes that are stored', () => {
  expect(PLANS).toEqual(['free', 'pro', 'team', 'enterprise']);
});

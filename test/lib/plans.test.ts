import { expect, it } from 'vitest';
import { PLANS, type Plan, retentionDays } from '../../src/lib/plans';

it.each<[Plan, number]>([
  ['free', 7],
  ['pro', 90],
  ['team', 365],
  ['enterprise', 2557],
])('the plan %s keeps audit entries for %d days', (plan, days) => {
  expect(retentionDays({ plan, auditRetentionDays: null })).toBe(days);
});

it('only the enterprise plan has a custom retention', () => {
  const chosen = PLANS.map((plan) => retentionDays({ plan, auditRetentionDays: 30 }));
  expect(chosen).toEqual([7, 90, 365, 30]);
});

it('plans are in the order of their stored codes', () => {
  expect(PLANS).toEqual(['free', 'pro', 'team', 'enterprise']);
});

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type EvaluatedRequest, evaluatePolicies } from '../../src/policies/evaluate';
import type { PolicyRow } from '../../src/policies/policy';
import { World } from '../support/world';

// A second, slow and plain implementation of the contract's rules.

type Value = unknown;
type Limits = Record<string, Value>;

function matchesSlowly(pattern: string, text: string): boolean {
  if (pattern === '') return text === '';
  if (pattern.startsWith('*')) {
    return (
      matchesSlowly(pattern.slice(1), text) ||
      (text !== '' && matchesSlowly(pattern, text.slice(1)))
    );
  }
  return text !== '' && pattern[0] === text[0] && matchesSlowly(pattern.slice(1), text.slice(1));
}

const kind = (value: Value) =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
const same = (a: Value, b: Value): boolean =>
  kind(a) === kind(b) &&
  (typeof a !== 'object' || a === null
    ? a === b
    : Object.keys(a).length === Object.keys(b as object).length &&
      Object.keys(a).every(
        (key) => Object.hasOwn(b as object, key) && same((a as Limits)[key], (b as Limits)[key]),
      ));

/** 'yes', 'no' or 'unclear' for each limit of a condition. */
function judge(limits: Limits, value: Value): string[] {
  return Object.entries(limits).map(([name, limit]) => {
    if (name === 'min' || name === 'max') {
      if (typeof value !== 'number') return 'unclear';
      const fits = name === 'min' ? value >= (limit as number) : value <= (limit as number);
      return fits ? 'yes' : 'no';
    }
    const members = name === 'in' ? (limit as Value[]) : [limit];
    if (!members.some((member) => kind(member) === kind(value))) return 'unclear';
    return members.some((member) => same(member, value)) ? 'yes' : 'no';
  });
}

function appliesSlowly(
  policy: PolicyRow,
  { agentId, action, resource, scope }: EvaluatedRequest,
): boolean {
  if (!policy.isActive) return false;
  if (policy.agentIds && !policy.agentIds.some((id) => id === agentId)) return false;
  if (!policy.actions.some((pattern) => matchesSlowly(pattern, action))) return false;
  if (!policy.resources.some((pattern) => matchesSlowly(pattern, resource))) return false;
  for (const [key, limits] of Object.entries(policy.conditions)) {
    const verdicts = Object.hasOwn(scope, key) ? judge(limits as Limits, scope[key]) : ['unclear'];
    if (verdicts.includes('no')) return false;
    if (verdicts.includes('unclear') && policy.effect === 'approve') return false;
  }
  const hasConditions = Object.keys(policy.conditions).length > 0;
  const unspoken = Object.keys(scope).filter((key) => !Object.hasOwn(policy.conditions, key));
  return !(policy.effect === 'approve' && hasConditions && unspoken.length > 0);
}

const scalar = fc.oneof(
  fc.integer({ min: -2, max: 2 }),
  fc.constantFrom('a', 'b', '1', true, false, null),
);
const value = fc.oneof(
  scalar,
  fc.array(scalar, { maxLength: 2 }),
  fc.dictionary(fc.constantFrom('x', 'y'), scalar),
);
const condition = fc.record(
  {
    min: fc.integer({ min: -2, max: 2 }),
    max: fc.integer({ min: -2, max: 2 }),
    equals: value,
    in: fc.array(value, { minLength: 1, maxLength: 3 }),
  },
  { requiredKeys: [] },
);
const key = fc.constantFrom('amount', 'to', 'action', 'resource', '__proto__', 'constructor');
const pattern = fc.string({
  unit: fc.constantFrom('a', 'b', '.', '*'),
  minLength: 1,
  maxLength: 4,
});
const agentIds = fc.option(fc.subarray(['agent_1', 'agent_2'], { minLength: 1 }), { freq: 2 });
const policy = fc
  .record({
    effect: fc.constantFrom('approve' as const, 'deny' as const),
    actions: fc.array(fc.oneof(pattern, fc.constant('*')), { minLength: 1, maxLength: 2 }),
    resources: fc.array(fc.oneof(pattern, fc.constant('*')), { minLength: 1, maxLength: 2 }),
    agentIds,
    conditions: fc.oneof(fc.constant({}), fc.dictionary(key, condition, { maxKeys: 2 })),
    priority: fc.integer({ min: -1, max: 1 }),
    isActive: fc.oneof({ weight: 5, arbitrary: fc.constant(true) }, fc.boolean()),
    createdAt: fc.integer({ min: 0, max: 3 }),
  })
  .map((fields) => ({ ...fields, budget: null, expiresAt: null }) as unknown as PolicyRow);
const asked: fc.Arbitrary<EvaluatedRequest> = fc.record({
  agentId: fc.constantFrom('agent_1', 'agent_2', null),
  action: fc.constantFrom('a.b', 'b.a', 'a.a'),
  resource: fc.constantFrom('a', 'ab', 'b.'),
  scope: fc.dictionary(key, value, { maxKeys: 3 }),
  maxUses: fc.constant(1),
}) as fc.Arbitrary<EvaluatedRequest>;

it('the function decides like a simple model of the rules', () => {
  fc.assert(
    fc.property(fc.array(policy, { maxLength: 6 }), asked, (drawn, request) => {
      const policies = drawn.map((row, i) => ({ ...row, id: `policy_${i}` as const }));
      const applying = policies.filter((row) => appliesSlowly(row, request));
      const older = (a: PolicyRow, b: PolicyRow) =>
        a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1);
      const best = (effect: string) =>
        applying
          .filter((row) => row.effect === effect)
          .sort((a, b) => b.priority - a.priority || older(a, b))[0];
      const expected = best('deny') ?? best('approve');
      const verdict = evaluatePolicies(policies, request, 0);
      expect(verdict.decision).toBe(expected?.effect ?? 'pending');
      expect(verdict.policy?.id).toBe(expected?.id);
      expect(verdict.matched.toSorted()).toEqual(applying.map(({ id }) => id).toSorted());
      expect(verdict.matched[0]).toBe(expected?.id);
    }),
    { numRuns: 5_000 },
  );
});

it('an invalid stored condition holds in a policy that denies, and fails in one that approves', () => {
  const row = {
    actions: ['*'],
    resources: ['*'],
    agentIds: null,
    priority: 0,
    isActive: true,
    createdAt: 0,
    budget: null,
    expiresAt: null,
  };
  const act = { action: 'a.b', resource: 'a:b', scope: { amount: 1 } };
  const request = { agentId: null, ...act, maxUses: 1 };
  for (const unreadable of [null, 5, 'x', [], { max: '5' }, { in: 5 }, { from: 5 }]) {
    const conditions = { amount: unreadable };
    const approve = {
      ...row,
      id: 'policy_1',
      effect: 'approve',
      conditions,
    } as unknown as PolicyRow;
    const deny = { ...row, id: 'policy_2', effect: 'deny', conditions } as unknown as PolicyRow;
    expect(evaluatePolicies([approve], request, 0).decision).toBe('pending');
    expect(evaluatePolicies([approve, deny], request, 0).decision).toBe('deny');
  }
});

it('requests over HTTP are decided by the same rules', async () => {
  const account = await new World().account();
  const agent = await account.agent();
  const rules = [
    { effect: 'approve', conditions: { amount: { max: 100 }, currency: { in: ['EUR', 'USD'] } } },
    { effect: 'deny', conditions: { amount: { min: 1_000 } } },
    { effect: 'deny', conditions: { country: { in: ['KP'] } }, actions: ['money.*'] },
  ];
  for (const rule of rules) {
    await account.must(201, 'POST', '/v1/policies', {
      name: 'Rule',
      actions: ['*'],
      resources: ['*'],
      ...rule,
    });
  }
  const ask = async (action: string, scope: Record<string, Value>) =>
    (await agent.request({ action, resource: 'account:1', scope })).status;
  expect(await ask('goods.buy', { amount: 100, currency: 'EUR' })).toBe('approved');
  expect(await ask('goods.buy', { amount: 101, currency: 'EUR' })).toBe('pending');
  expect(await ask('goods.buy', { amount: 100, currency: 'EUR', note: 'x' })).toBe('pending');
  expect(await ask('goods.buy', { amount: '100', currency: 'EUR' })).toBe('denied');
  expect(await ask('goods.buy', { currency: 'EUR' })).toBe('denied');
  expect(await ask('money.send', { amount: 5, currency: 'EUR', country: 'PT' })).toBe('pending');
  expect(await ask('money.send', { amount: 5, currency: 'EUR', country: 'KP' })).toBe('denied');
  expect(await ask('money.send', { amount: 5, currency: 'EUR' })).toBe('denied');
});

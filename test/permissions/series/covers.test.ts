import { describe, expect, it } from 'vitest';
import { covers } from '../../../src/permissions/series/covers';
import type { Json } from '../../support/world';

const POLICY = { id: 'policy_01h455vb4pex5vsknk084sn02q' as const, updatedAt: 1_000 };

/** Whether a series with a scope, and keys that may vary, covers a request with another scope. */
function coversScope(granted: Json, scope: Json, varies: string[] = []): boolean {
  return covers(series(granted, varies), { ...REQUEST, scope });
}

function series(scope: Json, varies: string[] = []) {
  const action = 'refund.create';
  const resource = 'shop:main';
  return {
    action,
    resource,
    scope,
    varies,
    policyId: null,
    policyUpdatedAt: null,
    connectionId: null,
  };
}

const REQUEST = {
  action: 'refund.create',
  resource: 'shop:main',
  scope: {},
  max_uses: 1,
  connectionId: null,
  reviewPolicy: null,
};

describe('a series', () => {
  it.each<[string, Json]>([
    ['another resource', { resource: 'shop:second' }],
    ['a resource with another case', { resource: 'shop:Main' }],
    ['a resource that begins alike', { resource: 'shop:main2' }],
    ['another action', { action: 'refund.cancel' }],
    ['two uses', { max_uses: 2 }],
    ['a connection', { connectionId: 'conn_01h455vb4pex5vsknk084sn02q' }],
    ['a review policy', { reviewPolicy: POLICY }],
  ])('covers no request with %s', (_, other) => {
    expect(covers(series({}), { ...REQUEST, ...other })).toBe(false);
    expect(covers(series({}), REQUEST)).toBe(true);
  });

  it('takes a pattern in its resource as text', () => {
    const everything = { ...series({}), resource: 'shop:*' };
    expect(covers(everything, REQUEST)).toBe(false);
    expect(covers(everything, { ...REQUEST, resource: 'shop:*' })).toBe(true);
  });

  it('covers only what the same review policy routes, as long as nobody changes it', () => {
    const reviewed = { ...series({}), policyId: POLICY.id, policyUpdatedAt: POLICY.updatedAt };
    const routed = (reviewPolicy: typeof POLICY | null) =>
      covers(reviewed, { ...REQUEST, reviewPolicy });
    expect(routed(POLICY)).toBe(true);
    expect(routed(null)).toBe(false);
    expect(routed({ ...POLICY, updatedAt: 1_001 })).toBe(false);
    expect(routed({ ...POLICY, id: 'policy_01h455vb4pex5vsknk084sn02r' as typeof POLICY.id })).toBe(
      false,
    );
  });

  it.each<[string, Json, Json, string[]]>([
    ['an equal scope', { n: 5, to: ['a', 'b'] }, { to: ['a', 'b'], n: 5 }, []],
    ['the empty scope', {}, {}, []],
    ['a lower number of a key that may vary', { n: 5, m: 1 }, { n: 4, m: 1 }, ['n']],
    ['zero', { n: 5 }, { n: 0 }, ['n']],
    ['a fraction', { n: 5 }, { n: 0.5 }, ['n']],
    ['fewer members of a list that may vary', { to: ['a', 'b'] }, { to: ['b'] }, ['to']],
    ['lower numbers in an object', { max: { n: 5, m: 2 } }, { max: { n: 4, m: 2 } }, ['max']],
    ['an equal text of a key that may vary', { to: 'a' }, { to: 'a' }, ['to']],
    ['a key of the prototype', { constructor: 1 }, { constructor: 1 }, []],
  ])('covers %s', (_, granted, scope, varies) => {
    expect(coversScope(granted, scope, varies)).toBe(true);
  });

  it.each<[string, Json, Json, string[]]>([
    ['a lower number of another key', { n: 5, m: 2 }, { n: 5, m: 1 }, ['n']],
    ['a higher number', { n: 5 }, { n: 6 }, ['n']],
    ['a negative number', { n: 5 }, { n: -1 }, ['n']],
    ['a negative number below a negative one', { n: -5 }, { n: -6 }, ['n']],
    ['a negative number in an object', { max: { n: 5 } }, { max: { n: -5 } }, ['max']],
    ['one more key', { n: 5 }, { n: 5, m: 1 }, ['n']],
    ['one more key that may vary', { n: 5 }, { n: 5, m: 1 }, ['n', 'm']],
    ['one key less', { n: 5, m: 1 }, { n: 5 }, ['n', 'm']],
    ['another key', { n: 5 }, { m: 5 }, ['n']],
    ['one more key in an object', { max: { n: 5 } }, { max: { n: 5, m: 1 } }, ['max']],
    ['one key less in an object', { max: { n: 5, m: 1 } }, { max: { n: 5 } }, ['max']],
    ['a number that is nested', { n: 5 }, { n: { n: 5 } }, ['n']],
    ['a number in a list', { n: 5 }, { n: [5] }, ['n']],
    ['a number as text', { n: 5 }, { n: '5' }, ['n']],
    ['another text', { to: 'a' }, { to: 'b' }, ['to']],
    ['a list without members', { to: ['a'] }, { to: [] }, ['to']],
    ['a list with another member', { to: ['a'] }, { to: ['b'] }, ['to']],
    ['a member twice', { to: ['a', 'b'] }, { to: ['a', 'a'] }, ['to']],
    ['a list in another order, which may not vary', { to: ['a', 'b'] }, { to: ['b', 'a'] }, []],
    ['a key of the prototype', { n: 5 }, { toString: 5 }, ['n']],
  ])('does not cover %s', (_, granted, scope, varies) => {
    expect(coversScope(granted, scope, varies)).toBe(false);
  });
});

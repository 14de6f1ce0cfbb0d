import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../src/lib/json';
import { findWidenings } from '../../src/permissions/find-widenings';

describe('narrowing', () => {
  it.each<[string, JsonObject, JsonObject]>([
    [
      'the same scope',
      { a: 1, b: ['x'], c: { d: 'e' }, f: null },
      { f: null, c: { d: 'e' }, b: ['x'], a: 1 },
    ],
    ['a smaller number', { amount: 100 }, { amount: 99.5 }],
    ['a number below zero', { amount: 0 }, { amount: -1 }],
    ['fewer members', { to: ['a', 'b', 'c'] }, { to: ['c'] }],
    ['members in another order', { to: ['a', 'b'] }, { to: ['b', 'a'] }],
    ['one duplicate fewer', { to: ['a', 'a'] }, { to: ['a'] }],
    ['an empty array that was requested empty', { to: [] }, { to: [] }],
    [
      'members that are objects with their keys in another order',
      { to: [{ a: 1, b: 2 }] },
      { to: [{ b: 2, a: 1 }] },
    ],
    ['members that are arrays', { to: [[1, 2], [3]] }, { to: [[3]] }],
    [
      'a smaller number inside an object',
      { limit: { day: 5, unit: 'h' } },
      { limit: { day: 4, unit: 'h' } },
    ],
    ['an added limit at the top level', { a: 1 }, { a: 1, b: 2 }],
    ['limits on an empty scope', {}, { amount: 10, to: ['a'], window: { from: 1 } }],
    ['a limit named like the prototype', {}, JSON.parse('{"__proto__": {"a": 1}}')],
    ['minus zero instead of zero', { a: 0 }, { a: -0 }],
  ])('allows %s', (_, requested, granted) => {
    expect(findWidenings(requested, granted)).toEqual([]);
  });

  it.each<[string, JsonObject, JsonObject, string]>([
    ['a larger number', { amount: 100 }, { amount: 100.001 }, 'body.scope.amount'],
    ['a missing key', { a: 1, b: 2 }, { a: 1 }, 'body.scope.b'],
    ['no key at all', { a: 1 }, {}, 'body.scope.a'],
    ['another member', { to: ['a'] }, { to: ['b'] }, 'body.scope.to'],
    ['an added member', { to: ['a'] }, { to: ['a', 'b'] }, 'body.scope.to'],
    ['an added duplicate', { to: ['a', 'b'] }, { to: ['a', 'a'] }, 'body.scope.to'],
    ['an empty array', { to: ['a'] }, { to: [] }, 'body.scope.to'],
    ['a member of an empty array', { to: [] }, { to: ['a'] }, 'body.scope.to'],
    ['a smaller number as a member', { to: [5] }, { to: [4] }, 'body.scope.to'],
    ['a member of another type', { to: [1] }, { to: ['1'] }, 'body.scope.to'],
    [
      'a member that is an object with a missing key',
      { to: [{ a: 1, b: 2 }] },
      { to: [{ a: 1 }] },
      'body.scope.to',
    ],
    ['another text', { mode: 'read' }, { mode: 'write' }, 'body.scope.mode'],
    ['a shorter text', { mode: 'read' }, { mode: 'rea' }, 'body.scope.mode'],
    ['true instead of false', { all: false }, { all: true }, 'body.scope.all'],
    ['false instead of true', { all: true }, { all: false }, 'body.scope.all'],
    ['null instead of a number', { amount: 1 }, { amount: null }, 'body.scope.amount'],
    ['a number instead of null', { amount: null }, { amount: 0 }, 'body.scope.amount'],
    ['a text instead of a number', { amount: 1 }, { amount: '1' }, 'body.scope.amount'],
    ['a number instead of a text', { amount: '1' }, { amount: 1 }, 'body.scope.amount'],
    ['false instead of zero', { amount: 0 }, { amount: false }, 'body.scope.amount'],
    ['an array instead of an object', { limit: {} }, { limit: [] }, 'body.scope.limit'],
    ['an object instead of an array', { to: [] }, { to: {} }, 'body.scope.to'],
    [
      'a larger number inside an object',
      { limit: { day: 5 } },
      { limit: { day: 6 } },
      'body.scope.limit.day',
    ],
    [
      'an added key inside an object',
      { limit: { day: 5 } },
      { limit: { day: 5, x: 1 } },
      'body.scope.limit.x',
    ],
    [
      'a missing key inside an object',
      { limit: { day: 5 } },
      { limit: {} },
      'body.scope.limit.day',
    ],
    ['a key that only the prototype has', { toString: 'x' }, { a: 1 }, 'body.scope.toString'],
    [
      'a missing key named __proto__',
      JSON.parse('{"__proto__": {"a": 1}}'),
      {},
      'body.scope.__proto__',
    ],
  ])('refuses %s', (_, requested, granted, path) => {
    expect(findWidenings(requested, granted).map((widening) => widening.path)).toEqual([path]);
  });
});

/** A place in a JSON value, as its path of keys. */
type Place = (string | number)[];

const scopes = fc.dictionary(
  fc.string(),
  fc.jsonValue({ maxDepth: 4 }),
) as fc.Arbitrary<JsonObject>;

function walk(
  value: Json,
  place: Place = [],
  isKey = false,
): { place: Place; value: Json; isKey: boolean }[] {
  const members = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  const inside = members.flatMap(([key, member]) =>
    walk(member, [...place, key], !Array.isArray(value)),
  );
  return [{ place, value, isKey }, ...inside];
}

/** A copy with one place changed; `undefined` removes the key. */
function change(value: Json, [key, ...rest]: Place, to: Json | undefined): Json {
  const copy = structuredClone(value) as Record<string | number, Json>;
  if (key === undefined) return to as Json;
  if (rest.length === 0 && to === undefined) delete copy[key];
  else copy[key] = rest.length === 0 ? (to as Json) : change(copy[key] as Json, rest, to);
  return copy as Json;
}

describe('for random scopes', () => {
  it('the same scope passes', () => {
    fc.assert(
      fc.property(scopes, (scope) => findWidenings(scope, structuredClone(scope)).length === 0),
    );
  });

  it('a scope with any one key removed is refused', () => {
    let tried = 0;
    fc.assert(
      fc.property(scopes, (scope) => {
        for (const { place, isKey } of walk(scope)) {
          if (!isKey) continue;
          tried += 1;
          expect(findWidenings(scope, change(scope, place, undefined) as JsonObject)).not.toEqual(
            [],
          );
        }
      }),
    );
    expect(tried).toBeGreaterThan(100);
  });

  it('a scope with any one number raised is refused', () => {
    let tried = 0;
    const numbers = fc.integer({ min: -1_000, max: 1_000 });
    const { tree } = fc.letrec<{ tree: Json }>((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        numbers,
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(fc.string({ maxLength: 4 }), tie('tree'), { maxKeys: 3 }),
      ),
    }));
    const numeric = fc.dictionary(fc.string({ maxLength: 4 }), tree) as fc.Arbitrary<JsonObject>;
    fc.assert(
      fc.property(numeric, fc.integer({ min: 1, max: 5_000 }), (scope, rise) => {
        for (const { place, value } of walk(scope)) {
          if (typeof value !== 'number') continue;
          // Raises it above all other numbers, so that it equals no other member of its array.
          const raised = change(scope, place, value + 2_000 + rise) as JsonObject;
          tried += 1;
          expect(findWidenings(scope, raised)).not.toEqual([]);
        }
      }),
    );
    expect(tried).toBeGreaterThan(100);
  });

  it('a scope with lower numbers passes', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.integer()), fc.nat(), (scope, fall) => {
        const lower = Object.fromEntries(
          Object.entries(scope).map(([key, value]) => [key, value - fall]),
        );
        return findWidenings(scope, lower).length === 0;
      }),
    );
  });

  it('narrowing is transitive', () => {
    const limits = fc.record({
      n: fc.integer(),
      m: fc.subarray(['a', 'b', 'c'], { minLength: 1 }),
    });
    fc.assert(
      fc.property(limits, limits, limits, (a, b, c) => {
        fc.pre(findWidenings(a, b).length === 0 && findWidenings(b, c).length === 0);
        return findWidenings(a, c).length === 0;
      }),
    );
  });
});

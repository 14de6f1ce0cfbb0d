import { expect, it } from 'vitest';
import type { JsonObject } from '../../src/lib/json';
import { amountOf } from '../../src/permissions/amount';

const LONG = 'a'.repeat(200);

const asked = (scope: JsonObject) =>
  amountOf({ scope, granted_scope: null, review: null, status: 'pending' });

it.each<[string | null, JsonObject]>([
  ['2,000 EUR', { amount: 2_000, currency: 'EUR' }],
  ['2,000 EUR', { max_amount: 2_000, currency: 'EUR', to: 'supplier-2' }],
  ['250 (max_amount)', { max_amount: 250 }],
  ['10 (rows)', { table: 'users', rows: 10 }],
  ['2,000 EUR (payment.amount)', { payment: { amount: 2_000, currency: 'EUR' } }],
  ['2,000 (payment.amount)', { payment: { amount: 2_000 }, currency: 'EUR' }],
  ['5 (amounts.first)', { amounts: { first: 5 } }],
  [null, { to: 'everybody', isUrgent: true }],
  [null, { amount: '50000' }],
])('%s is shown of %j', (text, scope) => {
  expect(asked(scope)).toBe(text);
});

it.each<[string, JsonObject]>([
  ['2 EUR (items) and 1 more', { items: 2, total: 50_000, currency: 'EUR' }],
  ['2 EUR (amount) and 1 more', { amount: 2, total: 50_000, currency: 'EUR' }],
  ['2 EUR (amount) and 1 more', { amount: 2, total: '50,000', currency: 'EUR' }],
  ['2 EUR (amount) and 2 more', { amount: 2, a: '$50.000', b: '50 000 EUR', currency: 'EUR' }],
  ['2 EUR (amount) and 2 more', { amount: 2, a: [50_000], b: [{ x: 1 }], currency: 'EUR' }],
  ['2 EUR (real_amount)', { real_amount: 2, currency: 'EUR' }],
])('%s does not hide the other numbers of %j', (text, scope) => {
  expect(asked(scope)).toBe(text);
});

it('the number stands before its name, which is short and cannot be read as a part of it', () => {
  expect(asked({ 50: 2, currency: 'EUR' })).toBe('2 EUR (50)');
  expect(asked({ first: 'x', [LONG]: 2 })).toMatch(/^2 \(a{20,40}… \(limit 2\)\)$/);
  expect(asked({ '\u202e': 2 })).toBe('2 ("\\u202e")');
});

it('the limits that were granted, or would be, count', () => {
  const scope = { amount: 9, currency: 'EUR' };
  const review = { proposal: { scope: { ...scope, amount: 5 } } } as never;
  const granted_scope = { ...scope, amount: 3 };
  expect(amountOf({ scope, granted_scope: null, review, status: 'pending' })).toBe('5 EUR');
  expect(amountOf({ scope, granted_scope, review, status: 'approved' })).toBe('3 EUR');
  expect(amountOf({ scope, granted_scope: null, review, status: 'denied' })).toBe('9 EUR');
});

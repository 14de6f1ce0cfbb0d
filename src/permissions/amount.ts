import type { JsonObject } from '../lib/json';
import { valueText } from './limit-texts';

/** Names of limits that say how much, the most usual first. */
const AMOUNTS = ['amount', 'max_amount', 'total', 'price', 'sum'];
const CURRENCY = /^[A-Z]{3}$/;

/**
 * How much a request is about, in one text, such as `2,000 EUR`, or `rows 10`; null if no limit of
 * its scope is a number.
 */
export function amountText(scope: JsonObject): string | null {
  const numbers = Object.entries(scope).filter(([, value]) => typeof value === 'number');
  const amount = AMOUNTS.find((name) => typeof scope[name] === 'number');
  const name = amount ?? numbers[0]?.[0];
  if (name === undefined) return null;
  const { currency } = scope;
  const hasCurrency = typeof currency === 'string' && CURRENCY.test(currency);
  if (amount && hasCurrency) return `${valueText(scope[name])} ${currency}`;
  return `${name} ${valueText(scope[name])}`;
}

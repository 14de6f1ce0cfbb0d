import type { JsonObject } from '../lib/json';
import { valueText } from './limit-texts';
import { pathLabel } from './path-label';
import { scopeLeaves } from './scope-leaves';

/** The limit that says how much. */
export interface Amount {
  /** The name of the limit. */
  label: string;
  /** The number, with the currency if the scope has one: `2,000 EUR`. */
  text: string;
  hasCurrency: boolean;
}

const CURRENCY = /^[A-Za-z]{3}$/;

/**
 * Finds the number of a scope that says how much: the first one whose name has `amount` in it, else
 * the first one. Null if the scope has no number.
 */
export function findAmount(scope: JsonObject): Amount | null {
  const leaves = scopeLeaves(scope);
  const numbers = leaves.filter(([, value]) => typeof value === 'number');
  const named = numbers.find(([path]) => /amount/i.test(path.at(-1) ?? ''));
  const [path, value] = named ?? numbers[0] ?? [];
  if (!path) return null;
  const isBeside = (other: string[]) =>
    pathLabel(other.slice(0, -1)) === pathLabel(path.slice(0, -1));
  const currency = leaves.find(
    ([other, text]) =>
      other.at(-1) === 'currency' &&
      isBeside(other) &&
      typeof text === 'string' &&
      CURRENCY.test(text),
  )?.[1];
  const number = valueText(value);
  return {
    label: pathLabel(path),
    text: currency === undefined ? number : `${number} ${currency}`,
    hasCurrency: currency !== undefined,
  };
}

/** How much, in one text: `2,000 EUR`, or `rows 10`; null if the scope has no number. */
export function amountText(scope: JsonObject): string | null {
  const amount = findAmount(scope);
  if (!amount) return null;
  return amount.hasCurrency ? amount.text : `${amount.label} ${amount.text}`;
}

import type { Json } from '../../lib/json';
import type { NumberFormat } from '../../lib/number-format';
import { looksLikeValue } from '../../permissions/limit-texts';
import type { Preview } from '../../permissions/preview';

type Field = NonNullable<Preview['fields']>[number];

/**
 * An argument for people: a number as the reader's language writes it, a text as it is, but in
 * quotes if it could be taken for a number or for another value.
 */
export function argumentText(value: Json, formatNumber: NumberFormat): string {
  if (typeof value === 'number') return formatNumber(value);
  if (typeof value !== 'string' || looksLikeValue(value)) return JSON.stringify(value);
  return value;
}

/**
 * The value of a preview's field: its own text, but as {@link argumentText} writes it where it
 * restates a number or a text, so that what is equal reads alike.
 * @param argument the argument that the field restates; undefined if there is none
 */
export function fieldText(
  { value, kind }: Pick<Field, 'value' | 'kind'>,
  argument: Json | undefined,
  formatNumber: NumberFormat,
): string {
  const restatesNumber = typeof argument === 'number';
  const number = Number(value);
  const isNumber = Number.isFinite(number) && String(number) === value;
  if (isNumber && (restatesNumber || kind === 'money' || kind === 'count'))
    return formatNumber(number);
  if (restatesNumber || typeof argument === 'string') return argumentText(value, formatNumber);
  return value;
}

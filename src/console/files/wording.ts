import type { NumberFormat } from '../../lib/number-format';
import { pluralOf } from '../parts/words';

/** A number with its noun, such as `1,204 entries`. */
export function countText(
  count: number,
  [one, many]: [one: string, many: string],
  formatNumber: NumberFormat,
): string {
  return `${formatNumber(count)} ${pluralOf(count, one, many)}`;
}

const UNITS = [
  ['kB', 1_000],
  ['MB', 1_000_000],
  ['GB', 1_000_000_000],
] as const;

/** A size in bytes for people, such as `1.4 MB`. */
export function sizeText(bytes: number, formatNumber: NumberFormat): string {
  if (bytes < 1_000) return countText(bytes, ['byte', 'bytes'], formatNumber);
  const [unit, size] = UNITS.findLast(([, least]) => bytes >= least) ?? UNITS[0];
  return `${formatNumber(Math.round((bytes / size) * 10) / 10)} ${unit}`;
}

/** A span of days or times, as it was written. */
export function spanText(start: string, end: string): string {
  return start === end ? start : `${start} to ${end}`;
}

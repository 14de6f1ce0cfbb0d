import type { NumberFormat } from '../../lib/number-format';
import { countText } from '../parts/words';

const UNITS = [
  ['kB', 1_000],
  ['MB', 1_000_000],
  ['GB', 1_000_000_000],
] as const;

/** A size in bytes for people, such as `1.4 MB`. */
export function sizeText(bytes: number, formatNumber: NumberFormat): string {
  if (bytes < 1_000) return countText(bytes, formatNumber, 'byte');
  const [unit, size] = UNITS.findLast(([, least]) => bytes >= least) ?? UNITS[0];
  return `${formatNumber(Math.round((bytes / size) * 10) / 10)} ${unit}`;
}

/** A span of days or times, as it was written. */
export function spanText(start: string, end: string): string {
  return start === end ? start : `${start} to ${end}`;
}

import { pluralOf } from '../parts/words';

/** A number with its noun, such as `1,204 entries`. */
export function countText(count: number, one: string, many: string): string {
  return `${count.toLocaleString('en')} ${pluralOf(count, one, many)}`;
}

/** A size in bytes for people, such as `1.4 MB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1_000) return countText(bytes, 'byte', 'bytes');
  if (bytes < 1_000_000) return unitText(bytes / 1_000, 'kB');
  if (bytes < 1_000_000_000) return unitText(bytes / 1_000_000, 'MB');
  return unitText(bytes / 1_000_000_000, 'GB');
}

function unitText(count: number, unit: string): string {
  return `${count.toLocaleString('en', { maximumFractionDigits: 1 })} ${unit}`;
}

/** A span of days or times, as it was written. */
export function spanText(start: string, end: string): string {
  return start === end ? start : `${start} to ${end}`;
}

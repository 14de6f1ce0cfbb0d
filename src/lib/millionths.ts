/** A number below 10⁹ with at most 6 decimals, as `String` writes it. */
const AMOUNT = /^(\d{1,9})(?:\.(\d{1,6}))?$/;

const MILLIONTHS = 1_000_000;

/**
 * Counts the millionths of an amount exactly, from its shortest decimal form; null for anything but
 * a number that is at least 0, below 10⁹, and has at most 6 decimals.
 */
export function toMillionths(amount: unknown): number | null {
  if (typeof amount !== 'number') return null;
  const match = AMOUNT.exec(String(amount));
  if (!match) return null;
  const [, whole, decimals = ''] = match;
  return Number(whole) * MILLIONTHS + Number(decimals.padEnd(6, '0'));
}

/**
 * The amount of so many millionths. The division rounds to the nearest double, and a decimal of at
 * most 15 digits is the shortest form of its nearest double. So
 * `fromMillionths(toMillionths(x)) === x`.
 * @param millionths a whole number below 10¹⁵
 */
export function fromMillionths(millionths: number): number {
  return millionths / MILLIONTHS;
}

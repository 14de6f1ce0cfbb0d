/**
 * Parses a date-time of RFC 3339 section 5.6. Rounds fractions of a millisecond up.
 * @returns milliseconds since the epoch; NaN if it is not a date-time
 */
export function parseTime(text: string): number {
  const leap = /:60(?=[.Zz+-])/.test(text);
  const plain = text
    .toUpperCase()
    .replace(' ', 'T')
    .replace(/:60(\.\d+)?/, ':59');
  const beyond = /\.\d{3}\d*[1-9]/.test(text) ? 1 : 0;
  return Date.parse(plain) + (leap ? 1_000 : beyond);
}

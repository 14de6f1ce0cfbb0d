/** Formats a time of the API for people: in UTC, to the second. */
export function formatTime(time: string | null | undefined): string | null {
  if (!time) return null;
  return time.replace('T', ' ').replace(/\.\d+Z$/, 'Z');
}

/** The seconds of each unit. */
const UNITS: [number, string][] = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
  [1, 's'],
];

/** Formats how long it is until a time, in its two largest units. */
export function formatTimeLeft(time: string, now: number): string {
  const seconds = Math.floor((Date.parse(time) - now) / 1000);
  if (!(seconds > 0)) return 'over';
  const first = UNITS.findIndex(([size]) => seconds >= size);
  const parts: string[] = [];
  let rest = seconds;
  for (const [size, name] of UNITS.slice(first, first + 2)) {
    const count = Math.floor(rest / size);
    if (count > 0) parts.push(`${count} ${name}`);
    rest %= size;
  }
  return parts.join(' ');
}

/** Formats a time of the API for people: in UTC, to the second. */
export function formatTime(time: string | null | undefined): string | null {
  return time ? time.replace('T', ' ').replace(/\.\d+Z$/, 'Z') : null;
}

/** Formats how long it is until a time, in its two largest units. */
export function formatTimeLeft(time: string, now: number): string {
  const seconds = Math.floor((Date.parse(time) - now) / 1000);
  if (!(seconds > 0)) return 'over';
  const units: [number, string][] = [
    [86_400, 'd'],
    [3_600, 'h'],
    [60, 'min'],
    [1, 's'],
  ];
  const first = units.findIndex(([size]) => seconds >= size);
  let rest = seconds;
  return units
    .slice(first, first + 2)
    .flatMap(([size, name]) => {
      const count = Math.floor(rest / size);
      rest %= size;
      return count > 0 ? [`${count} ${name}`] : [];
    })
    .join(' ');
}

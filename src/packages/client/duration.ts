/** A length of time as text: a whole number and a unit, such as `90s`, `30m`, `2h` or `1d`. */
export type DurationText = `${number}${keyof typeof UNITS}`;

/** A number, whose unit the option names, or a text such as `30m`. */
export type Duration = number | DurationText;

/** The maximum lifetime of a request, and of a token, that the service allows: a week. */
export const MAX_LIFETIME_SECONDS = 604_800;

const UNITS = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Reads a text such as `30m` as seconds; null for anything else. */
export function parseDuration(text: string): number | null {
  const [, count, unit] = /^(\d+)([smhd])$/.exec(text) ?? [];
  if (unit === undefined) return null;
  const seconds = Number(count) * UNITS[unit as keyof typeof UNITS];
  if (!Number.isSafeInteger(seconds)) return null;
  return seconds;
}

/**
 * Returns the seconds of an option that takes a number of seconds or a text; undefined if it is not
 * set.
 * @throws TypeError that names the option
 */
export function toSeconds(duration: Duration | undefined, option: string): number | undefined {
  return convert(duration, option, 'seconds', 1);
}

/**
 * Returns the milliseconds of an option that takes a number of milliseconds or a text; undefined if
 * it is not set.
 * @throws TypeError that names the option
 */
export function toMilliseconds(duration: Duration | undefined, option: string): number | undefined {
  return convert(duration, option, 'milliseconds', 1000);
}

function convert(
  duration: Duration | undefined,
  option: string,
  unit: string,
  perSecond: number,
): number | undefined {
  if (duration === undefined) return undefined;
  if (typeof duration === 'number' && duration >= 0) return duration;
  let given = String(duration);
  if (typeof duration === 'string') {
    const seconds = parseDuration(duration);
    if (seconds !== null) return seconds * perSecond;
    given = JSON.stringify(duration);
  }
  throw new TypeError(
    `${option} is ${given}, not a length of time: give a number of ${unit}, or a text such as "30m".`,
  );
}

import { DAY } from '../../lib/time';
import { formatterOf, modulo, momentOf, offsetAt } from '../../lib/time-zone';

/** The periods that people name, each until now. */
export const PERIODS = { today: 'Today', week: 'This week', month: 'This month' };

export type Period = keyof typeof PERIODS;

/** The options of a choice of periods; the empty one is any time. */
export const PERIOD_OPTIONS = [['', 'Any time'], ...Object.entries(PERIODS)] as const;

export function isPeriod(text: string): text is Period {
  return Object.hasOwn(PERIODS, text);
}

/** The first Monday after the epoch. */
export const FIRST_MONDAY = 4 * DAY;

/**
 * When a period began on the clocks of a time zone, in milliseconds since the epoch. Weeks begin on
 * Mondays.
 */
export function startOfPeriod(period: Period, timeZone: string, now: number): number {
  const clock = clockOf(timeZone);
  const today = dayOf(clock, now);
  const date = new Date(today);
  const starts: Record<Period, number> = {
    today,
    week: today - modulo(today - FIRST_MONDAY, 7 * DAY),
    month: Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1),
  };
  return momentOf(clock, starts[period]);
}

/** The day of a time on the clocks of a time zone; `to` is when the next one begins. */
export function dayAround(timeZone: string, at: number): { from: number; to: number } {
  const clock = clockOf(timeZone);
  const day = dayOf(clock, at);
  return { from: momentOf(clock, day), to: momentOf(clock, day + DAY) };
}

/** The midnight that begins the day of a time, as a clock in UTC would show it. */
function dayOf(clock: Intl.DateTimeFormat, at: number): number {
  const local = at + offsetAt(clock, at);
  return local - modulo(local, DAY);
}

function clockOf(timeZone: string): Intl.DateTimeFormat {
  const clock = formatterOf(timeZone);
  if (!clock) throw new Error(`${timeZone} is no time zone`);
  return clock;
}

import { plainFormat } from './number-format';

/** Writes a day of a year, in UTC and without the year: `Jan 31`. */
export type DayFormat = (day: Date) => string;

/** The format of a locale, with the digits 0 to 9 and without unseen characters. */
export function dayFormat(locale: string): DayFormat {
  const parts = { timeZone: 'UTC', numberingSystem: 'latn', calendar: 'gregory' } as const;
  return (day) =>
    plainFormat(day.toLocaleDateString(locale, { ...parts, month: 'short', day: 'numeric' }));
}

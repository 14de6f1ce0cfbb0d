import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isTimeZone } from '../../../src/lib/time-zone';
import {
  endOfQuietHours,
  type QuietHours,
} from '../../../src/receivers/channels/settings/quiet-hours';
import { depth } from '../../support/depth';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * When the quiet hours around a time end, as text in UTC to the minute; null if it is not quiet.
 */
function endOf(start: string, end: string, time_zone: string, at: string): string | null {
  const time = endOfQuietHours({ quiet_hours: { start, end, time_zone } }, Date.parse(at));
  return time === null ? null : new Date(time).toISOString().replace(':00.000Z', 'Z');
}

describe('quiet hours', () => {
  it('are none without settings, or without hours in them', () => {
    expect(endOfQuietHours(null, 0)).toBeNull();
    expect(endOfQuietHours({ quiet_hours: null }, 0)).toBeNull();
  });

  it('begin with the start and are over at the end, on one day', () => {
    const at = (time: string) => endOf('12:00', '13:30', 'Europe/Berlin', time);
    expect(at('2026-01-31T10:59:59.999Z')).toBeNull();
    expect(at('2026-01-31T11:00:00.000Z')).toBe('2026-01-31T12:30Z');
    expect(at('2026-01-31T12:29:59.999Z')).toBe('2026-01-31T12:30Z');
    expect(at('2026-01-31T12:30:00.000Z')).toBeNull();
  });

  it('last across midnight', () => {
    const at = (time: string) => endOf('22:00', '07:00', 'Europe/Berlin', time);
    expect(at('2026-01-31T20:59:59.999Z')).toBeNull();
    expect(at('2026-01-31T21:00:00.000Z')).toBe('2026-02-01T06:00Z');
    expect(at('2026-02-01T00:00:00.000Z')).toBe('2026-02-01T06:00Z');
    expect(at('2026-02-01T06:00:00.000Z')).toBeNull();
  });

  it('may begin or end at midnight', () => {
    expect(endOf('00:00', '06:00', 'UTC', '2026-01-31T00:00:00Z')).toBe('2026-01-31T06:00Z');
    expect(endOf('22:00', '00:00', 'UTC', '2026-01-31T22:00:00Z')).toBe('2026-02-01T00:00Z');
    expect(endOf('22:00', '00:00', 'UTC', '2026-02-01T00:00:00Z')).toBeNull();
    expect(endOf('00:00', '23:59', 'UTC', '2026-01-31T23:58:59Z')).toBe('2026-01-31T23:59Z');
    expect(endOf('00:00', '23:59', 'UTC', '2026-01-31T23:59:00Z')).toBeNull();
  });

  it.each([
    ['Asia/Kathmandu', '2026-01-31T16:15:00Z', '2026-02-01T01:15Z'],
    ['Asia/Kolkata', '2026-01-31T16:30:00Z', '2026-02-01T01:30Z'],
    ['Australia/Eucla', '2026-01-31T13:15:00Z', '2026-01-31T22:15Z'],
    ['America/St_Johns', '2026-01-31T01:30:00Z', '2026-01-31T10:30Z'],
    ['Pacific/Chatham', '2026-01-31T08:15:00Z', '2026-01-31T17:15Z'],
    ['Pacific/Kiritimati', '2026-01-31T08:00:00Z', '2026-01-31T17:00Z'],
    ['Etc/GMT+12', '2026-01-31T10:00:00Z', '2026-01-31T19:00Z'],
  ])('follow the clocks of %s', (zone, begin, end) => {
    expect(endOf('22:00', '07:00', zone, new Date(Date.parse(begin) - 1).toISOString())).toBeNull();
    expect(endOf('22:00', '07:00', zone, begin)).toBe(end);
  });
});

describe('when clocks are set forward, in Berlin from 02:00 to 03:00 on 2026-03-29 at 01:00 UTC', () => {
  const at = (start: string, end: string, time: string) => endOf(start, end, 'Europe/Berlin', time);

  it('an hour of the night is missing', () => {
    expect(at('22:00', '07:00', '2026-03-28T21:00:00Z')).toBe('2026-03-29T05:00Z');
  });

  it('an end that is skipped is the moment of the skip', () => {
    expect(at('22:00', '02:30', '2026-03-29T00:59:59Z')).toBe('2026-03-29T01:00Z');
    expect(at('22:00', '02:30', '2026-03-29T01:00:00Z')).toBeNull();
  });

  it('a start that is skipped is the moment of the skip', () => {
    expect(at('02:30', '08:00', '2026-03-29T00:59:59Z')).toBeNull();
    expect(at('02:30', '08:00', '2026-03-29T01:00:00Z')).toBe('2026-03-29T06:00Z');
  });

  it('hours that are skipped do not take place', () => {
    expect(at('02:10', '02:40', '2026-03-29T00:59:59Z')).toBeNull();
    expect(at('02:10', '02:40', '2026-03-29T01:00:00Z')).toBeNull();
    expect(at('02:10', '02:40', '2026-03-30T00:10:00Z')).toBe('2026-03-30T00:40Z');
  });

  it('hours whose end and next start are skipped go on until the next end', () => {
    expect(at('02:40', '02:10', '2026-03-28T12:00:00Z')).toBe('2026-03-30T00:10Z');
  });
});

describe('when clocks are set back, in Berlin from 03:00 to 02:00 on 2026-10-25 at 01:00 UTC', () => {
  const at = (start: string, end: string, time: string) => endOf(start, end, 'Europe/Berlin', time);

  it('the night has one more hour', () => {
    expect(at('22:00', '07:00', '2026-10-24T20:00:00Z')).toBe('2026-10-25T06:00Z');
  });

  it('of an end that is shown twice, the last one counts', () => {
    expect(at('22:00', '02:30', '2026-10-25T00:00:00Z')).toBe('2026-10-25T01:30Z');
    expect(at('22:00', '02:30', '2026-10-25T00:45:00Z')).toBe('2026-10-25T01:30Z');
    expect(at('22:00', '02:30', '2026-10-25T01:30:00Z')).toBeNull();
  });

  it('of a start that is shown twice, the first one counts', () => {
    expect(at('02:30', '08:00', '2026-10-25T00:29:59Z')).toBeNull();
    expect(at('02:30', '08:00', '2026-10-25T00:30:00Z')).toBe('2026-10-25T07:00Z');
    expect(at('02:30', '08:00', '2026-10-25T01:00:00Z')).toBe('2026-10-25T07:00Z');
  });

  it('hours between them last an hour longer', () => {
    expect(at('02:10', '02:40', '2026-10-25T00:10:00Z')).toBe('2026-10-25T01:40Z');
  });

  it('hours that end after the next start go on until the next end', () => {
    expect(at('02:40', '02:10', '2026-10-24T12:00:00Z')).toBe('2026-10-26T01:10Z');
  });
});

it('clocks that were set back after midnight showed the date of the day before again', () => {
  // St. John's went from 00:01 to 23:01 on 2010-11-07, at 02:31 UTC.
  const at = (start: string, end: string, time: string) =>
    endOf(start, end, 'America/St_Johns', time);
  expect(at('00:00', '07:00', '2010-11-07T02:30:00Z')).toBe('2010-11-07T10:30Z');
  expect(at('00:00', '07:00', '2010-11-07T03:00:00Z')).toBe('2010-11-07T10:30Z');
  expect(at('23:15', '23:45', '2010-11-07T02:30:30Z')).toBe('2010-11-07T03:15Z');
});

it('a day that the clocks skipped has no end of quiet hours', () => {
  // Apia went from the end of 2011-12-29 to 2011-12-31, at 10:00 UTC.
  expect(endOf('22:00', '07:00', 'Pacific/Apia', '2011-12-30T09:00:00Z')).toBe('2011-12-30T17:00Z');
});

it('time zones are names that Intl knows, in any case', () => {
  for (const name of [
    'Europe/Berlin',
    'europe/berlin',
    'Asia/Calcutta',
    'UTC',
    'EST5EDT',
    'Etc/GMT+5',
  ]) {
    expect([name, isTimeZone(name)]).toEqual([name, true]);
  }
  for (const name of [
    '',
    ' ',
    'Europe/Berlin ',
    'Europe/Atlantis',
    '+01:00',
    '-0330',
    'Z1',
    'a\u0000',
    '\ud800',
  ]) {
    expect([name, isTimeZone(name)]).toEqual([name, false]);
  }
});

it('are none in a zone that is unknown', () => {
  expect(endOf('00:00', '23:59', 'Europe/Atlantis', '2026-01-31T12:00:00Z')).toBeNull();
});

/**
 * Zones with clock changes of 20 minutes to a day, at midnight and at other hours, and with odd
 * offsets.
 */
const ZONES = [
  'Africa/Casablanca',
  'America/Havana',
  'America/New_York',
  'America/Santiago',
  'America/Sao_Paulo',
  'America/St_Johns',
  'Antarctica/Troll',
  'Asia/Beirut',
  'Asia/Gaza',
  'Asia/Kathmandu',
  'Asia/Pyongyang',
  'Asia/Tehran',
  'Australia/Lord_Howe',
  'Europe/Berlin',
  'Europe/London',
  'Pacific/Apia',
  'Pacific/Chatham',
  'UTC',
];

const BEFORE = 3 * DAY;
const AFTER = 4 * DAY;

/**
 * What a clock in the zone shows in every minute from three days before a time until four days
 * after it.
 */
function showMinutes(timeZone: string, middle: number): string[] {
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone,
    dateStyle: 'short',
    timeStyle: 'short',
  });
  return Array.from({ length: (BEFORE + AFTER) / MINUTE }, (_, i) =>
    format.format(middle - BEFORE + i * MINUTE),
  );
}

/** For each of the minutes, whether it is quiet: by what the clock shows, without any offset. */
function findQuiet(shown: string[], { start, end }: { start: string; end: string }): boolean[] {
  const quiet = shown.map(() => false);
  const date = (time: number) => new Date(time).toISOString().slice(0, 10);
  for (
    let day = Date.parse(`${shown[0]?.slice(0, 10)}T00:00Z`) - 2 * DAY, left = 12;
    left > 0;
    left--, day += DAY
  ) {
    const begin = `${date(day)} ${start}`;
    const over = `${date(end < start ? day + DAY : day)} ${end}`;
    const first = shown.findIndex((text) => text >= begin);
    const last = shown.findLastIndex((text) => text < over);
    if (first >= 0 && last >= first) quiet.fill(true, first, last + 1);
  }
  return quiet;
}

/** A time near a change of the clocks in a zone, if there is one in the half year after a time. */
function nearChange(timeZone: string, from: number): number {
  const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
  const offset = (time: number) => format.format(time).split('GMT')[1];
  for (let time = from; time < from + 183 * DAY; time += DAY) {
    if (offset(time) !== offset(time + DAY)) return time;
  }
  return from;
}

const timeOfDay = fc
  .oneof(
    fc.integer({ min: 0, max: 1_439 }),
    fc.integer({ min: 0, max: 200 }),
    fc.integer({ min: 1_370, max: 1_439 }),
  )
  .map((minutes) => new Date(minutes * MINUTE).toISOString().slice(11, 16));

it.runIf(depth.isDeep)('agree with a clock that is read in every minute', () => {
  const cases = fc.array(
    fc.record({ start: timeOfDay, end: timeOfDay, at: fc.integer({ min: -DAY, max: DAY }) }),
    {
      minLength: 20,
      maxLength: 20,
    },
  );
  const from = fc
    .integer({ min: Date.UTC(2007, 0), max: Date.UTC(2036, 0) })
    .map((time) => time - (time % MINUTE));
  let compared = 0;
  fc.assert(
    fc.property(fc.constantFrom(...ZONES), from, cases, (time_zone, from, hours) => {
      const middle = nearChange(time_zone, from);
      const shown = showMinutes(time_zone, middle);
      for (const { start, end, at } of hours) {
        if (start === end) continue;
        const settings: { quiet_hours: QuietHours } = { quiet_hours: { start, end, time_zone } };
        const quiet = findQuiet(shown, { start, end });
        const now = Math.floor((BEFORE + at) / MINUTE);
        const over = quiet.indexOf(false, now);
        const expected = over === now ? null : middle - BEFORE + over * MINUTE;
        expect([start, end, endOfQuietHours(settings, middle + at)]).toEqual([
          start,
          end,
          expected,
        ]);
        compared += 1;
      }
    }),
    { numRuns: depth.runs(15, 1_000) },
  );
  expect(compared).toBeGreaterThan(200);
});

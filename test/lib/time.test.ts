import { describe, expect, it } from 'vitest';
import { formatTime, formatTimeOrNull, parseDate, parseDateTime } from '../../src/lib/time';

describe('a time', () => {
  it('is written in UTC with milliseconds', () => {
    expect(formatTime(Date.UTC(2026, 0, 31, 12))).toBe('2026-01-31T12:00:00.000Z');
    expect(formatTimeOrNull(1)).toBe('1970-01-01T00:00:00.001Z');
    expect(formatTimeOrNull(0)).toBe('1970-01-01T00:00:00.000Z');
    expect(formatTimeOrNull(null)).toBeNull();
  });
});

describe('a date-time of RFC 3339', () => {
  it.each([
    ['2026-01-31T12:00:00Z', '2026-01-31T12:00:00.000Z'],
    ['2026-01-31t12:00:00z', '2026-01-31T12:00:00.000Z'],
    ['2026-01-31T12:00:00.5Z', '2026-01-31T12:00:00.500Z'],
    ['2026-01-31T12:00:00.123Z', '2026-01-31T12:00:00.123Z'],
    ['2026-01-31T12:00:00.1239Z', '2026-01-31T12:00:00.124Z'],
    ['2026-01-31T12:00:00.1230000Z', '2026-01-31T12:00:00.123Z'],
    ['2026-01-31T12:00:00.999999999999Z', '2026-01-31T12:00:01.000Z'],
    ['2026-01-31T12:00:00+00:00', '2026-01-31T12:00:00.000Z'],
    ['2026-01-31T12:00:00-00:00', '2026-01-31T12:00:00.000Z'],
    ['2026-01-31T12:00:00+05:30', '2026-01-31T06:30:00.000Z'],
    ['2026-01-31T23:30:00-01:00', '2026-02-01T00:30:00.000Z'],
    ['2026-01-01T00:30:00+23:59', '2025-12-31T00:31:00.000Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['2000-02-29T00:00:00Z', '2000-02-29T00:00:00.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['0099-12-31T23:59:59Z', '0099-12-31T23:59:59.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
    ['2026-01-31T23:59:59Z', '2026-01-31T23:59:59.000Z'],
    // A leap second is the first instant of the next minute (RFC 3339 section 5.7 has the
    // examples).
    ['1990-12-31T23:59:60Z', '1991-01-01T00:00:00.000Z'],
    ['1990-12-31T15:59:60-08:00', '1991-01-01T00:00:00.000Z'],
    ['1990-12-31T23:59:60.75Z', '1991-01-01T00:00:00.000Z'],
  ])('%s is %s', (text, time) => {
    expect(formatTime(parseDateTime(text) ?? Number.NaN)).toBe(time);
  });

  it.each([
    ['an empty string', ''],
    ['a word', 'yesterday'],
    ['only a date', '2026-01-31'],
    ['no offset', '2026-01-31T12:00:00'],
    ['no seconds', '2026-01-31T12:00Z'],
    ['only an hour', '2026-01-31T12Z'],
    ['the basic form', '20260131T120000Z'],
    ['an offset without a colon', '2026-01-31T12:00:00+0530'],
    ['an offset of only hours', '2026-01-31T12:00:00+05'],
    ['an offset of 24 hours', '2026-01-31T12:00:00+24:00'],
    ['an offset of 60 minutes', '2026-01-31T12:00:00+05:60'],
    ['a named zone', '2026-01-31T12:00:00 UTC'],
    ['an offset and a Z', '2026-01-31T12:00:00+00:00Z'],
    ['a point without a fraction', '2026-01-31T12:00:00.Z'],
    ['a comma', '2026-01-31T12:00:00,5Z'],
    ['a two-digit year', '26-01-31T12:00:00Z'],
    ['a five-digit year', '12026-01-31T12:00:00Z'],
    ['a year with a sign', '+002026-01-31T12:00:00Z'],
    ['a week date', '2026-W05-6T12:00:00Z'],
    ['an ordinal date', '2026-031T12:00:00Z'],
    ['month 0', '2026-00-31T12:00:00Z'],
    ['month 13', '2026-13-01T12:00:00Z'],
    ['day 0', '2026-01-00T12:00:00Z'],
    ['day 32', '2026-01-32T12:00:00Z'],
    ['April 31st', '2026-04-31T12:00:00Z'],
    ['February 29th of a common year', '2026-02-29T12:00:00Z'],
    ['February 29th of 1900', '1900-02-29T12:00:00Z'],
    ['February 30th', '2024-02-30T12:00:00Z'],
    ['hour 24', '2026-01-31T24:00:00Z'],
    ['minute 60', '2026-01-31T12:60:00Z'],
    ['second 61', '2026-01-31T23:59:61Z'],
    ['a leap second in the middle of a day', '2026-01-31T12:30:60Z'],
    ['a leap second in the middle of a month', '2026-01-15T23:59:60Z'],
    ['a leap second at midnight of another zone', '2026-01-31T23:59:60+01:00'],
    ['a time that is in the year 10000 in UTC', '9999-12-31T23:59:59-00:01'],
    ['a leap second that ends the year 9999', '9999-12-31T23:59:60Z'],
    ['a time that is before the year 0 in UTC', '0000-01-01T00:00:00+00:01'],
    ['a leading space', ' 2026-01-31T12:00:00Z'],
    ['a trailing line break', '2026-01-31T12:00:00Z\n'],
    ['digits of another script', '２０２６-01-31T12:00:00Z'],
    ['milliseconds since the epoch', '1769860800000'],
  ])('is rejected if it is invalid: %s', (_, text) => {
    expect(parseDateTime(text)).toBeNull();
  });
});

describe('a date', () => {
  it.each([
    ['2026-01-31', '2026-01-31T00:00:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['0001-01-01', '0001-01-01T00:00:00.000Z'],
    ['9999-12-31', '9999-12-31T00:00:00.000Z'],
  ])('%s starts at %s', (text, time) => {
    expect(formatTime(parseDate(text) ?? Number.NaN)).toBe(time);
  });

  it.each([
    '',
    '2026-1-31',
    '2026-01-1',
    '2026-02-29',
    '2026-13-01',
    '2026-00-01',
    '2026-01-00',
    '2026/01/31',
    '20260131',
    '2026-01-31Z',
    '2026-01-31T00:00:00Z',
    '2026-01-31 ',
    '2026-01-31\n',
    '2026-01',
  ])('cannot be %j', (text) => {
    expect(parseDate(text)).toBeNull();
  });
});

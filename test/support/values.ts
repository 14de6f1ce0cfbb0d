import type { Json } from './world';

/** Placeholder for a number that a double cannot represent: {@link writeBody} replaces it. */
export const HUGE = '@1e400@';

/** Writes a body as JSON, with the number 1e400 in the place of {@link HUGE}. */
export function writeBody(body: Json): string {
  return JSON.stringify(body).replaceAll(`"${HUGE}"`, '1e400').replaceAll(`"-${HUGE}"`, '-1e400');
}

/** A field of a body: values that must be accepted, and values that must be refused. */
export interface Field {
  good: Json[];
  bad: Json[];
  /** Whether the field is required. */
  required?: true;
  /** The other fields of the body, if this field needs other ones than the default. */
  rest?: Json;
}

const NOT_TEXTS = [1, 0, true, null, [], ['x'], {}, HUGE];
const UNKEPT_TEXTS = ['a\0b', '\0', '\ud800', 'x\udc00y', '\ude00\ud83d'];

/** A text that the service trims, of `min` to `max` code points. */
export function textField(min: number, max: number): Field {
  const tooShort = min > 0 ? ['', ' ', '\t\n\u00a0'] : [];
  return {
    good: [
      'x'.repeat(Math.max(min, 1)),
      'x'.repeat(max),
      '😀'.repeat(max),
      ` ${'x'.repeat(max)}\n`,
      'é',
    ],
    bad: [...NOT_TEXTS, ...UNKEPT_TEXTS, ...tooShort, 'x'.repeat(max + 1), '😀'.repeat(max + 1)],
  };
}

/** A text that the service compares without trimming. */
export function comparedField(max: number): Field {
  return {
    good: [],
    bad: [...NOT_TEXTS, ...UNKEPT_TEXTS, 'x'.repeat(max + 1), '😀'.repeat(max + 1)],
  };
}

/** One of the given words. */
export function wordField(...words: string[]): Field {
  const [first = ''] = words;
  return {
    good: words,
    bad: [...NOT_TEXTS, '', 'x', first.toUpperCase(), `${first} `, words.join()],
  };
}

/** Any JSON value of so many bytes, unchanged. */
export function anyField(bytes: number): Field {
  const long = 'x'.repeat(bytes - 2);
  const halves = ['\ud800', 'x\udc00y', '\ude00\ud83d'];
  return {
    good: [null, 0, false, '', ' x ', 'a\0b', [], {}, [[{}]], long],
    bad: [
      `${long}x`,
      HUGE,
      [HUGE],
      { a: [`-${HUGE}`] },
      ...halves.flatMap((text) => [text, [text], { [text]: 1 }]),
    ],
  };
}

export const digestField: Field = {
  good: [`sha-256:${'A'.repeat(43)}`],
  bad: [
    ...NOT_TEXTS,
    ...UNKEPT_TEXTS,
    '',
    'x',
    `sha-256:${'A'.repeat(44)}`,
    `sha-256:${'A'.repeat(42)}B`,
  ],
};

export const previewField: Field = {
  good: [{ title: 'x' }, { title: ' x ', fields: [], blocks: [] }],
  bad: [
    ...NOT_TEXTS.filter((value) => value !== null),
    ...[
      null,
      'x',
      { title: '' },
      { title: '\n ' },
      { title: 'x'.repeat(16 * 1024) },
      { title: 'x', a: 1 },
    ],
    ...UNKEPT_TEXTS.flatMap((text) => [
      { title: text },
      { title: 'x', fields: [{ label: text, value: 'x' }] },
    ]),
  ],
};

/** A text of visible ASCII characters. */
export const visibleField: Field = {
  good: ['!', '~'.repeat(255)],
  bad: [...NOT_TEXTS, ...UNKEPT_TEXTS, '', ' ', 'a b', 'é', '\x7f', 'x'.repeat(256)],
};

/** A whole number within bounds. */
export function numberField(min: number, max: number): Field {
  const others = [`${min}`, '', true, false, null, [], [min], {}, HUGE, `-${HUGE}`];
  return {
    good: [min, max],
    bad: [min - 1, max + 1, min + 0.5, max - 1e-9, -max - 1, 1e21, ...others],
  };
}

export function booleanField(): Field {
  return { good: [true, false], bad: ['true', '', 0, 1, null, [], {}, HUGE] };
}

/** A JSON object of at most `bytes` bytes and `levels` levels. */
export function objectField(bytes: number, levels = 10): Field {
  const sized = (size: number) => ({ a: 'x'.repeat(size - 8) });
  const nested = (depth: number) =>
    JSON.parse(`${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`);
  const mixed = (depth: number) => ({
    a: JSON.parse('['.repeat(depth - 1) + ']'.repeat(depth - 1)),
  });
  const wide = { a: '😀'.repeat((bytes - 8) / 4) };
  return {
    good: [{}, sized(bytes), wide, nested(levels), mixed(levels)],
    bad: [
      ...[1, true, null, 'x', '{}', [], [{}], HUGE],
      ...[sized(bytes + 1), { ...wide, b: 'é' }],
      ...UNKEPT_TEXTS.flatMap((text) => [
        { a: text },
        { [text]: 1 },
        { a: [{ b: { [text]: 1 } }] },
        { a: [[text]] },
      ]),
      ...[{ a: HUGE }, { a: [1, { b: `-${HUGE}` }] }],
      ...[levels + 1, 64, 1_000, 50_000].flatMap((depth) => [nested(depth), mixed(depth)]),
    ],
  };
}

export const actionField: Field = {
  good: ['a.b', 'a-1.b_2.c', '0.-', `a.${'b'.repeat(126)}`],
  bad: [
    ...[...NOT_TEXTS, ...UNKEPT_TEXTS],
    ...[
      '',
      'a',
      'a.',
      '.a',
      'a..b',
      'A.b',
      'é.b',
      ' a.b',
      'a.b ',
      'a.b\n',
      'a b.c',
      'a.b\0',
      `a.${'b'.repeat(127)}`,
    ],
  ],
};

export const resourceField: Field = {
  good: [
    'k:x',
    'k:a:b',
    'k-1_x:a b',
    'k:“é”',
    'k:☺\ufe0f',
    `k:${'x'.repeat(510)}`,
    `k:${'😀'.repeat(510)}`,
  ],
  bad: [
    ...[...NOT_TEXTS, ...UNKEPT_TEXTS.map((text) => `k:${text}`)],
    ...[
      '',
      'k',
      'k:',
      ':x',
      'K:x',
      'é:x',
      ' k:x',
      'k :x',
      `k:${'x'.repeat(511)}`,
      `k:${'😀'.repeat(511)}`,
    ],
    ...[' ', '\u00a0', '\u2003', '\u2800', '\u3164', '\n'].flatMap((blank) => [
      `k:x${blank}`,
      `k:${blank}x`,
      `${blank}k:x`,
    ]),
    ...['\u00a0', '\t', '\u200b', '\u00ad', '\u202e', '\u{e0041}', '\ufe0f', '\ufe0e'].map(
      (unseen) => `k:x${unseen}x`,
    ),
  ],
};

/** A time that is not in the future when the clock of a world has not moved. */
export const pastField: Field = {
  good: [
    '2026-01-31T12:00:00Z',
    '2025-12-31t00:00:00.001z',
    '2026-01-31T13:00:00+01:00',
    '0000-01-01T00:00:00Z',
  ],
  bad: [
    ...[...NOT_TEXTS, ...UNKEPT_TEXTS],
    ...[
      '',
      '2026-01-01',
      '2026-01-01T00:00:00',
      '2026-01-32T00:00:00Z',
      '2026-01-01T24:00:00Z',
      'yesterday',
    ],
    ...[
      '2026-01-31T12:00:00.001Z',
      '2026-01-31T11:30:00-01:00',
      '9999-12-31T23:59:59Z',
      1_700_000_000_000,
    ],
  ],
};

/** A time in the future when the clock of a world has not moved. */
export const futureField: Field = {
  good: [
    '2026-01-31T12:00:00.001Z',
    '2026-02-01t00:00:00z',
    '2026-01-31T13:30:00+01:00',
    '9999-12-31T23:59:59Z',
  ],
  bad: [
    ...[...NOT_TEXTS, ...UNKEPT_TEXTS],
    ...[
      '',
      '2026-02-01',
      '2026-02-01T00:00:00',
      '2026-02-30T00:00:00Z',
      '2026-02-01T24:00:00Z',
      'tomorrow',
    ],
    ...[
      '2026-01-31T12:00:00Z',
      '2025-12-31T00:00:00Z',
      '2026-01-31T12:30:00+01:00',
      1_800_000_000_000,
    ],
  ],
};

/**
 * The start or end of a range of time. The good values are all on one day, so that any pair is
 * valid.
 */
export const dateField: Field = {
  good: ['2026-06-15', '2026-06-15T00:00:00Z', '2026-06-15t01:00:00.000+01:00'],
  bad: [
    ...[...NOT_TEXTS, ...UNKEPT_TEXTS],
    ...[
      '',
      '2026-02-30',
      '2026-6-15',
      '2026-06-15T12:00:00',
      '2026-06-15T24:00:00Z',
      'today',
      1_800_000_000_000,
    ],
  ],
};

/** Periods up to today, when the clock of a world has not moved. */
export const periodField: Field = {
  good: [
    { start: '2026-01-31', end: '2026-01-31' },
    { start: '2025-01-31', end: '2026-01-31' },
    { start: '2024-02-29', end: '2024-02-29' },
    { start: '2026-01-31', end: '2099-12-31' },
  ],
  bad: [
    ...[
      ...NOT_TEXTS,
      ...UNKEPT_TEXTS,
      '2026-01',
      {},
      { start: '2026-01-01' },
      { end: '2026-01-31' },
    ],
    ...dateField.bad.flatMap((day) => [
      { start: day, end: '2026-01-31' },
      { start: '2026-01-01', end: day },
    ]),
    { start: '2026-01-31', end: '2026-01-30' },
    { start: '2026-02-01', end: '2026-02-01' },
    { start: '2025-01-30', end: '2026-01-31' },
    { start: '2026-01-01', end: '2026-01-31T00:00:00Z' },
    { start: '2026-01-01', end: '2026-01-31', days: 31 },
  ],
};

export const scopesField: Field = {
  good: [['audit:read'], ['audit:read', 'agents:write', 'audit:read']],
  bad: [
    'audit:read',
    1,
    true,
    null,
    {},
    [],
    ['x'],
    ['AUDIT:READ'],
    [''],
    [1],
    [null],
    [['audit:read']],
    ['audit:read', 'x'],
  ],
};

/** An id: a malformed id is accepted and treated as an unknown one. */
export const idField: Field = {
  good: ['x', 'token_01h455vb4pex5vsknk084sn02q'],
  bad: [...NOT_TEXTS, ...UNKEPT_TEXTS],
};

export const tokenField: Field = { good: [], bad: [...idField.bad, ''] };

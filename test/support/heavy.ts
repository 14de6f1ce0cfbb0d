import type { JsonSchema, Resolve } from './arbitrary';

/** The maximum size of a body, in bytes. */
export const MEBIBYTE = 1024 * 1024;

/**
 * Repeats `text` between `before` and `after` as often as fits into `size` bytes. All must be
 * ASCII.
 */
export function fill(text: string, before = '', after = '', size = MEBIBYTE): string {
  return (
    before + text.repeat(Math.floor((size - before.length - after.length) / text.length)) + after
  );
}

/** JSON text of a value that is nested as deeply as `size` bytes allow. */
function nest(open: string, close: string, size: number): string {
  const levels = Math.floor((size - 1) / (open.length + close.length));
  return `${open.repeat(levels)}1${close.repeat(levels)}`;
}

/** JSON text of an object with as many different names as `size` bytes allow. */
function widen(value: string, size: number): string {
  const members: string[] = [];
  for (let length = 2, i = 0; length < size - 16 - value.length; i++) {
    const member = `"${i.toString(36)}":${value}`;
    members.push(member);
    length += member.length + 1;
  }
  return `{${members.join()}}`;
}

/** JSON texts of values that are expensive to validate, by name, each of `size` bytes. */
function heavyValues(size: number): Record<string, string> {
  const text = (part: string, before = '') => fill(part, `"${before}`, '"', size);
  return {
    'nested arrays': nest('[', ']', size),
    'nested objects': nest('{"a":', '}', size),
    'nested objects by number': nest('{"0":', '}', size),
    'arrays and objects in turn': nest('[{"":', '}]', size),
    'unfinished arrays': fill('[', '', '', size),
    'many names': widen('0', size),
    'many objects': widen('{}', size),
    'many wrong conditions': widen('{"x":0}', size),
    'one name many times': fill('"a":0,', '{', '"a":0}', size),
    'a long name': fill('x', '{"', '":0}', size),
    numbers: fill('0,', '[', '0]', size),
    texts: fill('"",', '[', '""]', size),
    objects: fill('{},', '[', '{}]', size),
    'a long number': fill('9', '', '', size),
    letters: text('x'),
    spaces: text(' '),
    escapes: text('\\"'),
    'astral characters': text('\\ud83d\\ude00'),
    'lone surrogates': text('\\ud800'),
    words: text('a.', 'a'),
    'an address of mail': text('a.', 'a@'),
    'many signs of mail': text('a@'),
    'an address of the web': text('a.', 'https://'),
    'a path of the web': text('/..', 'https://a.co'),
    patterns: text('*a'),
    digits: text('0', '2026-01-01T00:00:00.'),
    'a token': fill('A', '"eyJhbGciOiJFZERTQSJ9.', `.${'A'.repeat(86)}"`, size),
  };
}

/** Bytes that are reserved for the rest of a body. */
const REST = 8 * 1024;
const VALUES = Object.entries(heavyValues(MEBIBYTE - REST));
/** Values within the size limit of free-form data, so that more than their size is checked. */
const FREE_FORM_VALUES = Object.entries(heavyValues(16 * 1024));
/**
 * Testing every value at every place takes too long: every second value is tested as the whole
 * body, and every sixth as a field.
 */
const STRIDES = { body: 2, field: 6 };

/**
 * Placeholders for heavy values, which would make the test itself slow: {@link writeHeavy} replaces
 * them.
 */
export const HEAVY_MARKS = VALUES.map(([name]) => `@heavy: ${name}@`);

/** Replaces a placeholder in the JSON text of a body by its heavy value. */
export function writeHeavy(text: string): string {
  return text.replace(
    /"@heavy: ([^"@]+)@"/,
    (mark, name) => VALUES.find(([other]) => other === name)?.[1] ?? mark,
  );
}

/**
 * JSON texts of bodies of up to 1 MiB with one heavy value: the whole body, an unknown field, or a
 * known field.
 */
export function* heavyBodies(
  schema: JsonSchema,
  resolve: Resolve,
  valid: object,
): Generator<[string, string]> {
  const small = JSON.stringify({ ...valid, x: 0 });
  // Chooses other values for each operation.
  const turn = small.length;
  const pick = (stride: number, offset: number) =>
    VALUES.filter((_, i) => (i + offset) % stride === 0);
  for (const [name, value] of pick(STRIDES.body, turn)) yield [`body: ${name}`, value];
  yield [
    'body: the valid one and much that is unknown',
    `${small.slice(0, -1)},${widen('0', MEBIBYTE - REST).slice(1)}`,
  ];
  const places = [...placesOf(schema, resolve, valid)];
  for (const [i, [place, wrap]] of places.entries()) {
    for (const [name, value] of pick(STRIDES.field, turn + i))
      yield [`${place}: ${name}`, wrap(value)];
    const isFreeForm = places.some(([other]) => other === `${place}.*`);
    for (const [name, value] of isFreeForm ? FREE_FORM_VALUES : [])
      yield [`${place}: 16 KiB of ${name}`, wrap(value)];
  }
}

type Wrap = (value: string) => string;

/**
 * Every field of a body and of its objects, each with the text of the body before and after the
 * field's value.
 */
function* placesOf(schema: JsonSchema, resolve: Resolve, valid: object): Generator<[string, Wrap]> {
  const { properties = {} } = schema.$ref ? resolve(schema.$ref) : schema;
  for (const [name, member] of Object.entries(properties)) {
    const wrap: Wrap = (value) => {
      const { [name]: _, ...others } = valid as Record<string, unknown>;
      const members = Object.entries(others).map(
        ([other, kept]) => `${JSON.stringify(other)}:${JSON.stringify(kept)}`,
      );
      return `{${[...members, `${JSON.stringify(name)}:${value}`].join()}}`;
    };
    yield [name, wrap];
    const inner = member.$ref ? resolve(member.$ref) : member;
    const within = (valid as Record<string, unknown>)[name];
    if (inner.properties) {
      const rest = typeof within === 'object' && within !== null ? within : {};
      for (const [place, around] of placesOf(inner, resolve, rest)) {
        yield [`${name}.${place}`, (value) => wrap(around(value))];
      }
    }
    if (inner.additionalProperties) yield [`${name}.*`, (value) => wrap(`{"a":${value}}`)];
    const { additionalProperties: members } = inner;
    const condition =
      typeof members === 'object' && members.$ref ? resolve(members.$ref) : undefined;
    for (const limit of Object.keys(condition?.properties ?? {})) {
      yield [`${name}.*.${limit}`, (value) => wrap(`{"a":{"${limit}":${value}}}`)];
    }
  }
}

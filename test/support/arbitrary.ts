import fc from 'fast-check';
import { HEAVY_MARKS } from './heavy';

/** The part of JSON Schema (draft 2020-12) that the service's OpenAPI document uses. */
export interface JsonSchema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  minProperties?: number;
  items?: JsonSchema;
  minItems?: number;
  maxItems?: number;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  format?: string;
}

/** Finds the schema that a `$ref` names. */
export type Resolve = (reference: string) => JsonSchema;

/**
 * Maximum length of random texts and arrays: long enough to find faults, short enough to be quick.
 */
const LONGEST = 40;

const DATES = fc.date({
  min: new Date('2025-01-01'),
  max: new Date('2036-01-01'),
  noInvalidDate: true,
});

/** Random values that a schema allows. */
export function valuesOf(schema: JsonSchema, resolve: Resolve): fc.Arbitrary<unknown> {
  if (schema.$ref) return valuesOf(resolve(schema.$ref), resolve);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if ('const' in schema) return fc.constant(schema.const);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices && !schema.properties)
    return fc.oneof(...choices.map((choice) => valuesOf(choice, resolve)));
  const types = schema.type === undefined ? ['any'] : [schema.type].flat();
  return fc.oneof(...types.map((type) => valuesOfType(type, schema, resolve)));
}

function valuesOfType(type: string, schema: JsonSchema, resolve: Resolve): fc.Arbitrary<unknown> {
  switch (type) {
    case 'string':
      return texts(schema);
    case 'integer':
      return numbers(schema, (min, max) => fc.integer({ min, max }));
    case 'number':
      return numbers(schema, (min, max) => fc.double({ min, max, noNaN: true }));
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(valuesOf(schema.items ?? {}, resolve), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.min(schema.maxItems ?? 4, (schema.minItems ?? 0) + 4),
      });
    case 'object':
      return objects(schema, resolve);
    default:
      return fc.jsonValue({ maxDepth: 3 });
  }
}

function texts({
  pattern,
  format,
  minLength = 0,
  maxLength = LONGEST,
}: JsonSchema): fc.Arbitrary<string> {
  if (format === 'date-time') return DATES.map((date) => date.toISOString());
  if (format === 'date') return DATES.map((date) => date.toISOString().slice(0, 10));
  if (format === 'idn-email') return fc.stringMatching(/^[a-z0-9]{1,20}@[a-z]{1,9}\.example$/);
  if (pattern) return fc.stringMatching(new RegExp(pattern, 'u'), { maxLength });
  const edge = fc.constantFrom(minLength, maxLength).map((length) => 'x'.repeat(length));
  const length = { minLength, maxLength: Math.min(maxLength, Math.max(minLength, LONGEST)) };
  return fc.oneof(
    { weight: 5, arbitrary: fc.string({ unit: 'grapheme', ...length }) },
    { weight: 1, arbitrary: edge },
  );
}

function numbers(
  { minimum = -1_000_000, maximum = 1_000_000 }: JsonSchema,
  between: (min: number, max: number) => fc.Arbitrary<number>,
): fc.Arbitrary<number> {
  return fc.oneof(between(minimum, maximum), fc.constantFrom(minimum, maximum));
}

function objects(schema: JsonSchema, resolve: Resolve): fc.Arbitrary<unknown> {
  const { properties = {}, required = [] } = schema;
  const known = fc.record(
    Object.fromEntries(
      Object.entries(properties).map(([name, member]) => [name, valuesOf(member, resolve)]),
    ),
    { requiredKeys: required },
  );
  if (Object.keys(properties).length > 0 || schema.additionalProperties === false) return known;
  const members =
    typeof schema.additionalProperties === 'object' ? schema.additionalProperties : {};
  return fc.dictionary(fc.string({ maxLength: 12 }), valuesOf(members, resolve), { maxKeys: 4 });
}

/** Values that no schema of the service expects. */
const STRANGE: unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e300,
  Number.MAX_SAFE_INTEGER,
  '',
  ' ',
  '\u0000',
  '\ud800',
  'x'.repeat(5_000),
  '../../etc/passwd',
  "' or 1=1 --",
  '{{7*7}}',
  [],
  [[]],
  {},
  { __proto__: null, constructor: 1 },
  nest(60),
  Array.from({ length: 60 }, () => ({ x: null })),
  Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`n${i}`, 0])),
];

function nest(depth: number): unknown {
  return depth === 0 ? 1 : { a: nest(depth - 1) };
}

/**
 * The same values with one fault somewhere: a member is missing, added, or replaced by a strange
 * value.
 */
export function brokenOf(values: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const strange = fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...STRANGE) },
    { weight: 1, arbitrary: fc.constantFrom(...HEAVY_MARKS) },
  );
  return fc
    .tuple(values, strange, fc.nat(), fc.constantFrom('drop', 'replace', 'add'))
    .map(([value, odd, which, how]) => breakValue(value, odd, which, how));
}

function breakValue(
  value: unknown,
  odd: unknown,
  which: number,
  how: 'drop' | 'replace' | 'add',
): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return odd;
  const names = Object.keys(value);
  const name = names[which % Math.max(1, names.length)];
  if (name === undefined) return { ...value, unheard_of: odd };
  const member = (value as Record<string, unknown>)[name];
  const rest = Math.floor(which / names.length);
  const isInner = typeof member === 'object' && member !== null && rest % 2 === 0;
  if (isInner) return { ...value, [name]: breakValue(member, odd, Math.floor(rest / 2), how) };
  if (how === 'add') return { ...value, unheard_of: odd };
  if (how === 'replace') return { ...value, [name]: odd };
  return Object.fromEntries(Object.entries(value).filter(([other]) => other !== name));
}

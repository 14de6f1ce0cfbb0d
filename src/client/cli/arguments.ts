import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import type { ArgsDef } from 'citty';
import { UsageError } from './failures.ts';
import { escapeText } from './terminal/escape.ts';

/** What citty's parser does not give. */
export interface ReadOptions {
  /** All values of options that may be repeated. */
  values: Record<string, string[]>;
  /** The command after `--`. */
  rest: string[];
}

/**
 * Reads arguments strictly: citty accepts unknown options, options without their value and surplus arguments, and keeps
 * only the last value of an option.
 * @throws UsageError
 */
export function readOptions(
  rawArgs: string[],
  args: ArgsDef,
  { repeated = [], hasRest = false }: { repeated?: string[]; hasRest?: boolean } = {},
): ReadOptions {
  const end = rawArgs.indexOf('--');
  const own = end < 0 || !hasRest ? rawArgs : rawArgs.slice(0, end);
  const rest = end < 0 || !hasRest ? [] : rawArgs.slice(end + 1);
  const { values, positionals } = parseStrictly(own, args);
  for (const [name, all] of Object.entries(values)) {
    if (all.length > 1 && !repeated.includes(name)) throw new UsageError(`--${name} is given ${all.length} times.`);
    if (all.includes('')) throw new UsageError(`--${name} needs a value.`);
  }
  const places = Object.values(args).filter(({ type }) => type === 'positional').length;
  const surplus = positionals[places];
  if (surplus !== undefined) throw new UsageError(`The argument ${escapeText(surplus)} is one too many.`);
  return { values: values as Record<string, string[]>, rest };
}

function parseStrictly(own: string[], args: ArgsDef) {
  const options: ParseArgsOptionsConfig = {};
  for (const [name, { type, default: preset, ...arg }] of Object.entries(args)) {
    if (type === 'positional') continue;
    const [short] = 'alias' in arg ? [arg.alias ?? []].flat() : [];
    const isBoolean = type === 'boolean';
    options[name] = { type: isBoolean ? 'boolean' : 'string', multiple: true, ...(short ? { short } : {}) };
    if (isBoolean && preset === true) options[`no-${name}`] = { type: 'boolean', multiple: true };
  }
  try {
    const { values, positionals } = parseArgs({ args: own, options, allowPositionals: true, strict: true });
    return { values: values as Record<string, (string | boolean)[]>, positionals };
  } catch (error) {
    throw new UsageError((error as Error).message.split('. ')[0] ?? '');
  }
}

const UNITS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 };

/**
 * Reads a length of time such as `90`, `90s`, `30m`, `12h` or `7d`, as seconds.
 * @throws UsageError
 */
export function readDuration(text: string, option: string): number {
  const [, count, unit = 's'] = /^(\d+)([smhd])?$/.exec(text) ?? [];
  const seconds = Number(count) * (UNITS[unit] ?? Number.NaN);
  if (Number.isSafeInteger(seconds)) return seconds;
  throw new UsageError(`--${option} ${escapeText(text)} is not a length of time, such as 90s, 30m, 12h or 7d.`);
}

/** @throws UsageError for anything but a whole number of at least `min` */
export function readNumber(text: string, option: string, min = 1): number {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(number) && number >= min) return number;
  throw new UsageError(`--${option} ${escapeText(text)} is not a whole number of at least ${min}.`);
}

/** @throws UsageError for anything but a JSON object */
export function readJsonObject(text: string, where: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Told below.
  }
  throw new UsageError(`${where} is not a JSON object.`);
}

/** Leaves out the properties without a value, because the API has no fields that are undefined. */
export function present<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}

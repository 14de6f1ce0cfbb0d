import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { messageOf } from '../errors.ts';
import { UsageError } from './failures.ts';
import { escapeText } from './terminal/escape.ts';

/** An option of a command, or an argument at its place. */
export interface Option {
  type: 'positional' | 'string' | 'boolean';
  description: string;
  /** The name of the value in the help; by default the name of the option. */
  valueHint?: string;
  /** The letter that also names the option. */
  short?: string;
  /** The only values that are accepted. */
  choices?: readonly string[];
  default?: string;
  isRequired?: boolean;
  /** Whether the option may be given several times: its value is a list. */
  isRepeated?: boolean;
}

/** The options of a command by their names. Every argument at a place is required. */
export type Options = Record<string, Option>;

type TextOf<T extends Option> = T extends { choices: readonly (infer Choice)[] } ? Choice : string;

type ValueOf<T extends Option> = T extends { type: 'boolean' }
  ? boolean
  : T extends { isRepeated: true }
    ? TextOf<T>[]
    : T extends { type: 'positional' } | { isRequired: true } | { default: string }
      ? TextOf<T>
      : TextOf<T> | undefined;

/** The values of options by their names. */
export type Values<T extends Options> = { [Name in keyof T]: ValueOf<T[Name]> };

/** Divides arguments at `--`, behind which those of another program follow. */
export function divideArguments(argv: string[]): { own: string[]; rest: string[] } {
  const end = argv.indexOf('--');
  if (end < 0) return { own: argv, rest: [] };
  return { own: argv.slice(0, end), rest: argv.slice(end + 1) };
}

/**
 * Reads the arguments of a command.
 * @throws UsageError for unknown, missing, repeated and surplus ones
 */
export function readOptions<T extends Options>(argv: string[], options: T): Values<T> {
  const { values, positionals } = parseStrictly(argv, options);
  const places = Object.keys(options).filter((name) => options[name]?.type === 'positional');
  const surplus = positionals[places.length];
  if (surplus !== undefined)
    throw new UsageError(`The argument ${escapeText(surplus)} is one too many.`);
  const args = Object.entries(options).map(([name, option]) => {
    if (option.type !== 'positional') return [name, readValue(name, option, values[name])];
    const value = positionals[places.indexOf(name)];
    if (!value) throw new UsageError(`The argument ${name.toUpperCase()} is missing.`);
    return [name, value];
  });
  return Object.fromEntries(args);
}

function parseStrictly(argv: string[], options: Options) {
  const config: ParseArgsOptionsConfig = {};
  for (const [name, { type, short }] of Object.entries(options)) {
    if (type !== 'positional') config[name] = { type, multiple: true, ...(short && { short }) };
  }
  try {
    const { values, positionals } = parseArgs({
      args: argv,
      options: config,
      allowPositionals: true,
    });
    return { values: values as Record<string, (string | boolean)[]>, positionals };
  } catch (error) {
    const [firstSentence] = messageOf(error).split('. ');
    throw new UsageError(firstSentence);
  }
}

function readValue(name: string, option: Option, given: (string | boolean)[] = []): unknown {
  const { type, choices, isRepeated, isRequired } = option;
  if (given.length > 1 && !isRepeated)
    throw new UsageError(`--${name} is given ${given.length} times.`);
  if (given.includes('')) throw new UsageError(`--${name} needs a value.`);
  if (type === 'boolean') return given.length > 0;
  if (isRepeated) return given;
  const [value = option.default] = given.map(String);
  if (value === undefined && isRequired) throw new UsageError(`--${name} is missing.`);
  if (choices && value !== undefined && !choices.includes(value))
    throw new UsageError(`--${name} ${escapeText(value)} is not one of ${choices.join(', ')}.`);
  return value;
}

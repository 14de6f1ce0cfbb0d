import { type ArgsDef, type CommandContext, type CommandDef, defineCommand, type ParsedArgs } from 'citty';
import { type ReadOptions, readOptions } from './arguments.ts';
import type { OptionNames } from './failures.ts';
import type { Io } from './io.ts';
import { Session } from './session.ts';

/** The options of every command. */
const COMMON = {
  url: { type: 'string', description: 'The address of the service', valueHint: 'address' },
  json: { type: 'boolean', description: 'Print JSON on a terminal too' },
} as const satisfies ArgsDef;

/** Types options that several commands share. */
export function defineArgs<const T extends ArgsDef>(args: T): T {
  return args;
}

/** What a command gets: its arguments, its session, and what the parser of citty leaves out. */
interface Call<T extends ArgsDef> extends ReadOptions {
  args: ParsedArgs<T & typeof COMMON>;
  session: Session;
  optionNames: OptionNames;
}

interface Definition<T extends ArgsDef> {
  /** The name with the group, for example `audit list`. */
  name: string;
  description: string;
  args: T;
  /** Options that may be given several times. */
  repeated?: (keyof T & string)[];
  /** The options whose names are not those of the fields that they set, by these fields. */
  fields?: OptionNames;
  /** Whether a command of another program follows after `--`. */
  hasRest?: boolean;
  examples: string[];
  /** Paragraphs of the help. */
  notes?: string[];
  /** Returns the exit code; 0 by default. */
  run(call: Call<T>): Promise<number | undefined> | Promise<void>;
}

/** A command, with what its help says beyond the options. */
export interface Command extends CommandDef {
  examples?: string[];
  notes?: string[];
  repeated?: string[];
  hasRest?: boolean;
  optionNames?: OptionNames;
}

/** A command by its description, and the function that loads it. */
export type CommandEntry = [description: string, load: () => Promise<Command>];

/** Defines a command that has the common options, and refuses unknown ones. */
export function command<const T extends ArgsDef>(definition: Definition<T>): Command {
  const { name, description, args, run, fields = {}, ...rest } = definition;
  const optionNames = { ...namesOfOptions(args), ...fields };
  const citty = defineCommand({
    meta: { name: `countersign ${name}`, description },
    args: { ...args, ...COMMON } as ArgsDef,
    run: ({ args, rawArgs, data }: CommandContext) => {
      const session = new Session(data as Io, args as { json?: boolean; url?: string });
      const call = {
        args,
        session,
        optionNames,
        ...readOptions(rawArgs, { ...definition.args, ...COMMON }, definition),
      };
      return run(call as unknown as Call<T>);
    },
  });
  return { ...citty, ...rest, optionNames };
}

function namesOfOptions(args: ArgsDef): OptionNames {
  const options = Object.entries(args).filter(([, { type }]) => type !== 'positional');
  return Object.fromEntries(
    options.flatMap(([name]) => ['body', 'query'].map((part) => [`${part}.${name.replaceAll('-', '_')}`, `--${name}`])),
  );
}

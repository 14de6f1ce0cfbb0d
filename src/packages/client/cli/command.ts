import type { OptionNames } from './failures.ts';
import type { Io } from './io.ts';
import { divideArguments, type Options, readOptions, type Values } from './options.ts';
import { Session } from './session.ts';

/** The options of every command. */
const COMMON = {
  url: { type: 'string', description: 'The address of the service', valueHint: 'address' },
  json: { type: 'boolean', description: 'Print JSON on a terminal too' },
} as const satisfies Options;

/** The arguments of a command. */
interface Call<T extends Options> {
  args: Values<T & typeof COMMON>;
  session: Session;
  /** The command after `--`. */
  rest: string[];
  optionNames: OptionNames;
}

interface Definition<T extends Options> {
  /** The name with the group, for example `audit list`. */
  name: string;
  description: string;
  args: T;
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

/** A command that can be run by its arguments. */
export interface Command extends Omit<Definition<Options>, 'fields' | 'run'> {
  optionNames: OptionNames;
  /** @throws UsageError for arguments that the command does not take */
  run(argv: string[], io: Io): Promise<number | undefined> | Promise<void>;
}

/** A command by its description, and the function that loads it. */
export type CommandEntry = [description: string, load: () => Promise<Command>];

/** Defines a command that has the common options, and refuses unknown ones. */
export function command<const T extends Options>({
  fields,
  run,
  ...definition
}: Definition<T>): Command {
  const optionNames = { ...namesOfOptions(definition.args), ...fields };
  const options = { ...definition.args, ...COMMON };
  return {
    ...definition,
    args: options,
    optionNames,
    run(argv, io) {
      const { own, rest } = definition.hasRest ? divideArguments(argv) : { own: argv, rest: [] };
      const args = readOptions(own, options);
      return run({ args, rest, optionNames, session: new Session(io, args) });
    },
  };
}

function namesOfOptions(args: Options): OptionNames {
  const names: OptionNames = {};
  for (const [name, { type }] of Object.entries(args)) {
    if (type === 'positional') continue;
    const field = name.replaceAll('-', '_');
    names[`body.${field}`] = `--${name}`;
    names[`query.${field}`] = `--${name}`;
  }
  return names;
}

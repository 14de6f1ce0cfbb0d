import { ownValue } from '../json.ts';
import manifest from '../package.json' with { type: 'json' };
import type { Command } from './command.ts';
import { COMMANDS, GROUPS } from './commands.ts';
import { EXIT } from './exit-codes.ts';
import { explain, type OptionNames, UsageError } from './failures.ts';
import { commandHelp, groupHelp, programHelp, type Screen } from './help.ts';
import { type Io, write } from './io.ts';
import { divideArguments } from './options.ts';
import { styleFor } from './terminal/style.ts';

/** The columns of the help at most. */
const MAX_HELP_WIDTH = 120;

/** Runs the command that the arguments name, prints its errors, and returns the exit code. */
export async function runCli(argv: string[], io: Io): Promise<number> {
  const [first = '', second = ''] = argv;
  const { own } = divideArguments(argv);
  const asksHelp = own.includes('--help') || own.includes('-h');
  let command: Command | undefined;
  try {
    if (first === '--version' || first === '-v') return await print(io, `${manifest.version}\n`);
    command = await loadCommand(first, second);
    if (asksHelp) return await print(io, helpFor(first, command, screenOf(io)));
    if (!command) throw new UsageError(findFault(first));
    const exitCode = await command.run(argv.slice(command.name.split(' ').length), io);
    return exitCode ?? EXIT.done;
  } catch (error) {
    return await report(error, helpCommand(first, second), io, command?.optionNames);
  }
}

async function loadCommand(first: string, second: string): Promise<Command | undefined> {
  const entry = ownValue(COMMANDS, first) ?? ownValue(COMMANDS, `${first} ${second}`);
  return await entry?.[1]();
}

function helpFor(first: string, command: Command | undefined, screen: Screen): string {
  if (command) return commandHelp(command, screen);
  if (first.startsWith('-')) return programHelp(manifest.version, screen);
  const group = ownValue(GROUPS, first);
  if (group === undefined) throw new UsageError(findFault(first));
  return groupHelp(first, group, screen);
}

/** Says why the arguments name no command. */
function findFault(first: string): string {
  if (first === '') return 'Name a command.';
  if (Object.hasOwn(GROUPS, first)) return `Name a command of ${first}.`;
  return `${first} is not a command.`;
}

/** Help is no wider than is easy to read. */
function screenOf(io: Io): Screen {
  return {
    width: Math.min(io.stdout.columns || 80, MAX_HELP_WIDTH),
    style: styleFor(io.stdout, io),
  };
}

async function print({ stdout }: Io, text: string): Promise<number> {
  await write(stdout, text);
  return EXIT.done;
}

async function report(
  error: unknown,
  help: string,
  io: Io,
  options?: OptionNames,
): Promise<number> {
  const { lines, exitCode } = explain(error, options);
  const text = [`${styleFor(io.stderr, io).red('countersign:')} ${lines.join('\n')}`];
  if (error instanceof UsageError) text.push(`See: ${help}`);
  await write(io.stderr, `${text.join('\n')}\n`);
  return exitCode;
}

/** The command that shows the help for what was called. */
function helpCommand(first: string, second: string): string {
  const known = { ...COMMANDS, ...GROUPS };
  const names = [`${first} ${second}`, first].filter((name) => Object.hasOwn(known, name));
  return ['countersign', ...names.slice(0, 1), '--help'].join(' ');
}

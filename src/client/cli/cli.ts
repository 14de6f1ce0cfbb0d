import { stripVTControlCharacters } from 'node:util';
import { runCommand } from 'citty';
import manifest from '../package.json' with { type: 'json' };
import type { Command } from './command.ts';
import { COMMANDS, GROUPS } from './commands.ts';
import { EXIT } from './exit-codes.ts';
import { explain, type OptionNames, UsageError } from './failures.ts';
import { commandHelp, groupHelp, programHelp } from './help.ts';
import { type Io, write } from './io.ts';
import { styleFor } from './terminal/style.ts';

/** Runs the command that the arguments name, prints its errors, and returns the exit code. */
export async function runCli(argv: string[], io: Io): Promise<number> {
  const end = argv.indexOf('--');
  const own = end < 0 ? argv : argv.slice(0, end);
  const asksHelp = own.includes('--help') || own.includes('-h');
  const [first, second] = argv;
  try {
    if (first === '--version' || first === '-v') return await print(io, `${manifest.version}\n`);
    if (first === undefined || first.startsWith('-')) {
      if (asksHelp) return await print(io, programHelp(manifest.version));
      throw new UsageError(first === undefined ? 'Name a command.' : `${first} is not a command.`);
    }
    const name = Object.hasOwn(COMMANDS, first) ? first : `${first} ${second}`;
    if (Object.hasOwn(COMMANDS, name)) return await runNamed(name, argv, asksHelp, io);
    const group = Object.hasOwn(GROUPS, first) ? GROUPS[first] : undefined;
    if (group && asksHelp) return await print(io, groupHelp(first, group));
    throw new UsageError(group ? `Name a command of ${first}.` : `${first} is not a command.`);
  } catch (error) {
    return await report(error, helpCommand(argv), io);
  }
}

async function runNamed(name: string, argv: string[], asksHelp: boolean, io: Io): Promise<number> {
  const rawArgs = argv.slice(name.split(' ').length);
  const command = (await COMMANDS[name]?.[1]()) as Command;
  if (asksHelp) return await print(io, await commandHelp(command, styleFor(io.stdout, io).bold('') !== ''));
  try {
    const { result } = await runCommand(command, { rawArgs, data: io });
    return typeof result === 'number' ? result : EXIT.done;
  } catch (error) {
    return await report(error, helpCommand(argv), io, command.optionNames);
  }
}

async function print({ stdout }: Io, text: string): Promise<number> {
  await write(stdout, text);
  return EXIT.done;
}

async function report(error: unknown, help: string, io: Io, options?: OptionNames): Promise<number> {
  const isUsage = error instanceof UsageError || (error instanceof Error && error.name === 'CLIError');
  const wrong = isUsage ? new UsageError(stripVTControlCharacters((error as Error).message)) : error;
  const { lines, exitCode } = explain(wrong, options);
  const [first = '', ...more] = lines;
  const style = styleFor(io.stderr, io);
  const hint = isUsage ? [`See: ${help}`] : [];
  await write(io.stderr, `${[`${style.red('countersign:')} ${first}`, ...more, ...hint].join('\n')}\n`);
  return exitCode;
}

/** The command that shows the help for what was called. */
function helpCommand([first = '', second = '']: string[]): string {
  if (Object.hasOwn(COMMANDS, first)) return `countersign ${first} --help`;
  if (Object.hasOwn(COMMANDS, `${first} ${second}`)) return `countersign ${first} ${second} --help`;
  return Object.hasOwn(GROUPS, first) ? `countersign ${first} --help` : 'countersign --help';
}

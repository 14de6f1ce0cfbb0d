import manifest from '../package.json' with { type: 'json' };
import type { CommandEntry } from './command.ts';
import { COMMANDS, GROUPS } from './commands.ts';
import { EXIT } from './exit-codes.ts';
import { explain, type OptionNames, UsageError } from './failures.ts';
import { commandHelp, groupHelp, programHelp, type Screen } from './help.ts';
import { type Io, write } from './io.ts';
import { styleFor } from './terminal/style.ts';

/** The columns of the help at most. */
const MAX_HELP_WIDTH = 120;

/** Runs the command that the arguments name, prints its errors, and returns the exit code. */
export async function runCli(argv: string[], io: Io): Promise<number> {
  const end = argv.indexOf('--');
  const own = end < 0 ? argv : argv.slice(0, end);
  const asksHelp = own.includes('--help') || own.includes('-h');
  const [first, second] = argv;
  try {
    if (first === '--version' || first === '-v') return await print(io, `${manifest.version}\n`);
    if (first === undefined || first.startsWith('-')) {
      if (asksHelp) return await print(io, programHelp(manifest.version, screenOf(io)));
      throw new UsageError(first === undefined ? 'Name a command.' : `${first} is not a command.`);
    }
    const name = Object.hasOwn(COMMANDS, first) ? first : `${first} ${second}`;
    if (Object.hasOwn(COMMANDS, name)) return await runNamed(name, argv, asksHelp, io);
    const group = Object.hasOwn(GROUPS, first) ? GROUPS[first] : undefined;
    if (group && asksHelp) return await print(io, groupHelp(first, group, screenOf(io)));
    throw new UsageError(group ? `Name a command of ${first}.` : `${first} is not a command.`);
  } catch (error) {
    return await report(error, helpCommand(argv), io);
  }
}

async function runNamed(name: string, argv: string[], asksHelp: boolean, io: Io): Promise<number> {
  const [, load] = COMMANDS[name] as CommandEntry;
  const command = await load();
  if (asksHelp) return await print(io, commandHelp(command, screenOf(io)));
  try {
    return (await command.run(argv.slice(name.split(' ').length), io)) ?? EXIT.done;
  } catch (error) {
    return await report(error, helpCommand(argv), io, command.optionNames);
  }
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
  const [first = '', ...more] = lines;
  const style = styleFor(io.stderr, io);
  const hint = error instanceof UsageError ? [`See: ${help}`] : [];
  await write(
    io.stderr,
    `${[`${style.red('countersign:')} ${first}`, ...more, ...hint].join('\n')}\n`,
  );
  return exitCode;
}

/** The command that shows the help for what was called. */
function helpCommand([first = '', second = '']: string[]): string {
  if (Object.hasOwn(COMMANDS, first)) return `countersign ${first} --help`;
  if (Object.hasOwn(COMMANDS, `${first} ${second}`)) return `countersign ${first} ${second} --help`;
  return Object.hasOwn(GROUPS, first) ? `countersign ${first} --help` : 'countersign --help';
}

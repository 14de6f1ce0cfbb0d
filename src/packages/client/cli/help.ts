import type { Command } from './command.ts';
import { COMMANDS } from './commands.ts';
import type { Option } from './options.ts';
import { type Fact, formatFacts } from './terminal/facts.ts';
import type { Style } from './terminal/style.ts';
import { wrapText } from './terminal/width.ts';

/** The terminal that a help is made for. */
export interface Screen {
  width: number;
  style: Style;
}

/** The columns before the lines of a section. */
const INDENT = 2;

const EXIT_CODES =
  '0 done, 1 failed, 2 wrong usage, 3 denied, 4 expired, 5 still waiting for a decision';

/** Returns the help of the program, without loading a command. */
export function programHelp(version: string, screen: Screen): string {
  return join(
    `countersign ${version}: decide what AI agents may do, and see what they did`,
    section('USAGE', ['countersign <command> [options]'], screen),
    listCommands(Object.entries(COMMANDS), screen),
    ...paragraphs(
      [
        '`countersign <command> --help` shows the options of a command, with examples; `countersign --version` prints the ' +
          'version.',
        'The service and the credential are those of `countersign login`. The environment variables COUNTERSIGN_URL and ' +
          'COUNTERSIGN_API_KEY come first: set them in CI. On a terminal commands print text, otherwise JSON; --json prints ' +
          'JSON everywhere. Data goes to stdout, everything else to stderr.',
        `Exit codes: ${EXIT_CODES}.`,
      ],
      screen,
    ),
  );
}

/** Returns the help of a group, such as `audit`. */
export function groupHelp(group: string, description: string, screen: Screen): string {
  const commands = Object.entries(COMMANDS).filter(([name]) => name.startsWith(`${group} `));
  const hint = `\`countersign ${group} <command> --help\` shows the options of a command, with examples.`;
  return join(description, listCommands(commands, screen), ...paragraphs([hint], screen));
}

/** Returns the help of a command. */
export function commandHelp(
  { name, description, args, notes = [], ...command }: Command,
  screen: Screen,
): string {
  const all = Object.entries(args);
  const places = all.filter(([, { type }]) => type === 'positional');
  const options = all.filter(([, { type }]) => type !== 'positional');
  const required = options.filter(([, { isRequired }]) => isRequired);
  const usage = [
    `countersign ${name}`,
    ...places.map(([place]) => `<${place}>`),
    ...required.map(labelOf),
    '[options]',
  ];
  if (command.hasRest) usage.push('-- <command>');
  const sections = [section('USAGE', wrapText(usage.join(' '), screen.width - INDENT), screen)];
  if (places.length > 0) sections.push(section('ARGUMENTS', listOptions(places, screen), screen));
  return join(
    ...paragraphs([description], screen),
    ...sections,
    section('OPTIONS', listOptions(options, screen), screen),
    ...paragraphs(notes, screen),
    // Longer lines stay whole, to be copied.
    section('EXAMPLES', command.examples, screen),
  );
}

function listCommands(
  commands: [string, [description: string, load: unknown]][],
  screen: Screen,
): string {
  const names = commands.map(([name, [description]]): Fact => [name, description]);
  return section('COMMANDS', listNames(names, screen), screen);
}

function section(title: string, lines: string[], { style }: Screen): string {
  return `${style.bold(title)}\n${lines.map((line) => `  ${line}`).join('\n')}`;
}

function listOptions(options: [string, Option][], screen: Screen): string[] {
  const facts = options.map((option): Fact => [labelOf(option), describe(option[1])]);
  return listNames(facts, screen);
}

function listNames(names: Fact[], { width, style }: Screen): string[] {
  return formatFacts(names, width - INDENT, style.bold);
}

function paragraphs(texts: string[], { width }: Screen): string[] {
  return texts.map((text) => wrapText(text, width).join('\n'));
}

function join(...parts: string[]): string {
  return `${parts.join('\n\n')}\n`;
}

function labelOf([name, { type, short, valueHint = name }]: [string, Option]): string {
  if (type === 'positional') return name;
  let label = `--${name}`;
  if (short) label = `-${short}, ${label}`;
  if (type === 'string') label += ` <${valueHint}>`;
  return label;
}

function describe({ description, choices, isRepeated, default: preset }: Option): string {
  const hints = [
    choices?.join(', '),
    isRepeated && 'may be repeated',
    preset && `by default ${preset}`,
  ].filter(Boolean);
  if (hints.length === 0) return description;
  return `${description} (${hints.join('; ')})`;
}

import { stripVTControlCharacters } from 'node:util';
import { renderUsage } from 'citty';
import type { Command } from './command.ts';
import { COMMANDS } from './commands.ts';

const EXIT_CODES = '0 done, 1 failed, 2 wrong usage, 3 denied, 4 expired, 5 still waiting for a decision';

/** Returns the help of the program, without loading a command. */
export function programHelp(version: string): string {
  return `countersign ${version}: decide what AI agents may do, and see what they did

USAGE
  countersign <command> [options]

COMMANDS
${listCommands(Object.entries(COMMANDS))}

  countersign <command> --help    shows the options of a command, with examples
  countersign --version           prints the version

The service and the credential are those of \`countersign login\`. The environment variables COUNTERSIGN_URL and
COUNTERSIGN_API_KEY come first: set them in CI. On a terminal commands print text, otherwise JSON; --json prints JSON
everywhere. Data goes to stdout, everything else to stderr.

Exit codes: ${EXIT_CODES}.
`;
}

/** Returns the help of a group, such as \`audit\`. */
export function groupHelp(group: string, description: string): string {
  const commands = Object.entries(COMMANDS).filter(([name]) => name.startsWith(`${group} `));
  return `${description}

COMMANDS
${listCommands(commands)}

  countersign ${group} <command> --help    shows the options of a command, with examples
`;
}

function listCommands(commands: [string, [description: string, load: unknown]][]): string {
  return commands.map(([name, [description]]) => `  ${name.padEnd(20)}${description}`).join('\n');
}

/** Returns the help of a command. */
export async function commandHelp(command: Command, hasColours: boolean): Promise<string> {
  const usage = await renderUsage(command);
  const text = [
    hasColours ? usage.trimEnd() : stripVTControlCharacters(usage).trimEnd(),
    ...(command.notes ?? []),
    ...(command.examples ? [`EXAMPLES\n\n${command.examples.map((example) => `  ${example}`).join('\n')}`] : []),
  ];
  return `${text.join('\n\n')}\n`;
}

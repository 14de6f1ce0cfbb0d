import { ownValue } from '../json.ts';
import { type Command, type CommandEntry, command } from './command.ts';
import { UsageError } from './failures.ts';
import { write } from './io.ts';

/** Defines the command that prints the completion of these commands. */
export function makeCompletion(commands: Record<string, CommandEntry>): Command {
  return command({
    name: 'completion',
    description: 'Prints the script with which a shell completes commands and options.',
    args: { shell: { type: 'positional', description: 'bash, zsh or fish' } },
    notes: ['Add the line of your shell to its start-up file.'],
    examples: [
      'source <(countersign completion bash)    # ~/.bashrc',
      'source <(countersign completion zsh)     # ~/.zshrc, after compinit',
      'countersign completion fish | source     # ~/.config/fish/config.fish',
    ],
    async run({ args, session }) {
      const script = ownValue(SCRIPTS, args.shell);
      if (!script)
        throw new UsageError(
          `There is no completion for ${args.shell}, only for bash, zsh and fish.`,
        );
      await write(session.io.stdout, script(await listWords(commands)));
    },
  });
}

const SCRIPTS: Record<string, (words: Words) => string> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/**
 * The words that can follow the words before: for `audit`, the commands of the group; for
 * `audit list`, its options.
 */
type Words = Map<string, string[]>;

async function listWords(commands: Record<string, CommandEntry>): Promise<Words> {
  const words: Words = new Map();
  for (const [name, [, load]] of Object.entries(commands)) {
    const [first = '', second] = name.split(' ');
    words.set('', [...new Set([...(words.get('') ?? ['--help', '--version']), first])]);
    if (second) words.set(first, [...(words.get(first) ?? ['--help']), second]);
    const { args } = await load();
    const options = Object.keys(args).filter((option) => args[option]?.type !== 'positional');
    words.set(name, [...options.map((option) => `--${option}`), '--help']);
  }
  return words;
}

function cases(words: Words): string {
  return [...words]
    .map(([name, following]) => `    '${name}') following='${following.join(' ')}' ;;`)
    .join('\n');
}

function bashScript(words: Words): string {
  return `_countersign() {
  local current=\${COMP_WORDS[COMP_CWORD]} first=\${COMP_WORDS[1]} second=\${COMP_WORDS[2]} name following
  name=
  if [ "$COMP_CWORD" -gt 1 ]; then name=$first; fi
  case "$first" in ${groupsOf(words).join('|')}) if [ "$COMP_CWORD" -gt 2 ]; then name="$first $second"; fi ;; esac
  case "$name" in
${cases(words)}
    *) following= ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$following" -- "$current")
}
complete -o default -F _countersign countersign
`;
}

function zshScript(words: Words): string {
  return `_countersign() {
  local first=\${words[2]} second=\${words[3]} place=$CURRENT name
  name=
  if (( place > 2 )); then name=$first; fi
  case "$first" in ${groupsOf(words).join('|')}) if (( place > 3 )); then name="$first $second"; fi ;; esac
  local following=
  case "$name" in
${cases(words)}
  esac
  compadd -- \${=following}
  case "$name" in ''|${groupsOf(words).join('|')}) ;; *) _files ;; esac
}
compdef _countersign countersign
`;
}

function fishScript(words: Words): string {
  const groups = ['', ...groupsOf(words)];
  const lines = [...words].map(([name, following]) => {
    // Only a command may be followed by files.
    const noFiles = groups.includes(name) ? '-f ' : '';
    const condition = conditionFor(name, words);
    return `complete -c countersign ${noFiles}-n '${condition}' -a '${following.join(' ')}'`;
  });
  return `${lines.join('\n')}\n`;
}

function conditionFor(name: string, words: Words): string {
  if (name === '') return '__fish_use_subcommand';
  const [first = '', second] = name.split(' ');
  if (second)
    return `__fish_seen_subcommand_from ${first}; and __fish_seen_subcommand_from ${second}`;
  const seen = `__fish_seen_subcommand_from ${first}`;
  if (!groupsOf(words).includes(first)) return seen;
  const commands = (words.get(first) ?? []).filter((word) => !word.startsWith('-'));
  return `${seen}; and not __fish_seen_subcommand_from ${commands.join(' ')}`;
}

function groupsOf(words: Words): string[] {
  const commands = [...words.keys()].map((name) => name.split(' '));
  const groups = commands.filter(({ length }) => length > 1).map(([first = '']) => first);
  return [...new Set(groups)];
}

import type { Rule, Rules, Treatment } from '../../rules/rules.ts';
import { pickRule, strictness, treatmentOf } from '../../rules/rules.ts';
import { foldName } from '../mcp/message.ts';
import { RulesError, readRulesFile } from '../mcp/rules-file.ts';
import { McpToolRules } from '../mcp/tool-rules.ts';
import { LAUNCHERS } from './launchers.ts';
import type { ParsedCommand } from './parse-command.ts';
import { SHELL } from './tool.ts';

/** A rule for commands of the shell, such as `Bash(git push *)`. */
interface CommandRule {
  name: string;
  words: string[];
  rule: Rule;
}

/** How the tool calls of a coding agent are guarded. */
export class HookRules {
  readonly #rules: Rules;
  readonly #tools: McpToolRules;
  readonly #commands: CommandRule[] = [];

  /** @throws RulesError for a file that is not valid */
  constructor(text: string) {
    const rules = readRulesFile(text);
    const tools: Record<string, Rule> = {};
    for (const [name, rule] of Object.entries(rules.tools ?? {})) {
      const words = wordsOfRule(name);
      if (words) this.#commands.push({ name, words, rule });
      else tools[name] = rule;
    }
    this.#rules = { ...rules, tools };
    this.#tools = new McpToolRules(this.#rules);
  }

  /** How long a call may wait for a person, in milliseconds. */
  get wait(): number {
    return Number(this.#rules.wait);
  }

  /** How the calls of a tool are guarded. */
  treatmentOf(tool: string): Treatment {
    return this.#tools.treatmentOf(tool);
  }

  /** Like `treatmentOf`, but asks where the rule would allow. */
  askTreatmentOf(tool: string): Exclude<Treatment, 'allow'> {
    const treatment = this.treatmentOf(tool);
    if (treatment !== 'allow') return treatment;
    return this.#askBy('ask', tool);
  }

  /**
   * How a command line is guarded: as the strictest rule of its simple commands says. A rule's own
   * action and resource count only if all commands that ask have the same rule, so that a policy
   * for one of them does not approve another.
   */
  treatmentOfCommand({ isPlain, commands }: ParsedCommand): Treatment {
    const rules = commands.map((words) => this.#ruleOf(words));
    if (rules.some((rule) => this.#strictnessOf(rule) === strictness('deny'))) return 'deny';
    const asking = new Set(rules.filter((rule) => !this.#allows(rule)));
    if (isPlain && asking.size === 0) return 'allow';
    const [only] = asking;
    if (isPlain && asking.size === 1 && only) return this.#askBy(only, SHELL);
    return this.askTreatmentOf(SHELL);
  }

  /** How strict a rule of {@link #ruleOf} is. */
  #strictnessOf(rule: Rule | null): number {
    return strictness(rule ?? this.treatmentOf(SHELL));
  }

  #allows(rule: Rule | null): boolean {
    return this.#strictnessOf(rule) === strictness('allow');
  }

  /** The rule of a simple command; null if only the rule of the shell as a whole fits. */
  #ruleOf(words: string[]): Rule | null {
    const [program = ''] = words;
    const basename = program.slice(program.lastIndexOf('/') + 1);
    const exact = findRule(this.#commands, words);
    let found = exact?.rule ?? null;
    // The same program by its path, and in another spelling, which some file systems ignore.
    for (const spelling of [[basename, ...words.slice(1)], words]) {
      const other = findRule(this.#commands, spelling, foldName);
      if (other && strictness(other.rule) > this.#strictnessOf(found)) found = other.rule;
    }
    const isNamed = exact?.words[0] === program;
    if (LAUNCHERS.has(foldName(basename)) && !isNamed && this.#allows(found)) return 'ask';
    return found;
  }

  #askBy(rule: Rule, tool: string): Exclude<Treatment, 'allow' | 'deny'> {
    const treatment = treatmentOf(tool, { ...this.#rules, tools: { [tool]: rule } });
    if (typeof treatment === 'string') throw new TypeError(`The rule of ${tool} asks nobody.`);
    return treatment;
  }
}

/**
 * Reads the words of a rule for commands; null for the rule of a tool.
 * @throws RulesError for a name that could never fit
 */
function wordsOfRule(name: string): string[] | null {
  const [, tool, text = ''] = /^([^()]*)\((.*)\)$/s.exec(name) ?? [];
  const place = `tools[${JSON.stringify(name)}]`;
  if (tool === undefined && !/[()]/.test(name)) {
    if (foldName(name) !== 'shell') return null;
    throw new RulesError(`${place}: the shell is called ${SHELL} in rules.`);
  }
  if (tool !== SHELL) {
    throw new RulesError(`${place}: only ${SHELL} has rules for commands, as in "Bash(git *)".`);
  }
  const words = text.split(/\s+/).filter((word) => word !== '');
  if (words.length === 0) throw new RulesError(`${place} names no command.`);
  if (/["'\\]/.test(text)) {
    throw new RulesError(`${place}: words are divided by blanks, and quotes have no meaning.`);
  }
  if (/:\*$/.test(text)) {
    throw new RulesError(`${place}: write a blank instead of the colon, as in "Bash(git push *)".`);
  }
  return words;
}

/** Finds the rule of a command, as {@link pickRule} says. */
function findRule(
  rules: CommandRule[],
  words: string[],
  spell: (word: string) => string = (word) => word,
): CommandRule | undefined {
  return pickRule(rules.filter((rule) => fitsWords(rule.words.map(spell), words.map(spell))));
}

/** `*` as a word stands for any words, also none; inside a word for any characters of it. */
function fitsWords(pattern: string[], words: string[]): boolean {
  return matches(pattern, words, (part, word) => matches([...part], [...word], Object.is));
}

function matches(
  pattern: string[],
  items: string[],
  fits: (part: string, item: string) => boolean,
): boolean {
  let place = 0;
  let index = 0;
  let star = -1;
  let restart = 0;
  while (index < items.length) {
    const part = pattern[place];
    const item = items[index] ?? '';
    if (part === '*') {
      star = place++;
      restart = index;
    } else if (part !== undefined && fits(part, item)) {
      place++;
      index++;
    } else if (star >= 0) {
      place = star + 1;
      index = ++restart;
    } else {
      return false;
    }
  }
  return pattern.slice(place).every((part) => part === '*');
}

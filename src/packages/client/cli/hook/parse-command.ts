import { type Command, forEachChild, parse, type SyntaxNode, type Word } from 'unbash';

/** A shell command line, divided into its simple commands. */
export interface ParsedCommand {
  /** Whether the words below are exactly what a shell runs. */
  isPlain: boolean;
  /** The words of each simple command. Where the line is not plain, as far as they are known. */
  commands: string[][];
}

/** Longer lines are not parsed: nobody could read what is asked anyway. */
const MAX_LENGTH = 32 * 1024;

const CONTROL = /(?![\t\n])\p{Cc}|[\u2028\u2029]/u;

/** Characters that no shell gives a meaning to. */
const PLAIN_TEXT = /^(?:(?!\p{DI})[\p{L}\p{N}_./:@%+,=-])+$/u;

/** Between the words of a plain line stand only blanks and these operators. */
const PLAIN_GAPS = /^(?:[ \t\n;]|&&|\|\|?)*$/;

/**
 * Parses a command line of a shell. It is plain if bash, zsh and other shells read it alike: words
 * without expansions, joined by `;`, `&&`, `||`, `|` and line feeds.
 */
export function parseCommand(line: string): ParsedCommand {
  if (line.length > MAX_LENGTH || CONTROL.test(line)) return { isPlain: false, commands: [] };
  const parsed: ParsedCommand = { isPlain: true, commands: [] };
  try {
    let gaps = line;
    const visit = (node: SyntaxNode): void => {
      if (!isPlainNode(node)) parsed.isPlain = false;
      if (node.type === 'Command') parsed.commands.push(wordsOf(node));
      if (node.type === 'Word') gaps = withoutWord(gaps, node);
      forEachChild(node, visit);
    };
    visit(parse(line));
    if (!PLAIN_GAPS.test(gaps)) parsed.isPlain = false;
  } catch {
    // Nested too deeply.
    parsed.isPlain = false;
  }
  if (parsed.commands.length === 0) parsed.isPlain = false;
  return parsed;
}

function isPlainNode(node: SyntaxNode): boolean {
  switch (node.type) {
    case 'Script':
      return !('errors' in node && node.errors?.length);
    case 'Statement':
      return !node.background;
    case 'AndOr':
      return true;
    case 'Pipeline':
      return node.prefixes.length === 0 && node.operators.every((operator) => operator === '|');
    case 'Command':
      return (
        node.name !== undefined &&
        node.prefix.length === 0 &&
        node.suffix.every(({ type }) => type === 'Word')
      );
    case 'Word':
      return isPlainWord(node);
    case 'Literal':
    case 'SingleQuoted':
    case 'DoubleQuoted':
      return true;
    default:
      return false;
  }
}

function isPlainWord({ parts, text, value }: Word): boolean {
  // `=name` is the path of a program to zsh, `%1` a job.
  if (/^[=%]/.test(text)) return false;
  if (!parts) return text === value && PLAIN_TEXT.test(text);
  return parts.every((part) => {
    if (part.type === 'SingleQuoted') return true;
    if (part.type === 'Literal') return part.text === part.value && PLAIN_TEXT.test(part.text);
    if (part.type !== 'DoubleQuoted') return false;
    return part.parts.every((inner) => inner.type === 'Literal' && inner.text === inner.value);
  });
}

function wordsOf({ name, suffix }: Command): string[] {
  const words = suffix.filter((argument) => argument.type === 'Word');
  return [...(name ? [name] : []), ...words].map(({ value }) => value);
}

function withoutWord(line: string, { pos, end }: Word): string {
  return line.slice(0, pos) + ' '.repeat(end - pos) + line.slice(end);
}

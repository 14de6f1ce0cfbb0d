import { parseJson } from './conditions';

/**
 * Patterns as lines of text. One that a line cannot hold as it is, is written in quotes, as JSON.
 */
export function writePatterns(patterns: string[]): string {
  return patterns.map(writeLine).join('\n');
}

function writeLine(pattern: string): string {
  if (readLine(pattern) === pattern) return pattern;
  return JSON.stringify(pattern);
}

/** The patterns of a text with one a line. Empty lines do not count. */
export function readPatterns(text: string): string[] {
  return text.split(/\r\n|\r|\n/).flatMap((line) => readLine(line) ?? []);
}

/** The pattern of a line; null if it is empty. */
function readLine(line: string): string | null {
  const text = line.replace(/[\r\n]/g, '').trim();
  if (text === '') return null;
  if (!text.startsWith('"')) return text;
  const quoted = parseJson(text);
  return typeof quoted === 'string' ? quoted : text;
}

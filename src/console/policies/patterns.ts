import { parseJson } from './conditions';

/**
 * Patterns as lines of text. One that a line cannot hold as it is, is written in quotes, as JSON.
 */
export function writePatterns(patterns: string[]): string {
  return patterns
    .map((pattern) => (readLine(pattern) === pattern ? pattern : JSON.stringify(pattern)))
    .join('\n');
}

/** The patterns of a text with one a line. Empty lines do not count. */
export function readPatterns(text: string): string[] {
  return text.split(/\r\n|\r|\n/).flatMap((line) => readLine(line) ?? []);
}

/** The pattern of a line; null if it is empty. */
function readLine(line: string): string | null {
  const text = line.replace(/[\r\n]/g, '').trim();
  if (text === '') return null;
  const quoted = text.startsWith('"') ? parseJson(text) : undefined;
  return typeof quoted === 'string' ? quoted : text;
}

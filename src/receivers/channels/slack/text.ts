import { showUnseen } from '../../../lib/unseen';

/** Maximum size of the text of a section. */
export const MAX_SECTION = 3_000;

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/**
 * Escapes a text for the `text` of a message, in which Slack parses mentions such as `<!channel>`.
 * The texts of blocks are not parsed and not escaped.
 * @see https://docs.slack.dev/messaging/formatting-message-text#escaping
 */
export function escapeText(text: string): string {
  return text.replace(/[&<>]/g, (character) => ENTITIES[character] ?? character);
}

/**
 * A text that an agent or a person wrote, in one line. Each unseen character becomes its code
 * point, such as `U+202E`.
 */
export function inLine(text: string): string {
  return showUnseen(text);
}

/** The same for a text of several lines: line feeds and tabs stay as they are. */
export function inLines(text: string): string {
  return showUnseen(text, { hasLines: true });
}

/**
 * The size of a text in UTF-16 code units, once escaped: Slack's documents do not say what a
 * character is to its limits.
 */
export function sizeOf(text: string): number {
  return escapeText(text).length;
}

/** A text of at most a size. If it is longer, an ellipsis replaces the rest. */
export function cut(text: string, max: number): string {
  if (sizeOf(text) <= max) return text;
  const [start = ''] = split(text, max - 1);
  return `${start}…`;
}

/** Splits a text into parts of at most a size, between code points. */
export function split(text: string, max: number): string[] {
  const parts: string[] = [];
  let part = '';
  let size = 0;
  for (const character of text) {
    const added = sizeOf(character);
    if (size + added > max) {
      parts.push(part);
      part = '';
      size = 0;
    }
    part += character;
    size += added;
  }
  return part === '' ? parts : [...parts, part];
}

import { escapeText } from './escape.ts';
import { withScriptsMark } from './scripts.ts';
import { wrapText } from './width.ts';

/** A name and its value, on a line of their own; a value of null is left out. */
export type Fact = [name: string, value: string | number | null | undefined];

/**
 * Formats facts in two columns. The values are escaped, marked where words mix scripts, and wrapped
 * to the width of the terminal.
 */
export function formatFacts(
  facts: Fact[],
  width: number,
  colour: (name: string) => string,
): string[] {
  const present = facts.filter(([, value]) => (value ?? '') !== '');
  const column = Math.max(...present.map(([name]) => name.length)) + 2;
  const room = Math.max(20, width - column);
  return present.flatMap(([name, value]) => {
    const text = withScriptsMark(escapeText(String(value)));
    const [first, ...more] = wrapText(text, room);
    const indented = more.map((line) => ' '.repeat(column) + line);
    return [`${colour(name.padEnd(column))}${first}`, ...indented];
  });
}

/** Says a boolean to people. */
export function yesOrNo(value: boolean): string {
  return value ? 'yes' : 'no';
}

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
  const present = facts.filter(
    ([, value]) => value !== null && value !== undefined && value !== '',
  );
  const column = Math.max(...present.map(([name]) => name.length)) + 2;
  return present.flatMap(([name, value]) =>
    wrapText(withScriptsMark(escapeText(String(value))), Math.max(20, width - column)).map(
      (line, index) => (index === 0 ? colour(name.padEnd(column)) : ' '.repeat(column)) + line,
    ),
  );
}

import type { Content } from 'pdfmake/js/Printer.js';
import type { Coverage, Family } from './fonts';
import { type Run, splitIntoRuns } from './text-runs';

/** Sets every text within some content in the fonts that have it, and notes which these are. */
export function setFonts(content: Content, coverage: Coverage, used: Set<Family>): Content {
  const runsOf = (text: string): string | Run[] => {
    const runs = splitIntoRuns(text, coverage);
    for (const { font } of runs) used.add(font);
    const [first] = runs;
    return runs.length === 1 && first?.font === 'latin' ? first.text : runs;
  };
  const set = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(set);
    if (typeof part === 'string') return { text: runsOf(part) };
    if (typeof part !== 'object' || part === null) return part;
    const node: Record<string, unknown> = { ...part };
    for (const key of ['text', 'stack', 'columns', 'table', 'body']) {
      const inner = node[key];
      if (inner !== undefined) node[key] = key === 'text' && typeof inner === 'string' ? runsOf(inner) : set(inner);
    }
    return node;
  };
  return set(content) as Content;
}

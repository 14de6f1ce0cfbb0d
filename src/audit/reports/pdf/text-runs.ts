/// <reference path="./libraries.d.ts" />
import makeBidi from 'bidi-js';
import type { Content } from 'pdfmake/js/Printer.js';
import { formatCodePoint } from '../wording';
import type { Coverage, Family } from './fonts';

/** A piece of a text in one font, where it stands from left to right. */
export interface Run {
  text: string;
  font: Family;
}

const PLAIN = /^[\x20-\x7e]*$/;
const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}]/u;
/** What shows nothing; it can mislead. Some of it counts as letters: the fillers of Hangul, and an empty pattern of Braille. */
const INVISIBLE = /[\p{C}\p{Default_Ignorable_Code_Point}\u2800]/u;
/** The joiners, which Arabic script needs within words. */
const JOINER = /[\u200c\u200d]/;
const ARABIC = /\p{Script=Arabic}/u;

/** So many marks can stand on a letter; more would cover what is around it. */
const MAX_MARKS = 4;

let bidi: ReturnType<typeof makeBidi> | undefined;

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

/** Splits a text into runs; what no font has is written as [U+1F600]. */
export function splitIntoRuns(text: string, coverage: Coverage): Run[] {
  if (PLAIN.test(text)) return [{ text, font: 'latin' }];
  const visible = makeVisible(text, coverage);
  const fonts = chooseFonts(visible, coverage);
  return RIGHT_TO_LEFT.test(visible) ? orderRuns(visible, fonts) : joinRuns(visible, fonts);
}

function makeVisible(text: string, coverage: Coverage): string {
  let visible = '';
  const normal = text
    .replace(/\s+/g, ' ')
    .replace(/\p{Variation_Selector}/gu, '')
    .normalize('NFC');
  let [before, marks] = ['', 0];
  for (const character of normal) {
    const isKept = JOINER.test(character) ? ARABIC.test(before) : !INVISIBLE.test(character);
    marks = /\p{M}/u.test(character) ? marks + 1 : 0;
    const isShown = isKept && marks <= MAX_MARKS && coverage.familyOf(character.codePointAt(0) ?? 0) !== null;
    visible += isShown ? character : formatCodePoint(character);
    before = character;
  }
  return visible;
}

/** The font of every UTF-16 unit. Marks and joiners stay in the font of the letter before them if it has them. */
function chooseFonts(text: string, coverage: Coverage): Family[] {
  const fonts: Family[] = [];
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    const last = fonts.at(-1);
    const joins = /[\p{M}\u200c\u200d]/u.test(character);
    const font = joins && last && coverage.has(last, code) ? last : (coverage.familyOf(code) ?? 'latin');
    for (let unit = 0; unit < character.length; unit++) fonts.push(font);
  }
  return fonts;
}

function joinRuns(text: string, fonts: Family[]): Run[] {
  const runs: Run[] = [];
  fonts.forEach((font, at) => {
    const last = runs.at(-1);
    if (last?.font === font) last.text += text[at];
    else runs.push({ text: text[at] ?? '', font });
  });
  return runs;
}

/**
 * Runs as the Unicode bidirectional algorithm orders them. What it moved may not be broken into lines, as its end can
 * stand at the left. The shaping of Arabic and Hebrew reverses a run by itself.
 */
function orderRuns(text: string, fonts: Family[]): Run[] {
  bidi ??= makeBidi();
  const levels = bidi.getEmbeddingLevels(text, runsRightToLeft(text) ? 'rtl' : 'ltr');
  const mirrored = bidi.getMirroredCharactersMap(text, levels.levels);
  const runs: (Run & { level: number })[] = [];
  for (const at of bidi.getReorderedIndices(text, levels)) {
    const [font, level] = [fonts[at] ?? 'latin', levels.levels[at] ?? 0];
    const character = mirrored.get(at) ?? text[at] ?? '';
    const last = runs.at(-1);
    if (last?.font !== font || last.level !== level) runs.push({ text: character, font, level });
    else if (level % 2 === 1 && isShaped(font)) last.text = character + last.text;
    else last.text += character;
  }
  return runs.map(({ text, font, level }) => ({ text: level > 0 ? text.replaceAll(' ', '\u00a0') : text, font }));
}

function isShaped(font: Family): boolean {
  return font === 'arabic' || font === 'hebrew';
}

/** Whether a text runs from right to left as a whole: a name does, a sentence that begins with one does not. */
function runsRightToLeft(text: string): boolean {
  const letters = (text.match(/\p{L}/gu) ?? []).map((letter) => RIGHT_TO_LEFT.test(letter));
  return letters[0] === true && letters.filter(Boolean).length * 2 > letters.length;
}

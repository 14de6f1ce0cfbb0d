/// <reference path="./libraries.d.ts" />
import makeBidi from 'bidi-js';
import type { Content } from 'pdfmake/js/Printer.js';
import { formatCodePoint } from '../wording';
import type { FontCoverage, FontFamily } from './fonts';

/**
 * A piece of a text in one font. The runs of a text are listed as they are shown, from left to
 * right.
 */
interface TextRun {
  text: string;
  font: FontFamily;
}

const ASCII = /^[\x20-\x7e]*$/;
const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}]/u;
/**
 * Characters that show nothing and could make two names look alike. Some of them count as letters
 * or symbols: the fillers of Hangul and the empty Braille pattern.
 */
const INVISIBLE = /[\p{C}\p{Default_Ignorable_Code_Point}\u2800]/u;
/** Zero-width joiner and non-joiner, which some scripts need inside words. */
const JOINER = /[\u200c\u200d]/;
const JOINED = /[\p{Script=Arabic}\p{Script=Bengali}\p{Script=Tamil}]/u;

/**
 * The Thai vowel am with the tone mark before it. The PDF library does not shape it: written as the
 * ring and the vowel aa, with the tone mark above the ring, it looks as it should.
 */
const THAI_AM = /([\u0e48-\u0e4b]?)\u0e33/g;

/** How many combining marks one letter keeps; more of them would cover the lines around it. */
const MAX_MARKS = 4;

const bidi = makeBidi();

/**
 * Copies content, with every text in it split into runs in fonts that can show them.
 * @param used the families of the runs are added to it
 */
export function assignFonts(
  content: Content,
  coverage: FontCoverage,
  used: Set<FontFamily>,
): Content {
  const setText = (text: string): string | TextRun[] => {
    const runs = splitIntoRuns(text, coverage);
    for (const { font } of runs) used.add(font);
    const [first] = runs;
    if (runs.length === 1 && first?.font === 'latin') return first.text;
    return runs;
  };
  const set = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(set);
    if (typeof part === 'string') return { text: setText(part) };
    const node = { ...(part as Record<string, unknown>) };
    for (const key of ['text', 'stack', 'columns', 'table', 'body']) {
      const inner = node[key];
      if (key === 'text' && typeof inner === 'string') node[key] = setText(inner);
      else if (inner !== undefined) node[key] = set(inner);
    }
    return node;
  };
  return set(content) as Content;
}

/**
 * Splits a text into runs. An ASCII text is a single run. Other texts are normalized (NFC), their
 * white space becomes single spaces, and their variation selectors are removed. Characters that no
 * font has, that are invisible, or that are combining marks after the fourth of a letter are
 * replaced by their code: [U+1F600].
 */
export function splitIntoRuns(text: string, coverage: FontCoverage): TextRun[] {
  if (ASCII.test(text)) return [{ text, font: 'latin' }];
  const visible = replaceHidden(text, coverage);
  const fonts = chooseFonts(visible, coverage);
  if (RIGHT_TO_LEFT.test(visible)) return orderRuns(visible, fonts);
  return joinRuns(visible, fonts);
}

function replaceHidden(text: string, coverage: FontCoverage): string {
  let visible = '';
  const normal = text
    .replace(/\s+/g, ' ')
    .replace(/\p{Variation_Selector}/gu, '')
    .normalize('NFC')
    .replace(THAI_AM, '\u0e4d$1\u0e32');
  let before = '';
  let marks = 0;
  for (const character of normal) {
    marks += 1;
    if (!/\p{M}/u.test(character)) marks = 0;
    const hasFont = coverage.familyOf(character.codePointAt(0) ?? 0) !== null;
    if (isVisible(character, before) && marks <= MAX_MARKS && hasFont) visible += character;
    else visible += formatCodePoint(character);
    before = character;
  }
  return visible;
}

function isVisible(character: string, before: string): boolean {
  if (JOINER.test(character)) return JOINED.test(before);
  return !INVISIBLE.test(character);
}

/**
 * Chooses a font for every UTF-16 unit. A mark or joiner takes the font of the letter before it if
 * that has it too.
 */
function chooseFonts(text: string, coverage: FontCoverage): FontFamily[] {
  const fonts: FontFamily[] = [];
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    const last = fonts.at(-1);
    const joins = /[\p{M}\u200c\u200d]/u.test(character);
    let font = coverage.familyOf(code) ?? 'latin';
    if (joins && last && coverage.has(last, code)) font = last;
    for (let unit = 0; unit < character.length; unit++) fonts.push(font);
  }
  return fonts;
}

function joinRuns(text: string, fonts: FontFamily[]): TextRun[] {
  const runs: TextRun[] = [];
  fonts.forEach((font, at) => {
    const last = runs.at(-1);
    if (last?.font === font) last.text += text[at];
    else runs.push({ text: text[at] ?? '', font });
  });
  return runs;
}

/**
 * Joins characters into runs in the order in which the Unicode bidirectional algorithm (UAX 9)
 * shows them.
 *
 * Spaces in reordered runs become no-break spaces: if a line broke there, the last words would be
 * on the first line. Inside of runs in the Arabic and the Hebrew font, right-to-left characters
 * stay in the order of reading, because the PDF library reverses them when it shapes them.
 */
function orderRuns(text: string, fonts: FontFamily[]): TextRun[] {
  const levels = bidi.getEmbeddingLevels(text, isRightToLeft(text) ? 'rtl' : 'ltr');
  const mirrored = bidi.getMirroredCharactersMap(text, levels.levels);
  const runs: (TextRun & { level: number })[] = [];
  for (const at of bidi.getReorderedIndices(text, levels)) {
    const font = fonts[at] ?? 'latin';
    const level = levels.levels[at] ?? 0;
    const character = mirrored.get(at) ?? text[at] ?? '';
    const last = runs.at(-1);
    if (last?.font !== font || last.level !== level) runs.push({ text: character, font, level });
    else if (level % 2 === 1 && (font === 'arabic' || font === 'hebrew'))
      last.text = character + last.text;
    else last.text += character;
  }
  return runs.map(({ text, font, level }) => {
    if (level === 0) return { text, font };
    return { text: text.replaceAll(' ', '\u00a0'), font };
  });
}

/**
 * Whether a text as a whole is right to left: its first letter is, and more than half of its
 * letters are. An English sentence that begins with an Arabic name is left to right.
 */
function isRightToLeft(text: string): boolean {
  const letters = (text.match(/\p{L}/gu) ?? []).map((letter) => RIGHT_TO_LEFT.test(letter));
  return letters[0] === true && letters.filter(Boolean).length * 2 > letters.length;
}

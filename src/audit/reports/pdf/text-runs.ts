/// <reference path="./bidi-js.d.ts" />
import makeBidi from 'bidi-js';
import type { Coverage, Family } from './fonts';

/** A piece of a text in one font, where it stands from left to right. */
export interface Run {
  text: string;
  font: Family;
}

const PLAIN = /^[\x20-\x7e]*$/;
const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}]/u;
/** The joiners that Persian and Indian scripts need. Other invisible characters are written out: they can mislead. */
const KEPT_INVISIBLE = new Set([0x200c, 0x200d]);

let bidi: ReturnType<typeof makeBidi> | undefined;

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
  for (const character of normal) {
    const code = character.codePointAt(0) ?? 0;
    const hidden = /\p{C}/u.test(character) && !KEPT_INVISIBLE.has(code);
    visible +=
      hidden || coverage.familyOf(code) === null
        ? `[U+${code.toString(16).toUpperCase().padStart(4, '0')}]`
        : character;
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

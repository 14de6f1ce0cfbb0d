import { lazy } from './lazy';

// Words that mix scripts, such as `pаypal` with a Cyrillic а. A word is a run of letters and marks.

/** The scripts that are distinguished, the most frequent first. All others count as one. */
const SCRIPTS =
  'Latin Cyrillic Greek Han Hiragana Katakana Hangul Bopomofo Arabic Hebrew Devanagari Bengali Thai Armenian Georgian ' +
  'Ethiopic Gujarati Gurmukhi Kannada Khmer Lao Malayalam Myanmar Oriya Sinhala Tamil Telugu Thaana Tibetan Cherokee ' +
  'Coptic Lisu Canadian_Aboriginal Mongolian Tifinagh Syriac';

/**
 * Scripts that one language writes together, with Latin beside them (UTS #39, "highly
 * restrictive").
 */
const WRITTEN_TOGETHER = ['Latin Han Hiragana Katakana', 'Latin Han Bopomofo', 'Latin Han Hangul'];

const OTHER = 'another script';

/** How many scripts a mark names, and how many words of a text are looked for. */
const MAX_NAMES = 3;
const MAX_WORDS = 10;

/** Characters that every script shares. */
const SHARED = '\\p{sc=Common}\\p{sc=Inherited}';

const patterns = lazy(() => {
  const names = SCRIPTS.split(' ');
  const everyScript = names.map((name) => `\\p{sc=${name}}`).join('');
  const unmixed = [...names, ...WRITTEN_TOGETHER].map((together) => {
    const scripts = together.split(' ').map((name) => `\\p{scx=${name}}`);
    return new RegExp(`^[${scripts.join('')}${SHARED}]+$`, 'u');
  });
  return {
    word: /[\p{L}\p{M}]{2,}/gu,
    unmixed: [...unmixed, new RegExp(`^[^${everyScript}]+$`, 'u')],
    scripts: [
      ...names.map((name) => ({
        name: name.replace('_', ' '),
        letter: new RegExp(`\\p{sc=${name}}`, 'u'),
      })),
      { name: OTHER, letter: new RegExp(`[^${everyScript}${SHARED}]`, 'u') },
    ],
  };
});

/** A word that mixes scripts, and where it ends. */
export interface MixedWord {
  end: number;
  scripts: string[];
}

/** Finds the first words of a text that mix scripts, each word once. */
export function findMixedWords(text: string): MixedWord[] {
  if (/^\p{ASCII}*$/u.test(text)) return [];
  const { word, unmixed, scripts } = patterns();
  const found = new Map<string, MixedWord>();
  for (const { 0: letters, index } of text.matchAll(word)) {
    if (found.has(letters) || unmixed.some((pattern) => pattern.test(letters))) continue;
    const names = scripts.filter(({ letter }) => letter.test(letters)).map(({ name }) => name);
    found.set(letters, { end: index + letters.length, scripts: names });
    if (found.size === MAX_WORDS) break;
  }
  return [...found.values()];
}

/** Says which scripts are mixed, as people read it beside the text. */
export function describeScripts(scripts: readonly string[]): string {
  const more = scripts.length > MAX_NAMES ? ' and others' : '';
  return `(mixed scripts: ${scripts.slice(0, MAX_NAMES).join(', ')}${more})`;
}

/** A line of plain text, with a mark behind it if one of its words mixes scripts. */
export function withScriptsMark(line: string): string {
  const scripts = new Set(findMixedWords(line).flatMap((word) => word.scripts));
  return scripts.size === 0 ? line : `${line} ${describeScripts([...scripts])}`;
}

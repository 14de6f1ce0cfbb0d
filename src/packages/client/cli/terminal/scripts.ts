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

/** How many scripts a mark names. */
const MAX_NAMES = 3;

/** Characters that every script shares. */
const SHARED = '\\p{sc=Common}\\p{sc=Inherited}';

const NAMES = SCRIPTS.split(' ');
const EVERY_SCRIPT = NAMES.map((name) => `\\p{sc=${name}}`).join('');

interface Patterns {
  /** Each matches words that do not mix scripts. */
  unmixed: RegExp[];
  scripts: { name: string; letter: RegExp }[];
}

let patterns: Patterns | undefined;

/** Made when they are first needed: most runs of the command line have only ASCII to print. */
function makePatterns(): Patterns {
  const unmixed = [...NAMES, ...WRITTEN_TOGETHER].map((together) => {
    const scripts = together.split(' ').map((name) => `\\p{scx=${name}}`);
    return new RegExp(`^[${scripts.join('')}${SHARED}]+$`, 'u');
  });
  unmixed.push(new RegExp(`^[^${EVERY_SCRIPT}]+$`, 'u'));
  const scripts = NAMES.map((name) => ({
    name: name.replace('_', ' '),
    letter: new RegExp(`\\p{sc=${name}}`, 'u'),
  }));
  scripts.push({ name: OTHER, letter: new RegExp(`[^${EVERY_SCRIPT}${SHARED}]`, 'u') });
  return { unmixed, scripts };
}

/**
 * Names the scripts that words of a text mix, such as `Latin, Cyrillic`; empty if no word mixes
 * any.
 */
export function mixedScripts(text: string): string {
  if (/^\p{ASCII}*$/u.test(text)) return '';
  patterns ??= makePatterns();
  const { unmixed, scripts } = patterns;
  const words = text.match(/[\p{L}\p{M}]{2,}/gu) ?? [];
  const mixed = words.filter((word) => !unmixed.some((pattern) => pattern.test(word))).join('');
  const names = scripts.filter(({ letter }) => letter.test(mixed)).map(({ name }) => name);
  const list = names.slice(0, MAX_NAMES).join(', ');
  if (names.length <= MAX_NAMES) return list;
  return `${list} and others`;
}

/** A line with a mark behind it if one of its words mixes scripts. */
export function withScriptsMark(line: string): string {
  const scripts = mixedScripts(line);
  if (scripts === '') return line;
  return `${line} (mixed scripts: ${scripts})`;
}

// Texts that could mislead a reader, for every place that shows what an agent or a person wrote.

/**
 * A text and how it is shown in one line, with each unseen character as its code point in braces.
 */
export const UNSEEN_TEXTS: [text: string, shown: string][] = [
  ['plain – “é😀” 漢字 नमस्ते', 'plain – “é😀” 漢字 नमस्ते'],
  ['a\u00a0b\u1680c\u2003d\u202fe\u205ff\u3000g', 'a{a0}b{1680}c{2003}d{202f}e{205f}f{3000}g'],
  ['a\u200b\u200d\u2060\ufeff\u00ad\u034f\u180e', 'a{200b}{200d}{2060}{feff}{ad}{34f}{180e}'],
  ['a\u3164\u115f\u1160\uffa0\u2800\ufffc', 'a{3164}{115f}{1160}{ffa0}{2800}{fffc}'],
  ['a\u17b4\u17b5\u180b\u180d\u{e0041}\u{e0100}', 'a{17b4}{17b5}{180b}{180d}{e0041}{e0100}'],
  ['a\u202eb\u2066c\u061c\u200f', 'a{202e}b{2066}c{61c}{200f}'],
  ['a\u2028b\u2029c\u0085d', 'a{2028}b{2029}c{85}d'],
  ['a\u{1d159}\u{13441}\u{16fe4}\uffff\u{fdd0}', 'a{1d159}{13441}{16fe4}{ffff}{fdd0}'],
  // The selectors of emoji stand behind pictographs only: digits are \p{Emoji} too.
  ['☺\ufe0f ☺\ufe0e 📎\ufe0f', '☺\ufe0f ☺\ufe0e 📎\ufe0f'],
  ['a\ufe0f 1\ufe0f ☺\ufe0f\ufe0f\ufe0e \ufe0e', 'a{fe0f} 1{fe0f} ☺\ufe0f{fe0f}{fe0e} {fe0e}'],
  // At most four combining marks on one character.
  ['e\u0301\u0302\u0303\u0304', 'e\u0301\u0302\u0303\u0304'],
  ['e\u0301\u0302\u0303\u0304\u0305\u0306e\u0301', 'e\u0301\u0302\u0303\u0304{305}{306}e\u0301'],
  ['\u0301\u0302e', '{301}{302}e'],
  ['e\u200b\u0301\u0302', 'e{200b}{301}{302}'],
  ['"\u0301', '"{301}'],
  ['ที่ रेंगती מְּבֹ֑', 'ที่ रेंगती מְּבֹ֑'],
];

/** A text, and the scripts that its words mix. */
export const MIXED_TEXTS: [text: string, scripts: string][] = [
  ['paypal', ''],
  ['p\u0430ypal', 'Latin, Cyrillic'],
  ['account:p\u0430ypal/main', 'Latin, Cyrillic'],
  ['g\u03bfogle', 'Latin, Greek'],
  ['сумма \u0441\u03c5мма', 'Cyrillic, Greek'],
  ['m\u0456n max_сумма max.сумма', 'Latin, Cyrillic'],
  ['max_сумма сумма-max Москва2go', ''],
  ['naïve Ångström Việt œuvre straße', ''],
  ['東京タワーへ行くTシャツ', ''],
  ['한국어漢字K팝', ''],
  ['ㄅ漢字abc', ''],
  ['カ한', 'Katakana, Hangul'],
  ['東\u0430', 'Cyrillic, Han'],
  ['ไทยabc', 'Latin, Thai'],
  ['नमस्ते السلام שלום ελληνικά ქართული', ''],
  ['a\u0430\u03b1\u0561', 'Latin, Cyrillic, Greek and others'],
  ['p\u{10400}y', 'Latin, another script'],
  ['\u{10400}\u{10401} \u{16a0}\u{16a1}', ''],
  ['5µm 10€ ℃ №1', ''],
];

/** Paths of limits, and their labels: no two are alike. */
export const PATH_LABELS: [path: string[], label: string][] = [
  [['max_recipients'], 'max_recipients'],
  [['payment', 'max'], 'payment.max'],
  [['payment › max'], '"payment › max"'],
  [['payment.max'], '"payment.max"'],
  [['"payment"', 'max'], '"\\"payment\\"".max'],
  [['Times it may act'], '"Times it may act"'],
  [[''], '""'],
  [[' '], '" "'],
  [['', ''], '"".""'],
  [['a\nb'], '"a\\nb"'],
  [['a\u202eb'], '"a\\u202eb"'],
  [['a\\u202eb'], '"a\\\\u202eb"'],
  [['\u0430'], '"\u0430"'],
  [['größe'], '"größe"'],
  [['größe'.normalize('NFD')], '"gro\\u0308\\u00dfe"'],
  [['a`b'], '"a\\u0060b"'],
  [['\u0301'], '"\\u0301"'],
  [['\u{e0041}'], '"\\udb40\\udc41"'],
  [['__proto__'], '__proto__'],
];

/**
 * A part of a random text that may mislead: blanks, marks, selectors, letters of several scripts,
 * and what labels use.
 */
export const MISLEADING_PARTS = [
  ...['a', 'B', '7', ' ', '.', '"', '\\', '`', ' › ', '/', '_', '-', ':', '\n', '\t'],
  ...['\u0430', '\u03bf', 'é', 'e\u0301', '漢', 'か', '한', 'ا', '☺', '😀'],
  ...['\u0301', '\u0344', '\u0489', '\u20e3', '\ufe0f', '\ufe0e', '\ufe00', '\u{e0100}', '\u034f'],
  ...[
    '\u00a0',
    '\u2003',
    '\u200b',
    '\u200d',
    '\u202e',
    '\u2800',
    '\u3164',
    '\ufeff',
    '\u2028',
    '\u{e0041}',
  ],
];

/**
 * A text as the identifier of a resource: without characters that cannot be seen, and not blank.
 */
export function asIdentifier(text: string): string {
  const seen = text.replace(
    /(?! )[\p{C}\p{Z}\p{DI}\u2800\ufffc\u{13441}\u{13442}\u{16fe4}\u{1d159}]/gu,
    '',
  );
  return seen.trim() || 'x';
}

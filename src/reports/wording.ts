/** Formats 1234567 as 1,234,567. */
export function formatNumber(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** A tag of templates: formats the numbers among the values as 1,234,567. */
export function prose(parts: TemplateStringsArray, ...values: (string | number)[]): string {
  const texts = values.map((value) => {
    if (typeof value === 'number') return formatNumber(value);
    return value;
  });
  return String.raw({ raw: parts }, ...texts);
}

/** Formats a number with its noun: `1 request`, `2 requests`. */
export function formatCount(count: number, one: string, many = `${one}s`): string {
  return `${formatNumber(count)} ${oneOrMany(count, one, many)}`;
}

function oneOrMany(count: number, one: string, many: string): string {
  return count === 1 ? one : many;
}

export function isOrAre(count: number): string {
  return oneOrMany(count, 'is', 'are');
}

/** Formats a number with its noun and verb: `1 agent is`, `2 agents are`. */
export function countIs(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count, one, many)} ${isOrAre(count)}`;
}

/** Formats a number with its noun and verb: `1 request was`, `2 requests were`. */
export function countWas(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count, one, many)} ${wasOrWere(count)}`;
}

export function wasOrWere(count: number): string {
  return oneOrMany(count, 'was', 'were');
}

/**
 * Formats a part of a whole in percent, rounded down so that only the whole is 100 %. A part of
 * nothing is 0 %.
 */
export function formatPercentage(part: number, whole: number): string {
  if (whole === 0) return '0 %';
  return `${Math.floor((100 * part) / whole)} %`;
}

/** Formats 2026-11-20T17:56:12.294Z as 2026-11-20 17:56:12. */
export function formatTimestamp(iso: string): string {
  return iso.slice(0, 19).replace('T', ' ');
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Formats 2026-11 as Nov 2026. */
export function formatMonth(month: string): string {
  return `${MONTHS[Number(month.slice(5)) - 1]} ${month.slice(0, 4)}`;
}

/** Writes a code in words: `user_token.created` as User token created. */
export function codeInWords(name: string): string {
  const words = name.replace(/[_.]+/g, ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Cuts a text after `length` characters, and then notes how many more the JSON form has. */
export function truncate(text: string, length: number): string {
  const characters = [...text];
  if (characters.length <= length) return text;
  return `${characters.slice(0, length).join('')} … (${formatNumber(characters.length - length)} more characters in the JSON form)`;
}

const QUOTED_CHARACTERS = 80;

/**
 * Quotes a name, cut after 80 characters, for use in a sentence. It cannot close the quotation
 * marks, or hide or reorder the rest of the sentence.
 */
export function quoteName(name: string): string {
  const plain = name
    .replace(/\s+/g, ' ')
    .replace(/[“”]/g, '"')
    .replace(/[^\P{C}\u200c\u200d]/gu, formatCodePoint);
  const characters = [...plain];
  if (characters.length <= QUOTED_CHARACTERS) return `“${plain}”`;
  return `“${characters.slice(0, QUOTED_CHARACTERS).join('')}…”`;
}

/** Formats the code of a character that cannot be shown: [U+202E]. */
export function formatCodePoint(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase();
  return `[U+${code.padStart(4, '0')}]`;
}

/** Names a role of members as part of a sentence: `an approver`. */
export function roleWithArticle(role: string): string {
  if (/^[aeiou]/.test(role)) return `an ${role}`;
  return `a ${role}`;
}

const LISTED_NAMES = 5;

/** Lists the first five names, and says how many more there are. */
export function listNames(names: string[]): string {
  const listed = names.slice(0, LISTED_NAMES).join(', ');
  if (names.length <= LISTED_NAMES) return listed;
  return `${listed} and ${formatNumber(names.length - LISTED_NAMES)} more`;
}

/** 1234567 as 1,234,567. */
export function formatNumber(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** 2026-11-20T17:56:12.294Z as 2026-11-20 17:56:12. */
export function formatTime(iso: string): string {
  return iso.slice(0, 19).replace('T', ' ');
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** 2026-11 as Nov 2026. */
export function formatMonth(month: string): string {
  return `${MONTHS[Number(month.slice(5)) - 1]} ${month.slice(0, 4)}`;
}

/** A number of things, as in "1 entry" and "2 entries". */
export function countOf(count: number, one: string, many: string): string {
  return `${formatNumber(count)} ${count === 1 ? one : many}`;
}

/** permission_granted as Permission granted. */
export function wordsOf(name: string): string {
  const words = name.replace(/[_.]+/g, ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A text of at most so many characters, which says how many more there were. */
export function shorten(text: string, length: number): string {
  const characters = [...text];
  if (characters.length <= length) return text;
  return `${characters.slice(0, length).join('')} … (${formatNumber(characters.length - length)} more characters in the JSON form)`;
}

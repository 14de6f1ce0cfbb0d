import { endOfString } from './json-limits';

/** A place in a JSON text that `JSON.parse` changes without an error. */
export interface JsonLoss {
  /** The names and indexes that lead to it. */
  path: (string | number)[];
  message: string;
}

/**
 * An object or array that is open: the member that is being read, and the names that the object has
 * so far.
 */
interface Container {
  member: string | number;
  names: Set<string>;
}

const NUMBER = /-?\d[\d.eE+-]*/y;

/**
 * Finds what `JSON.parse` changes without an error: a number that is not the shortest decimal of
 * its double, and a name that an object has twice, of which only the last value stays. Uses no
 * recursion.
 * @param text valid JSON
 */
export function* findJsonLosses(text: string): Generator<JsonLoss> {
  const open: Container[] = [];
  const loss = (message: string): JsonLoss => ({ path: open.map(({ member }) => member), message });
  let string = '';
  for (let i = 0; i < text.length; i++) {
    const container = open.at(-1);
    switch (text[i]) {
      case '"': {
        const end = endOfString(text, i);
        string = text.slice(i, end);
        i = end - 1;
        break;
      }
      case ':':
        if (!container) break;
        container.member = JSON.parse(string) as string;
        if (container.names.has(container.member)) yield loss('must be given once');
        container.names.add(container.member);
        break;
      case ',':
        if (typeof container?.member === 'number') container.member += 1;
        break;
      case '{':
        open.push({ member: '', names: new Set() });
        break;
      case '[':
        open.push({ member: 0, names: new Set() });
        break;
      case '}':
      case ']':
        open.pop();
        break;
      default: {
        NUMBER.lastIndex = i;
        const [number] = NUMBER.exec(text) ?? [];
        if (number === undefined) break;
        const message = roundingFault(number);
        if (message !== null) yield loss(message);
        i += number.length - 1;
      }
    }
  }
}

/**
 * Says how a decimal number changes when it becomes a double; null if the double is written with
 * the same value.
 */
export function roundingFault(number: string): string | null {
  const double = Number(number);
  if (!Number.isFinite(double)) return 'is out of the range of a double: send it as text';
  if (normalForm(number) === normalForm(String(double))) return null;
  return `would be rounded to ${double}: send it as text, or with fewer digits`;
}

const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?(?:e([+-]?\d+))?$/i;

/**
 * A decimal number without its different spellings: its sign, its digits without zeros at either
 * end, and the power of ten of the last digit. Null for another text.
 */
function normalForm(number: string): string | null {
  const match = DECIMAL.exec(number);
  if (!match) return null;
  const [, sign, whole = '', fraction = '', exponent = '0'] = match;
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const significant = trimZeros(digits);
  if (significant === '') return '0';
  const power = Number(exponent) - fraction.length + digits.length - significant.length;
  return `${sign === '-' ? '-' : ''}${significant}e${power}`;
}

/**
 * Removes the zeros at the end. (A regular expression would take quadratic time on zeros before
 * another digit.)
 */
function trimZeros(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === '0') end -= 1;
  return digits.slice(0, end);
}

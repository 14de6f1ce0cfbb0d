const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i;
const NUMBER = /-?\d[\d.eE+-]*/y;

/**
 * Parses JSON, and rejects text whose value would change: rounded numbers and duplicate names.
 * @throws SyntaxError for a text that is not JSON, a number that a double would round, and a name
 *   that an object has twice; it names the place
 */
export function parseExactJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const loss = findJsonLoss(text);
  if (loss !== null) throw new SyntaxError(loss);
  return value;
}

/**
 * Says what parsing a JSON text changes without an error, and where; null if nothing.
 * @param text valid JSON
 */
export function findJsonLoss(text: string): string | null {
  const containers: { member: string | number; names: Set<string> }[] = [];
  const faultAt = (fault: string) =>
    `${containers.map(({ member }) => member).join('.') || 'The value'} ${fault}`;
  let lastString = '';
  for (let i = 0; i < text.length; i++) {
    const container = containers.at(-1);
    switch (text[i]) {
      case '"': {
        const end = endOfString(text, i);
        lastString = text.slice(i, end);
        i = end - 1;
        break;
      }
      case ':': {
        if (!container) break;
        const name: string = JSON.parse(lastString);
        container.member = name;
        if (container.names.has(name)) return faultAt('is given twice.');
        container.names.add(name);
        break;
      }
      case ',':
        if (typeof container?.member === 'number') container.member += 1;
        break;
      case '{':
        containers.push({ member: '', names: new Set() });
        break;
      case '[':
        containers.push({ member: 0, names: new Set() });
        break;
      case '}':
      case ']':
        containers.pop();
        break;
      default: {
        NUMBER.lastIndex = i;
        const [number] = NUMBER.exec(text) ?? [];
        if (number === undefined) break;
        const double = Number(number);
        if (normalForm(number) !== normalForm(String(double)))
          return faultAt(`would be rounded to ${double}.`);
        i += number.length - 1;
      }
    }
  }
  return null;
}

/**
 * The index after the closing quote. (A regular expression overflows its stack on a string of many
 * escapes.)
 */
function endOfString(text: string, start: number): number {
  let i = start + 1;
  while (i < text.length && text[i] !== '"') {
    if (text[i] === '\\') i += 1;
    i += 1;
  }
  return i + 1;
}

/** A decimal number in one spelling: its digits without zeros at either end, and a power of ten. */
function normalForm(number: string): string | null {
  const [match, sign, whole = '', fraction = '', exponent = '0'] = DECIMAL.exec(number) ?? [];
  if (match === undefined) return null;
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  let end = digits.length;
  while (digits[end - 1] === '0') end -= 1;
  if (end === 0) return '0';
  const power = Number(exponent) - fraction.length + digits.length - end;
  return `${sign}${digits.slice(0, end)}e${power}`;
}

export type Json = null | boolean | number | string | Json[] | JsonObject;
export type JsonObject = { [key: string]: Json };

const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[{}[\]:]/g;
const NUMBER = /^-?(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Parses JSON that all parsers read alike (I-JSON, RFC 7493): no duplicate names in an object, and
 * no number that would be written differently after it was read as a double.
 * @throws SyntaxError for any other text
 */
export function parseJson(text: string): Json {
  const value: Json = JSON.parse(text);
  // A text that equals this runtime's own output has neither, so the slower check is not needed.
  if (JSON.stringify(value) !== text) rejectAmbiguity(text);
  return value;
}

/** @param text valid JSON */
function rejectAmbiguity(text: string): void {
  const open: Set<string>[] = [];
  let last = '';
  for (const [token] of text.matchAll(TOKENS)) {
    if (token === '{' || token === '[') open.push(new Set());
    else if (token === '}' || token === ']') open.pop();
    else if (token === ':') {
      const names = open.at(-1);
      const name: string = JSON.parse(last);
      if (names?.has(name)) throw new SyntaxError(`an object has the name ${last} twice`);
      names?.add(name);
    } else {
      last = token;
      if (token[0] !== '"' && decimal(token) !== decimal(String(Number(token)))) {
        throw new SyntaxError(`a double cannot represent the number ${token}`);
      }
    }
  }
}

/**
 * A number's exact decimal value in a normal form: its digits without zeros at either end, and the
 * power of ten.
 */
function decimal(number: string): string | null {
  const match = NUMBER.exec(number);
  if (!match) return null;
  const [, whole = '', fraction = '', exponent = '0'] = match;
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  const power = Number(exponent) - fraction.length + digits.length - significant.length;
  return `${number.startsWith('-') ? '-' : ''}${significant}e${power}`;
}

/**
 * The canonical form of a JSON value (RFC 8785). Strings and numbers are serialized as ECMAScript
 * does (section 3.2.2), and names are sorted by their UTF-16 code units (3.2.3).
 * @throws TypeError for values outside of I-JSON: lone surrogates, and numbers that are not finite
 */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  if (isJsonObject(value)) {
    const members = Object.keys(value)
      .sort()
      .map((name) => `${canonicalJson(name)}:${canonicalJson(value[name] as Json)}`);
    return `{${members.join()}}`;
  }
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new TypeError('a number is out of range');
  if (typeof value === 'string' && !value.isWellFormed())
    throw new TypeError('a text has a lone surrogate');
  return JSON.stringify(value);
}

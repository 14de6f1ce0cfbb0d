interface JsonLimits {
  /** Levels of nesting: 1 for an object or array of scalars. */
  levels: number;
  /** Members of all objects and arrays together. */
  values: number;
}

interface ExceededLimit {
  limit: keyof JsonLimits;
  /**
   * The name of the top-level member that exceeds it, as written in the text; null if there is
   * none.
   */
  member: string | null;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPENING_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/**
 * Finds the first limit that a JSON text exceeds, without parsing it; null if it exceeds none.
 * Reads each character at most once and uses no recursion. Does not check that the text is valid
 * JSON.
 */
export function findExceededLimit(text: string, limits: JsonLimits): ExceededLimit | null {
  let level = 0;
  let values = 0;
  // The last string in the outermost object, and the last member name there, as ranges of the text.
  let string: [start: number, end: number] = [0, 0];
  let name: [start: number, end: number] | null = null;
  const excess = (limit: ExceededLimit['limit']): ExceededLimit => ({
    limit,
    member: name && level > 1 ? text.slice(...name) : null,
  });
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case QUOTE: {
        const end = endOfString(text, i);
        if (level === 1) string = [i + 1, end - 1];
        i = end - 1;
        break;
      }
      case COLON:
        if (level === 1) name = string;
        break;
      case OPENING_BRACE:
      case OPENING_BRACKET:
        level++;
        values++;
        if (level > limits.levels) return excess('levels');
        break;
      case CLOSING_BRACE:
      case CLOSING_BRACKET:
        level--;
        break;
      case COMMA:
        values++;
        break;
    }
    if (values > limits.values) return excess('values');
  }
  return null;
}

/** The index after the closing quote of the string that starts at `start`. */
export function endOfString(text: string, start: number): number {
  let i = start + 1;
  for (
    let code = text.charCodeAt(i);
    i < text.length && code !== QUOTE;
    code = text.charCodeAt(i)
  ) {
    i += code === BACKSLASH ? 2 : 1;
  }
  return i + 1;
}

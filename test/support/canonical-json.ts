import type { Json } from './world';

/** Canonical JSON (RFC 8785), written independently of the service. */
export function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const units = (text: string) =>
      Array.from({ length: text.length }, (_, i) => text.charCodeAt(i));
    const compare = (a: string, b: string) => {
      const [x, y] = [units(a), units(b)];
      for (let i = 0; i < Math.min(x.length, y.length); i++)
        if (x[i] !== y[i]) return (x[i] ?? 0) - (y[i] ?? 0);
      return x.length - y.length;
    };
    return `{${Object.keys(value)
      .sort(compare)
      .map((name) => `${text(name)}:${canonical(value[name])}`)
      .join(',')}}`;
  }
  if (typeof value === 'string') return text(value);
  return value === null ? 'null' : Object.is(value, -0) ? '0' : String(value);
}

function text(value: string): string {
  const short: Record<string, string> = {
    '\b': 'b',
    '\t': 't',
    '\n': 'n',
    '\f': 'f',
    '\r': 'r',
    '"': '"',
    '\\': '\\',
  };
  let out = '"';
  for (let i = 0; i < value.length; i++) {
    const char = value[i] as string;
    const code = value.charCodeAt(i);
    if (short[char]) out += `\\${short[char]}`;
    else out += code < 0x20 ? `\\u${code.toString(16).padStart(4, '0')}` : char;
  }
  return `${out}"`;
}

/** The digest of a value's canonical JSON, as the API writes it. */
export async function digestOf(value: Json): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(canonical(value)));
  return `sha-256:${new Uint8Array(hash).toBase64({ alphabet: 'base64url', omitPadding: true })}`;
}

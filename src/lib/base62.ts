const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/**
 * Writes a non-negative safe integer in base62 (`0-9A-Za-z`), left-padded with `0` to `width`
 * characters.
 */
export function encodeBase62(value: number, width: number): string {
  let text = '';
  for (let rest = value; rest > 0; rest = Math.floor(rest / 62)) text = ALPHABET[rest % 62] + text;
  return text.padStart(width, '0');
}

/**
 * Random base62 characters, each equally likely.
 * @param random source of random bytes; called again to replace bytes that would make some
 *   characters more likely
 */
export function randomBase62(length: number, random: (bytes: number) => Uint8Array): string {
  let text = '';
  while (text.length < length) {
    for (const byte of random(length - text.length)) {
      // 248 is the largest multiple of 62 in a byte; larger values would make the first characters
      // more likely.
      if (byte < 248) text += ALPHABET[byte % 62];
    }
  }
  return text;
}

import { describe, expect, it } from 'vitest';
import { encodeBase62, randomBase62 } from '../../src/lib/base62';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

describe('a number in base62', () => {
  it('uses digits, upper-case and lower-case letters in this order', () => {
    expect(Array.from({ length: 62 }, (_, i) => encodeBase62(i, 1)).join('')).toBe(ALPHABET);
  });

  it.each([
    [0, 6, '000000'],
    [61, 6, '00000z'],
    [62, 6, '000010'],
    [62 ** 2 - 1, 2, 'zz'],
    [0xffffffff, 6, '4gfFC3'],
    [0, 0, ''],
    [3844, 2, '100'],
  ])('%d in at least %d characters is %s', (value, width, text) => {
    expect(encodeBase62(value, width)).toBe(text);
  });
});

describe('a random base62 string', () => {
  const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes));

  it('has the requested length', () => {
    for (let length = 0; length < 70; length++)
      expect(randomBase62(length, random)).toHaveLength(length);
  });

  it('uses every character of the alphabet, and no other, about equally often', () => {
    const counts = new Map<string, number>();
    for (const character of randomBase62(62_000, random))
      counts.set(character, (counts.get(character) ?? 0) + 1);
    expect([...counts.keys()].toSorted()).toEqual([...ALPHABET].toSorted());
    // Expected 1,000 with a standard deviation of 31. The limit is seven standard deviations.
    for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(220);
  });

  it('skips bytes that would make some characters more likely', () => {
    const supply = [255, 248, 0, 247, 61, 62];
    const text = randomBase62(4, (bytes) => Uint8Array.from(supply.splice(0, bytes)));
    expect(text).toBe('0zz0');
    expect(supply).toEqual([]);
  });
});

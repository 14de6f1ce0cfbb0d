import { describe, expect, it } from 'vitest';
import { crc32 } from '../../src/lib/crc32';
import { displayPrefix, makeCredential, parseCredential } from '../../src/lib/credential';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes));

/** Test vectors from an independent program with zlib's CRC-32 and its own base62. */
const VECTORS = [
  ['user', '00', 'csu_00000000000000000000000000000000000Mcu3U'],
  ['agent', '01', 'csa_01AbCdEfGhIjKlMnOpQrStUvWxYz0123450SOmP4'],
  ['agent', 'Zz', 'csa_Zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz0j2Bi7'],
  ['user', '00', 'csu_007Qm2ZtX9aBc4DeF6gHi8JkL0mNo1PqR320Slk2'],
  ['user', '00', 'csu_00GHIZJBRiVKtOHZnPvDQM4iYwSJJPMjxg00maqD'],
] as const;

/** Base62 by long division of big integers. */
function base62(value: bigint): string {
  let text = '';
  for (let rest = value; rest > 0n; rest /= 62n) text = ALPHABET[Number(rest % 62n)] + text;
  return text.padStart(6, '0');
}

describe('the checksum', () => {
  it('is the CRC-32 of IEEE 802.3', () => {
    expect(crc32('123456789')).toBe(0xcbf43926);
    expect(crc32('')).toBe(0);
    expect(crc32('The quick brown fox jumps over the lazy dog')).toBe(0x414fa339);
  });

  it('is the base62 suffix of a credential and covers all characters before it', () => {
    for (let i = 0; i < 200; i++) {
      const credential = makeCredential(i % 2 ? 'user' : 'agent', '00', random);
      expect(credential.slice(-6)).toBe(base62(BigInt(crc32(credential.slice(0, -6)))));
    }
  });
});

describe('a credential', () => {
  it.each(['user', 'agent'] as const)(
    'of kind %s has its prefix, its shard, 32 characters and a checksum',
    (kind) => {
      const prefix = { user: 'csu_', agent: 'csa_' }[kind];
      const credential = makeCredential(kind, 'a7', random);
      expect(credential).toMatch(new RegExp(`^${prefix}a7[0-9A-Za-z]{38}$`));
      expect(parseCredential(credential, 'user', 'agent')).toEqual({ kind, shard: 'a7' });
    },
  );

  it.each(VECTORS)('of kind %s on shard %s is parsed: %s', (kind, shard, credential) => {
    expect(parseCredential(credential, 'user', 'agent')).toEqual({ kind, shard });
  });

  it('is different every time', () => {
    const made = Array.from({ length: 500 }, () => makeCredential('user', '00', random));
    expect(new Set(made).size).toBe(500);
  });

  it('is displayed as its first 12 characters', () => {
    expect(displayPrefix('csu_007Qm2ZtX9aBc4DeF6gHi8JkL0mNo1PqR320Slk2')).toBe('csu_007Qm2Zt');
  });
});

describe('an invalid credential', () => {
  it.each(VECTORS)(
    'is every string that differs in one character from a valid one (%s, %s)',
    (_kind, _shard, credential) => {
      const accepted: string[] = [];
      for (let i = 0; i < credential.length; i++) {
        for (const character of `${ALPHABET}_- `) {
          const changed = credential.slice(0, i) + character + credential.slice(i + 1);
          if (changed !== credential && parseCredential(changed, 'user', 'agent'))
            accepted.push(changed);
        }
      }
      expect(accepted).toEqual([]);
    },
  );

  it('is every string with a missing, an additional or two swapped characters', () => {
    const credential = VECTORS[3][2];
    const accepted: string[] = [];
    for (let i = 0; i < credential.length; i++) {
      const [before, at, after] = [
        credential.slice(0, i),
        credential.charAt(i),
        credential.slice(i + 1),
      ];
      const changed = [
        before + after,
        `${before}${at}0${after}`,
        before + after.charAt(0) + at + after.slice(1),
      ];
      accepted.push(
        ...changed.filter((text) => text !== credential && parseCredential(text, 'user', 'agent')),
      );
    }
    expect(accepted).toEqual([]);
  });

  it.each([
    '',
    'csu_',
    'Bearer x',
    ` ${VECTORS[0][2]}`,
    `${VECTORS[0][2]}\n`,
    `${VECTORS[0][2]}\0`,
    'csu_00é',
  ])('is %j', (text) => {
    expect(parseCredential(text, 'user', 'agent')).toBeNull();
  });
});

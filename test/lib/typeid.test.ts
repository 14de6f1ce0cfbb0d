import { describe, expect, it } from 'vitest';
import { formatHexId, formatId, idBytes, makeId, parseId, withPrefix } from '../../src/lib/typeid';

const zeros = new Uint8Array(10);
const ones = new Uint8Array(10).fill(0xff);

describe('an identifier', () => {
  it('encodes the example UUIDv7 of RFC 9562 in Crockford base32', () => {
    const random = Uint8Array.of(0x0c, 0xc3, 0x18, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f);
    expect(makeId('perm', 0x017f22e279b0, random)).toBe('perm_01fwhe4ydgfk1shh6w1g60eecf');
  });

  it('has the format of the TypeID specification', () => {
    const uuid = Uint8Array.fromHex('01890a5dac96774bbcceb302099a8057');
    expect(formatId('user', uuid)).toBe('user_01h455vb4pex5vsknk084sn02q');
    expect(idBytes('user_01h455vb4pex5vsknk084sn02q')).toEqual(uuid);
  });

  it.each([
    'user',
    'utok',
    'agent',
    'key',
    'perm',
    'token',
    'policy',
    'audit',
    'export',
    'req',
  ] as const)('of the kind %s is the same after conversion to bytes and back', (prefix) => {
    const id = makeId(prefix, Date.UTC(2026, 0, 31), crypto.getRandomValues(new Uint8Array(10)));
    expect(id).toMatch(new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{26}$`));
    expect(formatId(prefix, idBytes(id))).toBe(id);
    expect(parseId(prefix, id)).toBe(id);
  });

  it('keeps its 128 bits under another prefix', () => {
    const id = makeId('perm', Date.UTC(2026, 0, 31), ones);
    const token = withPrefix('token', id);
    expect(token).toBe(id.replace('perm_', 'token_'));
    expect(idBytes(token)).toEqual(idBytes(id));
  });

  it('sorts by time, to the millisecond, with any random part', () => {
    const times = [
      0,
      1,
      2 ** 32 - 1,
      2 ** 32,
      Date.UTC(2026, 0, 31),
      Date.UTC(2026, 0, 31) + 1,
      2 ** 48 - 1,
    ];
    const ids = times.flatMap((time) => [
      makeId('audit', time, zeros),
      makeId('audit', time, ones),
    ]);
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('has version 7 and the RFC variant, with any random part', () => {
    for (const random of [zeros, ones]) {
      const bytes = idBytes(makeId('audit', 1, random));
      expect((bytes[6] ?? 0) >> 4).toBe(7);
      expect((bytes[8] ?? 0) >> 6).toBe(0b10);
    }
  });
});

describe('parsing an identifier', () => {
  const suffix = '01h455vb4pex5vsknk084sn02q';
  it.each([
    ['an empty string', ''],
    ['only a prefix', 'agent_'],
    ['a missing prefix', suffix],
    ['an empty prefix', `_${suffix}`],
    ['another prefix', `user_${suffix}`],
    ['a longer prefix', `agents_${suffix}`],
    ['a shorter prefix', `agen_${suffix}`],
    ['a prefix in upper case', `AGENT_${suffix}`],
    ['a suffix in upper case', `agent_${suffix.toUpperCase()}`],
    ['a suffix of 25 characters', `agent_${suffix.slice(1)}`],
    ['a suffix of 27 characters', `agent_0${suffix}`],
    ['more than 128 bits', `agent_8${suffix.slice(1)}`],
    ['the letter i', `agent_${suffix.slice(0, 25)}i`],
    ['the letter l', `agent_${suffix.slice(0, 25)}l`],
    ['the letter o', `agent_${suffix.slice(0, 25)}o`],
    ['the letter u', `agent_${suffix.slice(0, 25)}u`],
    ['a hyphen', `agent_${suffix.slice(0, 25)}-`],
    ['a leading space', ` agent_${suffix}`],
    ['a trailing line break', `agent_${suffix}\n`],
    ['a trailing NUL', `agent_${suffix}\0`],
    ['a UUID', '01890a5d-ac96-774b-bcce-b302099a8057'],
  ])('rejects %s', (_, text) => {
    expect(parseId('agent', text)).toBeNull();
  });

  it('accepts the largest and the smallest identifier', () => {
    expect(parseId('agent', `agent_7${'z'.repeat(25)}`)).toBe(`agent_7${'z'.repeat(25)}`);
    expect(parseId('agent', `agent_${'0'.repeat(26)}`)).toBe(`agent_${'0'.repeat(26)}`);
  });
});

it('an identifier is the same from hexadecimal digits as from bytes', () => {
  for (let i = 0; i < 500; i++) {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    const id = formatId('audit', bytes);
    expect(formatHexId('audit', bytes.toHex())).toBe(id);
    expect(formatHexId('audit', bytes.toHex().toUpperCase())).toBe(id);
  }
});

import { beforeAll, describe, expect, it } from 'vitest';
import { toBase64 } from '../../src/packages/verify/core/bytes.ts';
import { readNote } from '../../src/packages/verify/core/checkpoint.ts';
import { canonicalJson, type Json, parseJson } from '../../src/packages/verify/core/json.ts';
import { verifyConsistency, verifyInclusion } from '../../src/packages/verify/core/merkle.ts';
import {
  findSigner,
  parseNote,
  parseVerifierKey,
  type VerifierKey,
} from '../../src/packages/verify/core/note.ts';
import { sha256, TreeFrontier } from '../../src/packages/verify/frontier.ts';
import { TREE_INPUTS, TREE_ROOTS } from '../support/merkle-vectors';
import { consistencyPath, inclusionPath, rootOf } from '../support/sealed-log';

const bytes = (hex: string) => Buffer.from(hex, 'hex');

const LEAVES = TREE_INPUTS.map((hex) => sha256(bytes(`00${hex}`)));
const ROOTS = TREE_ROOTS.slice(1).map(bytes);
const H = {
  leaf2: '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
  node34: '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
  node58: '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
  leaf5: 'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
  node56: '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a',
  node78: 'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
  leaf7: 'b08693ec2e721597130641e8211e7eedccb4c26413963eee6c1e2ed16ffb1a5f',
  node14: 'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  node12: 'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  leaf1: '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
};
const EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const path = (...names: (keyof typeof H)[]) => names.map((name) => bytes(H[name]));
const root = (size: number) => ROOTS[size - 1] as Buffer;
const leaf = (number: number) => LEAVES[number - 1] as Buffer;
const head = (size: number) => ({ size, root: size === 0 ? bytes(EMPTY) : root(size) });
const flip = (hash: Buffer) => Buffer.from(hash.map((byte, at) => (at === 0 ? byte ^ 8 : byte)));

describe('the tree of RFC 9162', () => {
  it('has the published roots', () => {
    const front = new TreeFrontier();
    expect(front.root().toString('hex')).toBe(EMPTY);
    for (const [at, hash] of LEAVES.entries()) {
      front.append(1, hash);
      expect(front.root()).toEqual(ROOTS[at]);
      expect(rootOf(LEAVES.slice(0, at + 1))).toEqual(ROOTS[at]);
    }
  });

  it('accepts exactly the complete subtrees that fit at its end', () => {
    const front = new TreeFrontier();
    front.append(4, bytes(H.node14));
    expect([1, 2, 4, 8, 3].map((size) => front.canAppend(size))).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
    front.append(2, bytes(H.node56));
    expect([1, 2, 4].map((size) => front.canAppend(size))).toEqual([true, true, false]);
    front.append(2, bytes(H.node78));
    expect(front.root()).toEqual(root(8));
  });

  const inclusions: [number, number, Buffer[]][] = [
    [1, 1, []],
    [1, 8, path('leaf2', 'node34', 'node58')],
    [6, 8, path('leaf5', 'node78', 'node14')],
    [3, 3, path('node12')],
    [2, 5, path('leaf1', 'node34', 'leaf5')],
  ];
  it.each(inclusions)(
    'accepts the inclusion proof of leaf %i in %i leaves, and no variation of it',
    async (number, size, good) => {
      const check = (
        index: number,
        of: number,
        from = leaf(number),
        along = good,
        to = root(size),
      ) => verifyInclusion(index, of, from, along, to);
      expect(await check(number - 1, size)).toBe(true);
      expect(await check(number, size)).toBe(false);
      expect(await check((number - 1) ^ 2, size)).toBe(false);
      expect(await check(number - 2, size)).toBe(false);
      expect(await check(number - 1, size * 2)).toBe(false);
      expect(await check(number - 1, Math.floor(size / 2))).toBe(false);
      expect(await check(number - 1, size, flip(leaf(number)))).toBe(false);
      expect(await check(number - 1, size, leaf(number), good, bytes(EMPTY))).toBe(false);
      expect(await check(number - 1, size, leaf(number), [...good, root(size)])).toBe(false);
      expect(await check(number - 1, size, leaf(number), [root(size), ...good])).toBe(false);
      for (const at of good.keys()) {
        expect(
          await check(number - 1, size, leaf(number), good.with(at, flip(good[at] as Buffer))),
        ).toBe(false);
        expect(await check(number - 1, size, leaf(number), good.toSpliced(at, 1))).toBe(false);
      }
    },
  );

  const growths: [number, number, Buffer[]][] = [
    [1, 8, path('leaf2', 'node34', 'node58')],
    [6, 8, path('node56', 'node78', 'node14')],
    [2, 5, path('node34', 'leaf5')],
    [6, 7, path('node56', 'leaf7', 'node14')],
  ];
  it.each(growths)(
    'accepts the consistency proof from %i to %i leaves, and no variation of it',
    async (from, to, good) => {
      expect(await verifyConsistency(head(from), head(to), good)).toBe(true);
      for (const [first, second, along] of [
        [{ ...head(from), size: from - 1 }, head(to), good],
        [{ ...head(from), size: from + 1 }, head(to), good],
        [{ ...head(from), size: from ^ 2 }, head(to), good],
        [head(from), { ...head(to), size: to * 2 }, good],
        [head(from), { ...head(to), size: Math.floor(to / 2) }, good],
        [{ ...head(from), root: flip(root(from)) }, head(to), good],
        [head(from), { ...head(to), root: flip(root(to)) }, good],
        [{ ...head(from), root: root(to) }, { ...head(to), root: root(from) }, good],
        [head(from), head(to), []],
        [head(from), head(to), [...good, root(from)]],
        [head(from), head(to), [root(from), ...good]],
        [head(from), head(to), good.slice(0, -1)],
        ...good.map((hash, at) => [head(from), head(to), good.with(at, flip(hash))] as const),
      ] as const) {
        expect(await verifyConsistency(first, second, [...along])).toBe(false);
      }
    },
  );

  it('accepts only an empty consistency proof from the empty tree, and from a tree to itself', async () => {
    expect(await verifyConsistency(head(0), head(0), [])).toBe(true);
    expect(await verifyConsistency(head(0), head(5), [])).toBe(true);
    expect(await verifyConsistency(head(5), head(5), [])).toBe(true);
    expect(await verifyConsistency(head(0), head(5), path('leaf1'))).toBe(false);
    expect(await verifyConsistency(head(5), head(5), path('leaf1'))).toBe(false);
    expect(await verifyConsistency(head(5), { size: 5, root: root(4) }, [])).toBe(false);
    expect(await verifyConsistency({ size: 0, root: root(1) }, head(5), [])).toBe(false);
    expect(await verifyConsistency(head(5), head(4), [])).toBe(false);
  });

  it('accepts proofs by the definitions of RFC 9162 for every size and place up to 40', async () => {
    const leaves = Array.from({ length: 40 }, (_, at) => sha256(Buffer.of(0, at)));
    for (let n = 1; n <= leaves.length; n++) {
      const tree = { size: n, root: rootOf(leaves.slice(0, n)) };
      for (let m = 0; m < n; m++) {
        const hash = leaves[m] as Buffer;
        expect(
          await verifyInclusion(m, n, hash, inclusionPath(m, leaves.slice(0, n)), tree.root),
        ).toBe(true);
        const before = { size: m, root: rootOf(leaves.slice(0, m)) };
        expect(await verifyConsistency(before, tree, consistencyPath(m, leaves.slice(0, n)))).toBe(
          true,
        );
      }
    }
  });
});

describe('a signed note', () => {
  // The example of golang.org/x/mod/sumdb/note, which the specification repeats.
  const KEY = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW';
  const TEXT =
    "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
  const LINE =
    '— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n';
  const NOTE = `${TEXT}\n${LINE}`;
  let key: VerifierKey;
  beforeAll(async () => {
    key = await parseVerifierKey(KEY);
  });

  it('is verified with the key of its signer', async () => {
    expect(parseNote(NOTE).text).toBe(TEXT);
    expect(await findSigner(parseNote(NOTE), 'PeterNeumann', [key])).toBe(key);
  });

  it('is not verified with another text, key or name', async () => {
    const changed = parseNote(NOTE.replace('answer', 'Answer'));
    await expect(findSigner(changed, 'PeterNeumann', [key])).rejects.toThrow('did not make');
    expect(await findSigner(parseNote(NOTE), 'PeterNeumann', [])).toBeNull();
    expect(await findSigner(parseNote(NOTE), 'Peter', [key])).toBeNull();
    expect(
      await findSigner(parseNote(NOTE.replace('— PeterNeumann', '— PeterNeuman')), 'PeterNeumann', [
        key,
      ]),
    ).toBeNull();
  });

  it('may have signatures of other keys', async () => {
    const other = `— EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QQ=\n`;
    expect(await findSigner(parseNote(NOTE + other), 'PeterNeumann', [key])).toBe(key);
    expect(await findSigner(parseNote(`${TEXT}\n${other}${LINE}`), 'PeterNeumann', [key])).toBe(
      key,
    );
  });

  it.each([
    ['no signature', TEXT],
    ['no empty line', TEXT + LINE],
    ['a malformed line', `${NOTE}x\n`],
    ['no last newline', NOTE.slice(0, -1)],
    ['another dash', NOTE.replace('—', '-')],
    ['a control character', NOTE.replace('answer', 'ans\twer')],
    ['non-canonical base64', NOTE.replace('JnAM=', 'JnAN=')],
  ])('is refused with %s', (_, note) => {
    expect(() => parseNote(note)).toThrow(SyntaxError);
  });

  it('cannot be verified with a key that was shortened or changed by one character', async () => {
    for (let at = 0; at < KEY.length; at++) {
      await expect(
        parseVerifierKey(KEY.slice(0, at) + KEY.slice(at + 1)),
        `without ${at}`,
      ).rejects.toThrow(SyntaxError);
      const code = String.fromCharCode(KEY.charCodeAt(at) + 1);
      await expect(
        parseVerifierKey(KEY.slice(0, at) + code + KEY.slice(at + 1)),
        `changed ${at}`,
      ).rejects.toThrow(SyntaxError);
    }
  });
});

describe('a checkpoint', () => {
  // The example of C2SP tlog-checkpoint, with an extension line for the time.
  const SIGNATURE =
    '\n— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n';
  const ROOT = 'CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=';
  const read = (...lines: string[]) => readNote(`${lines.join('\n')}\n${SIGNATURE}`, 'It');
  const ORIGIN = 'example.com/behind-the-sofa';
  const TIME = 'time 2026-01-01T00:00:00.000Z';

  it('is parsed into origin, size, root and time', () => {
    const checkpoint = read(ORIGIN, '20852163', ROOT, TIME);
    expect(checkpoint).toMatchObject({
      origin: ORIGIN,
      size: 20852163,
      time: '2026-01-01T00:00:00.000Z',
    });
    expect(toBase64(checkpoint.root)).toBe(ROOT);
  });

  it.each([
    ['leading zeros in the size', [ORIGIN, '020852163', ROOT, TIME]],
    ['a negative size', [ORIGIN, '-1', ROOT, TIME]],
    ['a size that a double cannot represent', [ORIGIN, '9007199254740993', ROOT, TIME]],
    ['a short root', [ORIGIN, '1', 'CsUYapGGPo4dkMgIAUqomw==', TIME]],
    ['no time', [ORIGIN, '1', ROOT]],
    ['an invalid time', [ORIGIN, '1', ROOT, 'time 2026-13-01T00:00:00.000Z']],
    ['more lines', [ORIGIN, '1', ROOT, TIME, 'more']],
    ['no origin', ['', '1', ROOT, TIME]],
  ])('is refused with %s', (_, lines) => {
    expect(() => read(...lines)).toThrow('It ');
  });
});

describe('canonical JSON', () => {
  it('matches the example of RFC 8785 section 3.2.2', () => {
    const text = String.raw`{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }`;
    expect(canonicalJson(JSON.parse(text))).toBe(
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    );
  });

  it('sorts names as in the example of RFC 8785 section 3.2.3', () => {
    const value: Json = {
      '\u20ac': 'Euro Sign',
      '\r': 'Carriage Return',
      '\ufb33': 'Hebrew Letter Dalet With Dagesh',
      '1': 'One',
      '\ud83d\ude00': 'Emoji: Grinning Face',
      '\u0080': 'Control',
      '\u00f6': 'Latin Small Letter O With Diaeresis',
    };
    const names = Object.keys(value).map((name) => JSON.stringify(name));
    const canonical = canonicalJson(value);
    expect(
      names.toSorted((a, b) => canonical.indexOf(`${a}:`) - canonical.indexOf(`${b}:`)),
    ).toEqual(
      ['\r', '1', '\u0080', '\u00f6', '\u20ac', '\ud83d\ude00', '\ufb33'].map((name) =>
        JSON.stringify(name),
      ),
    );
  });

  it.each([
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['44b52d02c7e14af6', '1e+23'],
    ['44b52d02c7e14af7', '1.0000000000000001e+23'],
    ['444b1ae4d6e2ef4e', '999999999999999700000'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555555', '333333333.3333333'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
  ])('writes the double %s as in RFC 8785 appendix B', (hex, text) => {
    expect(canonicalJson(bytes(hex).readDoubleBE())).toBe(text);
  });

  it('throws for numbers that are not finite and for text that is not Unicode', () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, '\ud800', { '\udead': 1 }]) {
      expect(() => canonicalJson(value)).toThrow(TypeError);
    }
  });
});

describe('the JSON parser', () => {
  it.each([
    '{"a":1,"a":2}',
    '{"a":1,"\\u0061":2}',
    '[{"b":{"a":1,"c":[{}],"a":1}}]',
    '{"":1,"":1}',
  ])('refuses a duplicate name: %s', (text) => {
    expect(() => parseJson(text)).toThrow('twice');
  });

  it.each([
    '12345678901234567891',
    '0.1000000000000000000000001',
    '1e999',
    '[1,{"a":9007199254740993}]',
    '-1e-400',
  ])('refuses a number that a double cannot represent: %s', (text) => {
    expect(() => parseJson(text)).toThrow('a double cannot represent');
  });

  it.each([
    '{"2":1,"1":{"a":"\\":","b":"a"},"a":[{"a":1},{"a":1}]}',
    '[1.50, 1E3, -0, 0.0, 1e-7, 12.50e-1, 1e21]',
    '" \\u0041 "',
  ])('accepts any spelling with the same value: %s', (text) => {
    expect(parseJson(text)).toEqual(JSON.parse(text));
  });
});

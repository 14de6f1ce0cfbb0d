import { expect, it } from 'vitest';
import { consistencyPath, hashBytes, inclusionPath, leafInput } from '../../../src/lib/merkle';
import { hashRanges, type ReadTile, type Tile, TreeFrontier } from '../../../src/lib/tiles';
import { hashLeaf, isConsistent, rootOf, rootOfInclusion } from '../../support/merkle';
import { TREE_INPUTS, TREE_ROOTS } from '../../support/merkle-vectors';

/** A growing tree and its published tiles. */
class GrowingTree {
  frontier = TreeFrontier.parse(0, new Uint8Array());
  private readonly tiles = new Map<string, Uint8Array>();

  async append(leaves: Uint8Array[]): Promise<void> {
    // Serialise and parse the frontier, as the service does between two appends.
    this.frontier = TreeFrontier.parse(this.frontier.size, this.frontier.bytes());
    for (const tile of await this.frontier.append(leaves)) this.keep(tile);
  }

  readonly read: ReadTile = async (key) => {
    const tile = this.frontier.tile(key) ?? this.tiles.get(`${key.level}/${key.index}`);
    if (!tile) throw new Error(`no tile ${key.level}/${key.index}`);
    return tile;
  };

  private keep({ level, index, bytes }: Tile): void {
    expect(bytes).toHaveLength(8_192);
    expect(this.tiles.has(`${level}/${index}`)).toBe(false);
    this.tiles.set(`${level}/${index}`, bytes);
  }
}

async function growTo(leaves: Uint8Array[], step: number): Promise<GrowingTree> {
  const tree = new GrowingTree();
  for (let at = 0; at < leaves.length; at += step) await tree.append(leaves.slice(at, at + step));
  return tree;
}

async function path(
  tree: GrowingTree,
  ranges: { start: number; end: number }[],
): Promise<string[]> {
  return (await hashRanges(ranges, tree.read)).map((hash) => hash.toHex());
}

it('a tree has the roots and proofs of the RFC 6962 test vectors', async () => {
  const leaves = await Promise.all(
    TREE_INPUTS.map((input) => hashBytes(leafInput(Uint8Array.fromHex(input)))),
  );
  for (const [size, root] of TREE_ROOTS.entries()) {
    const tree = await growTo(leaves.slice(0, size), 3);
    expect((await tree.frontier.root()).toHex()).toBe(root);
  }
  const tree = await growTo(leaves, 8);
  expect(await path(tree, inclusionPath(0, 8))).toEqual([
    '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
    '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
    '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
  ]);
  expect(await path(tree, inclusionPath(5, 8))).toEqual([
    'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
    'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
    'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  ]);
  expect(await path(tree, inclusionPath(2, 3))).toEqual([TREE_ROOTS[2]]);
  expect(await path(tree, consistencyPath(6, 8))).toEqual([
    '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a',
    'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
    'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  ]);
  expect(await path(tree, consistencyPath(2, 5))).toEqual([
    '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
    'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
  ]);
  expect(consistencyPath(8, 8)).toEqual([]);
  expect(consistencyPath(0, 8)).toEqual([]);
});

const someLeaves = (count: number) =>
  Array.from({ length: count }, (_, i) => hashLeaf(new TextEncoder().encode(`leaf ${i}`)));

it.each([
  [513, 100],
  [600, 1],
  [600, 256],
  [1_024, 600],
] as const)(
  'a tree of %d leaves that grows by %d at a time proves every leaf and every seventh older size',
  async (count, step) => {
    const leaves = someLeaves(count);
    const tree = await growTo(leaves, step);
    const root = rootOf(leaves);
    expect(await tree.frontier.root()).toEqual(root);
    for (let index = 0; index < count; index++) {
      const proof = await hashRanges(inclusionPath(index, count), tree.read);
      expect(rootOfInclusion(leaves[index] as Uint8Array, index, count, proof)).toEqual(root);
    }
    for (let size = 1; size <= count; size += 7) {
      const older = rootOf(leaves.slice(0, size));
      const [subtreeRoot] = await hashRanges([{ start: 0, end: size }], tree.read);
      expect(subtreeRoot).toEqual(older);
      const proof = await hashRanges(consistencyPath(size, count), tree.read);
      expect(isConsistent([size, older], [count, root], proof)).toBe(true);
    }
  },
);

it('a proof in a tree with three levels of tiles reads at most six tiles', async () => {
  const leaves = someLeaves(65_536 + 300);
  const tree = await growTo(leaves, 5_000);
  const root = rootOf(leaves);
  expect(await tree.frontier.root()).toEqual(root);
  for (const index of [0, 255, 256, 65_535, 65_536, 65_835, 40_000]) {
    let reads = 0;
    const read: ReadTile = (key) => {
      reads += 1;
      return tree.read(key);
    };
    const proof = await hashRanges(inclusionPath(index, leaves.length), read);
    expect(rootOfInclusion(leaves[index] as Uint8Array, index, leaves.length, proof)).toEqual(root);
    expect(reads).toBeLessThanOrEqual(6);
  }
});

it.each([9_999_999, 10_000_000, 2 ** 24, 2 ** 32 - 1])(
  'a proof in a tree of %d entries reads at most eight tiles',
  async (size) => {
    const count = async (ranges: { start: number; end: number }[]) => {
      let reads = 0;
      await hashRanges(ranges, async () => {
        reads += 1;
        return new Uint8Array(8_192);
      });
      return reads;
    };
    for (let at = 0; at < 15; at++) {
      const place = Math.floor((at * 2_654_435_761) % size);
      expect(await count(inclusionPath(place, size))).toBeLessThanOrEqual(8);
      const roots = [place, size].map((end) => ({ start: 0, end }));
      expect(await count([...roots, ...consistencyPath(place, size)])).toBeLessThanOrEqual(8);
    }
  },
);

it('a frontier is rejected if it does not fit the size of the tree', () => {
  expect(() => TreeFrontier.parse(3, new Uint8Array(64))).toThrow('64 bytes');
  expect(() => TreeFrontier.parse(256, new Uint8Array(256 * 32))).toThrow();
  expect(TreeFrontier.parse(256, new Uint8Array(32)).size).toBe(256);
});

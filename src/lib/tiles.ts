import { concatBytes } from './bytes';
import { HASH_LENGTH, type Hash, hashComplete, hashRange, type LeafRange } from './merkle';

// A Merkle tree is stored as tiles of 256 hashes (https://c2sp.org/tlog-tiles). The tiles of level
// 0 contain leaf hashes; each hash of a higher level is the root of a full tile below. Full tiles
// never change. The frontier consists of the partial tiles: at most one on each level, at the right
// edge of the tree.

const TILE_HEIGHT = 8;
/** The number of hashes in a full tile. */
export const TILE_WIDTH = 2 ** TILE_HEIGHT;

export interface TileKey {
  /** The level of tiles: 0 for leaves. */
  level: number;
  /** The index within the level, from 0. */
  index: number;
}

/** A full tile: 256 hashes, one after the other. */
export interface Tile extends TileKey {
  bytes: Uint8Array;
}

/** Reads the hashes of a tile, one after the other. A partial tile has fewer than 256. */
export type ReadTile = (key: TileKey) => Promise<Uint8Array>;

/** Wraps `read` so that it reads each tile at most once. */
export function readOnce(read: ReadTile): ReadTile {
  const tiles = new Map<string, Promise<Uint8Array>>();
  return (key) => {
    const name = `${key.level}/${key.index}`;
    const tile = tiles.get(name) ?? read(key);
    tiles.set(name, tile);
    return tile;
  };
}

/** The state of a tree to which leaves are appended: its size and its partial tiles. */
export class TreeFrontier {
  private constructor(
    private leaves: number,
    private readonly levels: Hash[][],
  ) {}

  /**
   * The inverse of {@link bytes}, for a tree of this size.
   * @throws Error if the bytes do not fit the size
   */
  static parse(size: number, bytes: Uint8Array): TreeFrontier {
    const levels: Hash[][] = [];
    let offset = 0;
    for (let level = 0; hashesAtLevel(size, level) > 0; level++) {
      const count = hashesAtLevel(size, level) % TILE_WIDTH;
      levels.push(splitHashes(bytes.subarray(offset, offset + count * HASH_LENGTH)));
      offset += count * HASH_LENGTH;
    }
    if (offset !== bytes.length)
      throw new Error(`the frontier of a tree of ${size} leaves has ${bytes.length} bytes`);
    return new TreeFrontier(size, levels);
  }

  get size(): number {
    return this.leaves;
  }

  /** The partial tiles, level by level from the leaves. */
  bytes(): Uint8Array {
    return concatBytes(...this.levels.flat());
  }

  /** Appends leaves, and returns the tiles that became full. */
  async append(leaves: readonly Hash[]): Promise<Tile[]> {
    const filled: Tile[] = [];
    let fresh = leaves;
    for (let level = 0; fresh.length > 0; level++) {
      const hashes = [...(this.levels[level] ?? []), ...fresh];
      const first = Math.floor(hashesAtLevel(this.leaves, level) / TILE_WIDTH);
      const full = Array.from({ length: Math.floor(hashes.length / TILE_WIDTH) }, (_, i) =>
        hashes.slice(i * TILE_WIDTH, (i + 1) * TILE_WIDTH),
      );
      filled.push(
        ...full.map((tile, i) => ({ level, index: first + i, bytes: concatBytes(...tile) })),
      );
      this.levels[level] = hashes.slice(full.length * TILE_WIDTH);
      fresh = await Promise.all(full.map(hashComplete));
    }
    this.leaves += leaves.length;
    return filled;
  }

  /** The root of the tree. */
  root(): Promise<Hash> {
    const read: ReadTile = async ({ level }) => concatBytes(...(this.levels[level] ?? []));
    return hashRange({ start: 0, end: this.leaves }, nodesFromTiles(read));
  }

  /** The partial tile with this key; null if the key is that of any other tile. */
  tile({ level, index }: TileKey): Uint8Array | null {
    const isPartial = index === Math.floor(hashesAtLevel(this.leaves, level) / TILE_WIDTH);
    return isPartial ? concatBytes(...(this.levels[level] ?? [])) : null;
  }
}

/**
 * The hashes of ranges of leaves, as {@link hashRange} computes them. Reads each tile once, and all
 * concurrently.
 */
export async function hashRanges(ranges: readonly LeafRange[], read: ReadTile): Promise<Hash[]> {
  const nodes = nodesFromTiles(readOnce(read));
  return Promise.all(ranges.map((range) => hashRange(range, nodes)));
}

/** Makes a function that computes the hashes of complete nodes from tiles. */
function nodesFromTiles(read: ReadTile) {
  return async (level: number, index: number): Promise<Hash> => {
    const { tile, start, count } = locateNode(level, index);
    const bytes = await read(tile);
    const hashes = splitHashes(bytes.subarray(start * HASH_LENGTH, (start + count) * HASH_LENGTH));
    if (hashes.length !== count)
      throw new Error(`tile ${tile.level}/${tile.index} has too few hashes`);
    return hashComplete(hashes);
  };
}

/**
 * Finds the hashes from which a complete node is computed: `count` hashes of `tile` from `start`
 * on.
 */
function locateNode(level: number, index: number) {
  const tileLevel = Math.floor(level / TILE_HEIGHT);
  const count = 2 ** (level % TILE_HEIGHT);
  const first = index * count;
  const tile = { level: tileLevel, index: Math.floor(first / TILE_WIDTH) };
  return { tile, start: first % TILE_WIDTH, count };
}

/** Whether a tile, if it is full, covers more leaves than a tree of this size has. */
export function extendsBeyond({ level, index }: TileKey, size: number): boolean {
  return (index + 1) * TILE_WIDTH ** (level + 1) > size;
}

/** The number of hashes in all tiles of a level. */
function hashesAtLevel(size: number, level: number): number {
  return Math.floor(size / TILE_WIDTH ** level);
}

function splitHashes(bytes: Uint8Array): Hash[] {
  return Array.from({ length: bytes.length / HASH_LENGTH }, (_, i) =>
    bytes.slice(i * HASH_LENGTH, (i + 1) * HASH_LENGTH),
  );
}

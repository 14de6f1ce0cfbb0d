import { completeNodes, HASH_LENGTH, type Hash, hashComplete, hashRange, type LeafRange } from './merkle';

// A Merkle tree is kept as tiles of 256 hashes, as in https://c2sp.org/tlog-tiles: those of level 0 hold leaves, each hash
// of a higher one stands for a full tile below it. Full tiles never change; the others are the tree's frontier.

const TILE_HEIGHT = 8;
/** Hashes of a full tile. */
export const TILE_WIDTH = 2 ** TILE_HEIGHT;

/** Names a tile. */
export interface TileKey {
  /** Of tiles: 0 for those of leaves. */
  level: number;
  /** Its place among those of its level, from 0. */
  index: number;
}

/** A full tile: 256 hashes, one after the other. */
export interface Tile extends TileKey {
  bytes: Uint8Array;
}

/** Reads a tile of a tree. The last tile of a level may hold fewer than 256 hashes. */
export type ReadTile = (key: TileKey) => Promise<Uint8Array>;

/** Returns a reader that reads each tile at most once. */
export function readOnce(read: ReadTile): ReadTile {
  const tiles = new Map<string, Promise<Uint8Array>>();
  return (key) => {
    const name = `${key.level}/${key.index}`;
    const tile = tiles.get(name) ?? read(key);
    tiles.set(name, tile);
    return tile;
  };
}

/** A tree as its size and its frontier: the tiles on the right that are not full. */
export class TreeFrontier {
  private constructor(
    private leaves: number,
    private readonly levels: Hash[][],
  ) {}

  /**
   * Parses what {@link bytes} returned for a tree of this size.
   * @throws Error if it cannot be the frontier of such a tree
   */
  static parse(size: number, bytes: Uint8Array): TreeFrontier {
    const levels: Hash[][] = [];
    let offset = 0;
    for (let level = 0; tilesWidth(size, level) > 0; level++) {
      const count = tilesWidth(size, level) % TILE_WIDTH;
      levels.push(splitHashes(bytes.subarray(offset, offset + count * HASH_LENGTH)));
      offset += count * HASH_LENGTH;
    }
    if (offset !== bytes.length) throw new Error(`the frontier of a tree of ${size} leaves has ${bytes.length} bytes`);
    return new TreeFrontier(size, levels);
  }

  get size(): number {
    return this.leaves;
  }

  /** The tiles that are not full, level by level from the leaves. */
  bytes(): Uint8Array {
    return joinHashes(this.levels.flat());
  }

  /** Appends leaves, and returns the tiles that became full. */
  async append(leaves: readonly Hash[]): Promise<Tile[]> {
    const filled: Tile[] = [];
    let fresh = leaves;
    for (let level = 0; fresh.length > 0; level++) {
      const hashes = [...(this.levels[level] ?? []), ...fresh];
      const first = Math.floor(tilesWidth(this.leaves, level) / TILE_WIDTH);
      const full = Array.from({ length: Math.floor(hashes.length / TILE_WIDTH) }, (_, i) =>
        hashes.slice(i * TILE_WIDTH, (i + 1) * TILE_WIDTH),
      );
      filled.push(...full.map((tile, i) => ({ level, index: first + i, bytes: joinHashes(tile) })));
      this.levels[level] = hashes.slice(full.length * TILE_WIDTH);
      fresh = await Promise.all(full.map(hashComplete));
    }
    this.leaves += leaves.length;
    return filled;
  }

  /** The tree's root. */
  root(): Promise<Hash> {
    const read: ReadTile = async ({ level }) => joinHashes(this.levels[level] ?? []);
    return hashRange({ start: 0, end: this.leaves }, nodesOf(read));
  }

  /** A tile of the frontier; null if the key names another tile. */
  tile({ level, index }: TileKey): Uint8Array | null {
    const isFrontier = index === Math.floor(tilesWidth(this.leaves, level) / TILE_WIDTH);
    return isFrontier ? joinHashes(this.levels[level] ?? []) : null;
  }
}

/** Returns the hashes of ranges of leaves. Reads all tiles at the same time, each once. */
export async function hashRanges(ranges: readonly LeafRange[], read: ReadTile): Promise<Hash[]> {
  const readTile = readOnce(read);
  const needed = ranges.flatMap(completeNodes).map(([level, index]) => readTile(placeOf(level, index).tile));
  await Promise.all(needed);
  const nodes = nodesOf(readTile);
  return Promise.all(ranges.map((range) => hashRange(range, nodes)));
}

/** Returns a function that reads complete nodes of the tree from its tiles. */
function nodesOf(read: ReadTile) {
  return async (level: number, index: number): Promise<Hash> => {
    const { tile, start, count } = placeOf(level, index);
    const bytes = await read(tile);
    const hashes = splitHashes(bytes.subarray(start * HASH_LENGTH, (start + count) * HASH_LENGTH));
    if (hashes.length !== count) throw new Error(`tile ${tile.level}/${tile.index} is too short`);
    return hashComplete(hashes);
  };
}

/** Where a complete node is: its tile, and which hashes of the tile are below it. */
function placeOf(level: number, index: number) {
  const tileLevel = Math.floor(level / TILE_HEIGHT);
  const count = 2 ** (level % TILE_HEIGHT);
  const first = index * count;
  const tile = { level: tileLevel, index: Math.floor(first / TILE_WIDTH) };
  return { tile, start: first % TILE_WIDTH, count };
}

/** Whether a full tile covers leaves beyond the end of a tree of this size. */
export function reachesBeyond({ level, index }: TileKey, size: number): boolean {
  return (index + 1) * TILE_WIDTH ** (level + 1) > size;
}

/** The number of hashes on a level of tiles. */
function tilesWidth(size: number, level: number): number {
  return Math.floor(size / TILE_WIDTH ** level);
}

function splitHashes(bytes: Uint8Array): Hash[] {
  return Array.from({ length: bytes.length / HASH_LENGTH }, (_, i) =>
    bytes.slice(i * HASH_LENGTH, (i + 1) * HASH_LENGTH),
  );
}

function joinHashes(hashes: readonly Hash[]): Uint8Array {
  const bytes = new Uint8Array(hashes.length * HASH_LENGTH);
  for (const [i, hash] of hashes.entries()) bytes.set(hash, i * HASH_LENGTH);
  return bytes;
}

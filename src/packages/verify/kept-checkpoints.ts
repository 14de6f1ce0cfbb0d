import { appendFile, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isEqual } from './core/bytes.ts';
import { type Checkpoint, checkpointFacts, readCheckpoint, readNote } from './core/checkpoint.ts';
import { CannotCheck, Fault } from './core/findings.ts';
import { parseJson } from './core/json.ts';

/** A checkpoint that the user of this program kept. */
export interface KeptCheckpoint extends Checkpoint {
  /** Its file, for messages; with the line, unless the checkpoints are kept in a folder. */
  where: string;
}

const SIZE_NAME = /^\d{16}$/;

/**
 * The checkpoints that the user of this program kept, sorted by size, then by time. They are stored
 * in a file with one answer of the API per line, or in a folder of notes, each named by the size of
 * the log in 16 digits.
 */
export class KeptCheckpoints {
  private readonly path: string;
  private readonly isFolder: boolean;
  readonly all: KeptCheckpoint[];

  private constructor(path: string, isFolder: boolean, all: KeptCheckpoint[]) {
    this.path = path;
    this.isFolder = isFolder;
    this.all = all.toSorted((a, b) => a.size - b.size || a.time.localeCompare(b.time));
  }

  /**
   * Reads the kept checkpoints at a path that must exist.
   * @throws as {@link open}
   */
  static async openExisting(path: string): Promise<KeptCheckpoints> {
    await stat(path).catch((error) => {
      throw new CannotCheck(`${path} cannot be read: ${error.message}`);
    });
    return await KeptCheckpoints.open(path);
  }

  /**
   * Reads the kept checkpoints. If nothing exists at the path, `keep` creates a file there.
   * @throws Fault if one is not a valid checkpoint
   * @throws CannotCheck if the path cannot be read
   */
  static async open(path: string): Promise<KeptCheckpoints> {
    try {
      const status = await stat(path).catch((error) => {
        if (error.code !== 'ENOENT') throw error;
      });
      const kept = !status ? [] : await (status.isDirectory() ? readFolder(path) : readLines(path));
      return new KeptCheckpoints(path, status?.isDirectory() ?? false, kept);
    } catch (error) {
      if (error instanceof Fault) throw error;
      throw new CannotCheck(`The kept checkpoints cannot be read: ${(error as Error).message}`);
    }
  }

  /**
   * Stores a checkpoint. Returns false, and stores nothing, if one of the same size and root was
   * already stored.
   */
  async keep(checkpoint: Checkpoint): Promise<boolean> {
    const { origin, size, root, note } = checkpoint;
    if (this.all.some((kept) => kept.size === size && isEqual(kept.root, root))) return false;
    if (this.isFolder) {
      await writeFile(join(this.path, String(size).padStart(16, '0')), note, { flag: 'wx' });
    } else {
      const answer = { origin, ...checkpointFacts(checkpoint), note };
      await appendFile(this.path, `${JSON.stringify(answer)}\n`);
    }
    return true;
  }
}

async function readFolder(path: string): Promise<KeptCheckpoint[]> {
  const names = (await readdir(path)).filter((name) => SIZE_NAME.test(name));
  return await Promise.all(
    names.map(async (name) => {
      const where = join(path, name);
      const checkpoint = readNote(await readFile(where, 'utf8'), where);
      if (checkpoint.size === Number(name)) return { ...checkpoint, where };
      throw new Fault(
        'checkpoint',
        `${where} contains a checkpoint of another size: ${checkpoint.size}`,
      );
    }),
  );
}

async function readLines(path: string): Promise<KeptCheckpoint[]> {
  const lines = (await readFile(path, 'utf8'))
    .split('\n')
    .map((line, at) => ({ line, where: `${path}:${at + 1}` }));
  return lines
    .filter(({ line }) => line.trim() !== '')
    .map(({ line, where }) => {
      try {
        return { ...readCheckpoint(parseJson(line), where), where };
      } catch (error) {
        throw error instanceof SyntaxError
          ? new Fault('checkpoint', `${where} is not a checkpoint: ${error.message}`)
          : error;
      }
    });
}

import type { Json } from '../../lib/json';
import type { ExportedEntry } from './source';

/** Encodes entries in one file format. */
export interface Encoder {
  /** Maximum entries for the next call of {@link add}. */
  readonly maxEntries: number;
  /** Adds entries, and returns the next bytes of the file; none while it buffers the entries. */
  add(entries: ExportedEntry[]): Uint8Array[];
  /** Returns the bytes of the entries that it buffers. */
  flush(): Uint8Array[];
  /** Returns the last bytes of the file. */
  end(): Uint8Array[];
  /**
   * The number of entries in the bytes that this encoder has returned; buffered ones do not count.
   */
  readonly rows: number;
  /**
   * The first entry that was added and is not in the returned bytes yet; undefined if there is
   * none.
   */
  readonly firstBuffered: ExportedEntry | undefined;
  /** Returns the state from which another encoder can continue after the bytes so far. */
  save(): Json;
}

import type { Json } from '../../lib/json';
import type { ExportedEntry } from './source';

/** Encodes entries in one file format. */
export interface Encoder {
  /** The most entries that the next call of {@link add} takes. */
  readonly wanted: number;
  /** Adds entries, and returns the bytes that are ready. There are none while it waits for more entries. */
  add(entries: ExportedEntry[]): Uint8Array[];
  /** Returns the last bytes. */
  end(): Uint8Array[];
  /** The number of entries in the bytes that this encoder has returned. */
  readonly rows: number;
  /** The first entry that was added and is not in the bytes yet; undefined if there is none. */
  readonly held: ExportedEntry | undefined;
  /** Returns a state from which another encoder can continue after the bytes so far. */
  save(): Json;
}

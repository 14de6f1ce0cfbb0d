import type { Json } from '../../lib/json';
import type { ExportedEntry } from './source';

/** Writes entries as a file of one format. */
export interface Encoder {
  /** How many entries it would like to have next, at most. */
  readonly wanted: number;
  /** Takes entries; gives the bytes that are ready, none where it waits for more. */
  add(entries: ExportedEntry[]): Uint8Array[];
  /** Gives the last bytes. */
  end(): Uint8Array[];
  /** How many entries are in the bytes so far. */
  readonly rows: number;
  /** The first entry that it has taken and that is not in the bytes so far; undefined where there is none. */
  readonly held: ExportedEntry | undefined;
  /** What it takes to go on after the bytes so far. */
  save(): Json;
}

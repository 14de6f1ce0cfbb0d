import type { Json } from '../../lib/json';
import type { Encoder } from './encoder';
import type { ExportedEntry } from './source';

/** Entries in a chunk of bytes. */
const CHUNK_ENTRIES = 512;

/** A file format that writes each entry as text. */
export interface TextFormat {
  /** The text before the first entry. */
  head: string;
  /** The text between two entries. */
  between: string;
  /** Returns the text after the last entry. `total` is the number of entries in the file. */
  tail: (total: number) => string;
  write: (entry: ExportedEntry) => string;
}

/** Encodes entries as UTF-8 text. */
export class TextFileEncoder implements Encoder {
  readonly maxEntries = Number.POSITIVE_INFINITY;
  readonly firstBuffered = undefined;
  rows = 0;
  private readonly encoder = new TextEncoder();

  /** @param total the number of entries in the file so far; null if its head is not written yet */
  constructor(
    private readonly format: TextFormat,
    private total: number | null,
  ) {}

  add(entries: ExportedEntry[]): Uint8Array[] {
    const { between, write } = this.format;
    const chunks: Uint8Array[] = [];
    for (let at = 0; at < entries.length; at += CHUNK_ENTRIES) {
      const few = entries.slice(at, at + CHUNK_ENTRIES);
      chunks.push(this.encoder.encode(this.separator() + few.map(write).join(between)));
      this.total = (this.total ?? 0) + few.length;
    }
    this.rows += entries.length;
    return chunks;
  }

  /** The text before the next entry. */
  private separator(): string {
    const { head, between } = this.format;
    if (this.total === null) return head;
    if (this.total === 0) return '';
    return between;
  }

  flush(): Uint8Array[] {
    return [];
  }

  end(): Uint8Array[] {
    const { head, tail } = this.format;
    let text = tail(this.total ?? 0);
    if (this.total === null) text = head + text;
    return [this.encoder.encode(text)];
  }

  save(): Json {
    return this.total;
  }
}

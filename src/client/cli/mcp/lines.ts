const NEWLINE = 10;

/** Puts the lines of a stream of bytes together. */
export class LineReader {
  readonly #limit: number;
  #parts: Uint8Array[] = [];
  #size = 0;

  /** @param limit the most bytes of a line; of a longer one only its length is kept */
  constructor(limit = Number.POSITIVE_INFINITY) {
    this.#limit = limit;
  }

  /** Returns the lines that these bytes complete, without their newlines; null for one over the limit. */
  push(bytes: Uint8Array): (Uint8Array | null)[] {
    const lines: (Uint8Array | null)[] = [];
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      this.#add(bytes.subarray(start, end));
      lines.push(this.#takeLine());
      start = end + 1;
    }
    this.#add(bytes.subarray(start));
    return lines;
  }

  #takeLine(): Uint8Array | null {
    const [parts, size] = [this.#parts, this.#size];
    [this.#parts, this.#size] = [[], 0];
    if (size > this.#limit) return null;
    if (parts.length === 1) return parts[0] as Uint8Array;
    const line = new Uint8Array(size);
    let place = 0;
    for (const part of parts) {
      line.set(part, place);
      place += part.length;
    }
    return line;
  }

  #add(part: Uint8Array): void {
    if (part.length === 0) return;
    this.#size += part.length;
    if (this.#size > this.#limit) this.#parts = [];
    else this.#parts.push(part);
  }
}

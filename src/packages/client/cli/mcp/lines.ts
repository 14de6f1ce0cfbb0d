const NEWLINE = 10;

/** How much is kept of each end of a line that is too long, in bytes. */
const END = 1024;

/** A line over the limit: its first and its last bytes. */
export class LongLine {
  readonly start: Uint8Array;
  readonly end: Uint8Array;

  constructor(start: Uint8Array, end: Uint8Array) {
    this.start = start;
    this.end = end;
  }
}

/** A line without its newline. */
export type Line = Uint8Array | LongLine;

/** Puts the lines of a stream of bytes together. */
export class LineReader {
  readonly #limit: number;
  #parts: Uint8Array[] = [];
  #size = 0;
  /** Of a line over the limit. */
  #start = new Uint8Array();

  /** @param limit the most bytes of a line; of a longer one only its ends are kept */
  constructor(limit = Number.POSITIVE_INFINITY) {
    this.#limit = limit;
  }

  /** Returns the lines that these bytes complete. */
  push(bytes: Uint8Array): Line[] {
    const lines: Line[] = [];
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      this.#add(bytes.subarray(start, end));
      lines.push(this.#takeLine());
      start = end + 1;
    }
    this.#add(bytes.subarray(start));
    return lines;
  }

  #takeLine(): Line {
    const bytes = join(this.#parts);
    const isLong = this.#size > this.#limit;
    this.#parts = [];
    this.#size = 0;
    if (isLong) return new LongLine(this.#start, bytes);
    return bytes;
  }

  #add(part: Uint8Array): void {
    if (part.length === 0) return;
    const wasLong = this.#size > this.#limit;
    this.#size += part.length;
    this.#parts.push(part);
    if (this.#size <= this.#limit) return;
    const kept = join(this.#parts);
    if (!wasLong) this.#start = kept.slice(0, END);
    this.#parts = [kept.slice(-END)];
  }
}

function join(parts: Uint8Array[]): Uint8Array {
  const [first, ...more] = parts;
  if (first && more.length === 0) return first;
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let place = 0;
  for (const part of parts) {
    bytes.set(part, place);
    place += part.length;
  }
  return bytes;
}

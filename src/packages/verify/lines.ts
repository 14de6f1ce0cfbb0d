import { createReadStream } from 'node:fs';

const NEWLINE = 10;
/** Maximum size of a line. Every valid line is shorter. */
const MAX_LINE_BYTES = 2 ** 26;

/** Reads the lines of a file on demand, without their newlines. */
export class LineReader {
  private readonly chunks: AsyncIterator<Buffer>;
  private readonly decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  private pieces: Buffer[] = [];
  private rest: Buffer = Buffer.alloc(0);
  private length = 0;

  constructor(file: string) {
    this.chunks = createReadStream(file, { highWaterMark: 2 ** 20 })[Symbol.asyncIterator]();
  }

  /**
   * The next line; null after the last.
   * @throws TypeError if it is not UTF-8
   * @throws SyntaxError if it is too long
   */
  async next(): Promise<string | null> {
    for (;;) {
      const end = this.rest.indexOf(NEWLINE);
      if (end >= 0) {
        const line = this.take(end);
        this.rest = this.rest.subarray(end + 1);
        return line;
      }
      this.length += this.rest.length;
      if (this.length > MAX_LINE_BYTES) throw new SyntaxError('a line is too long');
      if (this.rest.length > 0) this.pieces.push(this.rest);
      const { value, done } = await this.chunks.next();
      this.rest = done ? Buffer.alloc(0) : value;
      if (done) return this.pieces.length > 0 ? this.take(0) : null;
    }
  }

  /** Closes the file. */
  async close(): Promise<void> {
    await this.chunks.return?.();
  }

  private take(end: number): string {
    const last = this.rest.subarray(0, end);
    const bytes = this.pieces.length === 0 ? last : Buffer.concat([...this.pieces, last]);
    this.pieces = [];
    this.length = 0;
    return this.decoder.decode(bytes);
  }
}

/**
 * Reads the members of a JSON array whose opening line has been read. It has one member per line,
 * each but the last followed by a comma.
 * @param end the line that ends the array; nothing may follow it
 * @throws SyntaxError at the first malformed line
 */
export async function* readArrayMembers(
  lines: LineReader,
  end: string,
): AsyncGenerator<string, void> {
  let member: string | null = null;
  for (;;) {
    // The error of an unreadable line is thrown after the member before it is returned.
    const line = await lines.next().catch((error: Error) => error);
    if (member !== null) {
      const comma = member.endsWith(',');
      if (typeof line === 'string' && comma === (line === end)) {
        throw new SyntaxError(
          comma
            ? 'there is a comma after the last line'
            : 'a comma is missing at the end of the line',
        );
      }
      yield comma ? member.slice(0, -1) : member;
    }
    if (line === null) throw new SyntaxError('the file is truncated');
    if (typeof line !== 'string') throw line;
    if (line === end) break;
    member = line;
  }
  if ((await lines.next()) !== null) throw new SyntaxError('the file continues after the end');
}

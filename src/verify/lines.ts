import { createReadStream } from 'node:fs';

const NEWLINE = 10;
/** Bytes of a line: no entry and no record is as long. */
const MAX_LINE_BYTES = 2 ** 26;

/** The lines of a file, read as they are asked for, without their newlines. */
export class Lines {
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
   * @throws TypeError where it is not UTF-8
   * @throws SyntaxError where it does not come to an end
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
      if (this.length > MAX_LINE_BYTES) throw new SyntaxError('a line does not come to an end');
      if (this.rest.length > 0) this.pieces.push(this.rest);
      const { value, done } = await this.chunks.next();
      this.rest = done ? Buffer.alloc(0) : value;
      if (done) return this.pieces.length > 0 ? this.take(0) : null;
    }
  }

  /** Lets the file go, wherever the reading stopped. */
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
 * The members of a JSON array that is written with one member a line: with a comma after each but the last, and then a
 * line that ends it.
 * @param end that line; after it nothing may follow
 * @throws SyntaxError at the member that is not so
 */
export async function* readMembers(lines: Lines, end: string): AsyncGenerator<string, void> {
  let member: string | null = null;
  for (;;) {
    // A line that cannot be read is a fault of its own, not of the member before it.
    const line = await lines.next().catch((error: Error) => error);
    if (member !== null) {
      const comma = member.endsWith(',');
      if (typeof line === 'string' && comma === (line === end)) {
        throw new SyntaxError(
          comma ? 'a comma stands after the last line' : 'a comma is missing at the end of the line',
        );
      }
      yield comma ? member.slice(0, -1) : member;
    }
    if (line === null) throw new SyntaxError('the file is cut off');
    if (typeof line !== 'string') throw line;
    if (line === end) break;
    member = line;
  }
  if ((await lines.next()) !== null) throw new SyntaxError('something stands after the end');
}

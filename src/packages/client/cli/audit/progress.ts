import type { Io } from '../io.ts';

/** Pause between two lines where no terminal can replace them, in milliseconds. */
const LINE_PAUSE = 10_000;

/**
 * Shows on stderr how far a long work is: in one line of a terminal, or in a new line now and then.
 */
export class Progress {
  readonly #output: Io['stderr'];
  #shown = 0;
  #isOpen = false;

  constructor({ stderr }: Pick<Io, 'stderr'>) {
    this.#output = stderr;
  }

  show(text: string): void {
    if (this.#output.isTTY) {
      this.#output.write(`\r\x1b[K${text}`);
      this.#isOpen = true;
    } else if (Date.now() - this.#shown >= LINE_PAUSE) {
      this.#output.write(`${text}\n`);
      this.#shown = Date.now();
    }
  }

  /** Clears the line. */
  end(): void {
    if (this.#isOpen) this.#output.write('\r\x1b[K');
    this.#isOpen = false;
  }
}

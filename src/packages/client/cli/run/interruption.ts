import type { ChildProcess } from 'node:child_process';
import { constants } from 'node:os';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;
type Signal = (typeof SIGNALS)[number];

/**
 * Listens to the signals that end a program. Before the command runs they end the wait; then they
 * are passed on to it, apart from those of the keyboard, which a terminal sends to the command by
 * itself.
 */
export class Interruption {
  readonly #controller = new AbortController();
  readonly #listeners = new Map<Signal, () => void>();
  #isForwarding = false;
  #child: ChildProcess | null = null;
  /** A signal that came before there was a process to pass it to. */
  #kept: Signal | null = null;
  /** The number of the signal that ended the wait. */
  number = 0;

  constructor() {
    for (const signal of SIGNALS) {
      const listener = () => this.#take(signal);
      this.#listeners.set(signal, listener);
      process.on(signal, listener);
    }
  }

  /** Aborted when a signal ends the wait. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** From now on, signals are for the command. */
  forward(): void {
    this.#isForwarding = true;
  }

  /** The process of the command. */
  attach(child: ChildProcess): void {
    this.#child = child;
    if (this.#kept) child.kill(this.#kept);
  }

  /** Stops listening. */
  end(): void {
    for (const [signal, listener] of this.#listeners) process.off(signal, listener);
  }

  #take(signal: Signal): void {
    if (!this.#isForwarding) {
      this.number = constants.signals[signal];
      this.#controller.abort(new Error('interrupted'));
      // A second signal ends the program at once.
      this.end();
    } else if (!this.#child) {
      this.#kept = signal;
    } else if (!(isFromKeyboard(signal) && hasTerminal())) {
      this.#child.kill(signal);
    }
  }
}

function isFromKeyboard(signal: Signal): boolean {
  return signal === 'SIGINT' || signal === 'SIGQUIT';
}

function hasTerminal(): boolean {
  return [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY);
}

import { CliClient } from './client.ts';
import type { Io } from './io.ts';
import { findService, type ServiceAccess } from './service.ts';
import { type Fact, formatFacts } from './terminal/facts.ts';
import { type Style, styleFor } from './terminal/style.ts';
import { type Column, formatTable } from './terminal/table.ts';

/** One run of a command. */
export class Session {
  readonly io: Io;
  /** Whether a person reads stdout: then commands print tables and sentences instead of JSON. */
  readonly isHuman: boolean;
  /** Colours for stdout. */
  readonly style: Style;
  readonly #url: string | undefined;
  #access: ServiceAccess | undefined;
  #client: CliClient | undefined;

  constructor(io: Io, options: { json?: boolean | undefined; url?: string | undefined }) {
    this.io = io;
    this.isHuman = io.stdout.isTTY === true && !options.json;
    this.style = styleFor(io.stdout, io);
    this.#url = options.url;
  }

  /** The columns of the terminal. */
  get width(): number {
    return this.io.stdout.columns || 80;
  }

  /** Formats facts for the terminal. */
  facts(facts: Fact[]): string[] {
    return formatFacts(facts, this.width, this.style.dim);
  }

  /** Formats rows as a table that fits the terminal. */
  table<Row>(rows: Row[], columns: Column<Row>[]): string[] {
    return formatTable(rows, columns, this.width, this.style);
  }

  /** The service and the credential of the command. */
  get access(): ServiceAccess {
    this.#access ??= findService(this.io, this.#url);
    return this.#access;
  }

  /** The client of the service. */
  get client(): CliClient {
    const { baseUrl, credential: apiKey } = this.access;
    this.#client ??= new CliClient({ baseUrl, apiKey, fetch: this.io.fetch, clock: this.io.clock });
    return this.#client;
  }
}

import { type Checkpoint, readCheckpoint } from './core/checkpoint.ts';
import { Fault } from './core/findings.ts';
import { isJsonObject, type Json, type JsonObject, parseJson } from './core/json.ts';
import { type ErasureRecord, isSequence, readErasureRecord } from './erasure.ts';
import { LineReader, readArrayMembers } from './lines.ts';

/** The request of an export, with the dates as it shows them. A filter is null if it has none. */
export interface ExportRequest {
  start_date: string;
  end_date: string;
  agent_id: string | null;
  event_types: string[] | null;
  action: string | null;
  /** With `*` at the end, how resources begin. */
  resource: string | null;
  /** The id of who decided or voted. */
  decided_by: string | null;
  /** The name of a number in the scope; its bounds are included. */
  scope_key: string | null;
  scope_min: number | null;
  scope_max: number | null;
}

/** The beginning of an export's proof, before its tree. */
export interface ProofHeader {
  exportId: string;
  format: 'json' | 'parquet';
  /** The hash of the exported file, in hexadecimal. */
  sha256: string;
  rowCount: number;
  request: ExportRequest;
  checkpoint: Checkpoint;
  erased: ErasureRecord[];
}

/** The leaf of an exported entry. */
export interface Leaf {
  sequence: number;
  /** 32 hexadecimal characters. */
  salt: string;
  hash: Buffer;
}

/**
 * A complete subtree over entries that are not in the export, from the first to the last sequence.
 */
export interface Subtree {
  first: number;
  last: number;
  hash: Buffer;
}

const TREE = '"tree":[';
const HASH = /^[0-9a-f]{64}$/;
const SALT = /^[0-9a-f]{32}$/;

/** The proof of an export. {@link ProofFile.tree} reads its tree on demand, and only once. */
export class ProofFile {
  readonly head: ProofHeader;
  private readonly lines: LineReader;

  private constructor(head: ProofHeader, lines: LineReader) {
    this.head = head;
    this.lines = lines;
  }

  /** @throws Fault if the beginning of the file is malformed */
  static async open(path: string): Promise<ProofFile> {
    const lines = new LineReader(path);
    const head: string[] = [];
    return await asProofFault(async () => {
      for (let line = await lines.next(); line !== TREE; line = await lines.next()) {
        if (line === null) throw new SyntaxError(`it has no line ${TREE}`);
        head.push(line);
      }
      return new ProofFile(readHead(parseJson(`${head.join('\n')}"tree":[]}`)), lines);
    });
  }

  /**
   * Reads the nodes of the tree, from left to right.
   * @throws Fault at the first malformed node
   */
  async *tree(): AsyncGenerator<Leaf | Subtree, void> {
    const members = readArrayMembers(this.lines, ']}');
    try {
      for (;;) {
        const { value: text, done } = await asProofFault(() => members.next());
        if (done) return;
        yield await asProofFault(async () => readNode(parseJson(text)));
      }
    } finally {
      await this.lines.close();
    }
  }
}

async function asProofFault<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) {
      throw new Fault('proof', `The proof is malformed: ${error.message}`);
    }
    throw error;
  }
}

function readNode(value: Json): Leaf | Subtree {
  const [first, second, hash, ...more] = Array.isArray(value) ? value : [];
  if (!isSequence(first) || typeof hash !== 'string' || !HASH.test(hash) || more.length > 0) {
    throw new SyntaxError(`${JSON.stringify(value).slice(0, 200)} is no part of a tree`);
  }
  if (typeof second === 'string' && SALT.test(second)) {
    return { sequence: first, salt: second, hash: Buffer.from(hash, 'hex') };
  }
  if (isSequence(second) && second >= first)
    return { first, last: second, hash: Buffer.from(hash, 'hex') };
  throw new SyntaxError(`${JSON.stringify(value).slice(0, 200)} is no part of a tree`);
}

function readHead(value: Json): ProofHeader {
  if (!isJsonObject(value) || value.version !== 1) throw new SyntaxError('its version is not 1');
  const {
    export_id: exportId,
    format,
    sha256,
    row_count: rowCount,
    request,
    checkpoint,
    erased,
  } = value;
  if (typeof exportId !== 'string') throw new SyntaxError('it has no export_id');
  if (format !== 'json' && format !== 'parquet')
    throw new SyntaxError('its format is neither json nor parquet');
  if (typeof sha256 !== 'string' || !HASH.test(sha256))
    throw new SyntaxError('its sha256 is not a hash');
  if (!Number.isSafeInteger(rowCount)) throw new SyntaxError('its row_count is not a whole number');
  if (!Array.isArray(erased)) throw new SyntaxError('it has no list of erased entries');
  return {
    exportId,
    format,
    sha256,
    rowCount: rowCount as number,
    request: readRequest(request),
    checkpoint: readCheckpoint(checkpoint ?? null, "The proof's checkpoint"),
    erased: erased.map(readErasureRecord),
  };
}

function readRequest(value: Json | undefined): ExportRequest {
  const request = isJsonObject(value) ? value : ({} as JsonObject);
  const { start_date, end_date, event_types } = request;
  if (typeof start_date !== 'string' || typeof end_date !== 'string')
    throw new SyntaxError('its request has no dates');
  if (event_types !== null && !isTexts(event_types))
    throw new SyntaxError('its request has no event_types');
  const agent_id = readText(request, 'agent_id');
  if (agent_id === undefined) throw new SyntaxError('its request has no agent_id');
  return {
    start_date,
    end_date,
    agent_id,
    event_types,
    // Proofs that are older than these filters do not have them.
    action: readText(request, 'action') ?? null,
    resource: readText(request, 'resource') ?? null,
    decided_by: readText(request, 'decided_by') ?? null,
    scope_key: readText(request, 'scope_key') ?? null,
    scope_min: readNumber(request, 'scope_min') ?? null,
    scope_max: readNumber(request, 'scope_max') ?? null,
  };
}

function readText(request: JsonObject, name: string): string | null | undefined {
  const value = request[name];
  if (value === undefined || value === null || typeof value === 'string') return value;
  throw new SyntaxError(`its request has a ${name} that is not a string`);
}

function readNumber(request: JsonObject, name: string): number | null | undefined {
  const value = request[name];
  if (value === undefined || value === null || typeof value === 'number') return value;
  throw new SyntaxError(`its request has a ${name} that is not a number`);
}

function isTexts(value: Json | undefined): value is string[] {
  return Array.isArray(value) && value.every((text) => typeof text === 'string');
}

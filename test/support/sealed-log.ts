import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { zstdCompressSync } from 'node:zlib';
import canonicalize from 'canonicalize';
import { parquetWriteBuffer } from 'hyparquet-writer';
import type { ExportedEntry } from '../../src/audit/exports/source';
import type { Json, JsonObject } from '../../src/lib/json';
import type { Id } from '../../src/lib/typeid';

/**
 * The account of the log. This file seals logs literally by RFC 9162, and shares no code with the
 * verifier.
 */

export const USER = 'user_01m7x1kd4rfd295j3kx3gjdnpe';
const ORIGIN = `countersign.test/${USER}`;
const START = Date.parse('2026-01-01T00:00:00.000Z');
const EVENTS = ['request', 'approve', 'use', 'deny', 'revoke', 'expire'];

export function sha256(...parts: (Uint8Array | string)[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

/** An entry as GET /v1/audit/:id answers it. */
export interface Entry extends JsonObject {
  id: string;
  sequence: number;
  user_id: string;
  agent_id: string;
  permission_request_id: string;
  event_type: string;
  details: JsonObject;
  ip_address: string;
  user_agent: string;
  created_at: string;
}

/** The entry with a sequence: a second after the one before it, of one of three agents in turn. */
export function makeEntry(sequence: number, scope: JsonObject = { amount: sequence / 3 }): Entry {
  const place = String(sequence).padStart(26, '0');
  return {
    id: `audit_${place}`,
    sequence,
    user_id: USER,
    agent_id: `agent_${String(sequence % 3).padStart(26, '0')}`,
    permission_request_id: `perm_${place}`,
    event_type: EVENTS[sequence % EVENTS.length] ?? '',
    details: {
      action: 'email.send',
      resource: `mailbox:${sequence}`,
      scope,
      decided_by: null,
      decision_reason: sequence % 2 ? 'Größer als „10“' : null,
      policy_id: null,
    },
    ip_address: '203.0.113.7',
    user_agent: 'agent/1.0',
    created_at: new Date(START + sequence * 1_000).toISOString(),
  };
}

export function makeEntries(count: number): Entry[] {
  return Array.from({ length: count }, (_, at) => makeEntry(at + 1));
}

export function saltOf(sequence: number): string {
  return sha256('salt', String(sequence)).toString('hex').slice(0, 32);
}

function leafInput(entry: JsonObject, salt: string): Buffer {
  return Buffer.concat([Buffer.of(0), Buffer.from(canonicalize({ ...entry, salt }) as string)]);
}

function hashLeaf(entry: Entry): Buffer {
  return sha256(leafInput(entry, saltOf(entry.sequence)));
}

const node = (left: Buffer, right: Buffer) => sha256(Buffer.of(1), left, right);

/** The largest power of two below a number from 2 on. */
function split(n: number): number {
  let k = 1;
  while (k * 2 < n) k *= 2;
  return k;
}

/** MTH of RFC 9162 section 2.1.1, of leaf hashes. */
export function rootOf(leaves: Buffer[]): Buffer {
  const [first] = leaves;
  if (!first) return sha256();
  if (leaves.length === 1) return first;
  const k = split(leaves.length);
  return node(rootOf(leaves.slice(0, k)), rootOf(leaves.slice(k)));
}

/** PATH of RFC 9162 section 2.1.3.1. */
export function inclusionPath(m: number, leaves: Buffer[]): Buffer[] {
  if (leaves.length === 1) return [];
  const k = split(leaves.length);
  return m < k
    ? [...inclusionPath(m, leaves.slice(0, k)), rootOf(leaves.slice(k))]
    : [...inclusionPath(m - k, leaves.slice(k)), rootOf(leaves.slice(0, k))];
}

/** PROOF of RFC 9162 section 2.1.4.1. */
export function consistencyPath(m: number, leaves: Buffer[]): Buffer[] {
  return m === 0 || m === leaves.length ? [] : subproof(m, leaves, true);
}

function subproof(m: number, leaves: Buffer[], whole: boolean): Buffer[] {
  if (m === leaves.length) return whole ? [] : [rootOf(leaves)];
  const k = split(leaves.length);
  return m <= k
    ? [...subproof(m, leaves.slice(0, k), whole), rootOf(leaves.slice(k))]
    : [...subproof(m - k, leaves.slice(k), false), rootOf(leaves.slice(0, k))];
}

/** A log's signing key and its published form. */
export class LogKey {
  private readonly privateKey: KeyObject;
  readonly bytes: Buffer;

  constructor() {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    this.privateKey = privateKey;
    this.bytes = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url');
  }

  get jwk(): JsonObject {
    const required = { crv: 'Ed25519', kty: 'OKP', x: this.bytes.toString('base64url') };
    return {
      ...required,
      use: 'sig',
      kid: `log-${sha256(JSON.stringify(required)).toString('base64url')}`,
    };
  }

  verifierKey(name = ORIGIN): string {
    return `${name}+${this.keyId(name).toString('hex')}+${Buffer.concat([Buffer.of(1), this.bytes]).toString('base64')}`;
  }

  /** Signs a text as a note. */
  sign(text: string, name = ORIGIN): string {
    const signature = Buffer.concat([
      this.keyId(name),
      sign(null, Buffer.from(text), this.privateKey),
    ]);
    return `${text}\n— ${name} ${signature.toString('base64')}\n`;
  }

  private keyId(name: string): Buffer {
    return sha256(name, '\n', Buffer.of(1), this.bytes).subarray(0, 4);
  }
}

export interface CheckpointObject extends JsonObject {
  origin: string;
  tree_size: number;
  root_hash: string;
  timestamp: string;
  note: string;
}

export type ExportRequest = {
  start_date: string;
  end_date: string;
  agent_id: string | null;
  event_types: string[] | null;
  action?: string | null;
  resource?: string | null;
  decided_by?: string | null;
  scope_key?: string | null;
  scope_min?: number | null;
  scope_max?: number | null;
};

export const EVERYTHING: ExportRequest = {
  start_date: '2025-12-31T00:00:00.000Z',
  end_date: '2027-01-01',
  agent_id: null,
  event_types: null,
};

export interface Erasure extends JsonObject {
  reason: string;
  erased_at: string | null;
  ranges: [number, number][];
  note: string;
}

/** An export and its proof, in parts that a test can change before they are written. */
export interface SealedExport {
  head: {
    version: number;
    export_id: string;
    format: string;
    sha256: string;
    row_count: number;
    request: ExportRequest;
    checkpoint: CheckpointObject;
    erased: Erasure[];
  };
  tree: Json[];
  /** Rows of the file. */
  rows: JsonObject[];
}

/** A log with its entries, records of erasures and signing key. */
export class SealedLog {
  readonly entries: Entry[];
  readonly key: LogKey;
  erased: Erasure[] = [];
  readonly origin: string;
  private cachedLeaves: Buffer[] | undefined;

  constructor(entries: Entry[] | number, key = new LogKey(), origin = ORIGIN) {
    this.entries = typeof entries === 'number' ? makeEntries(entries) : entries;
    this.key = key;
    this.origin = origin;
  }

  get leaves(): Buffer[] {
    this.cachedLeaves ??= this.entries.map(hashLeaf);
    return this.cachedLeaves;
  }

  erase(...ranges: [number, number][]): this {
    return this.record('retention', '2026-06-01T00:00:00.000Z', ranges);
  }

  /**
   * Signs a record of an erasure; without a time it is a record of hidden entries, which are erased
   * later.
   */
  record(
    reason: string,
    erased_at: string | null,
    ranges: [number, number][],
    origin = this.origin,
  ): this {
    const done = erased_at === null ? 'hidden 2026-07-01T00:00:00.000Z' : `erased ${erased_at}`;
    const places = ranges.map((range) => range.join('-')).join(' ');
    const note = this.key.sign(
      `countersign/erasure/v1\n${origin}\n${reason}\n${done}\n${places}\n`,
      origin,
    );
    this.erased.push({ reason, erased_at, ranges, note });
    return this;
  }

  checkpoint(size = this.entries.length, time = '2026-07-01T00:00:00.000Z'): CheckpointObject {
    const root = rootOf(this.leaves.slice(0, size));
    const text = `${this.origin}\n${size}\n${root.toString('base64')}\ntime ${time}\n`;
    const note = this.key.sign(text, this.origin);
    return {
      origin: this.origin,
      tree_size: size,
      root_hash: root.toString('hex'),
      timestamp: time,
      note,
    };
  }

  isErased(sequence: number): boolean {
    return this.erased.some(({ ranges }) =>
      ranges.some(([first, last]) => first <= sequence && sequence <= last),
    );
  }

  /** Exports the entries that match a request. */
  export(
    request: ExportRequest = EVERYTHING,
    format = 'json',
    size = this.entries.length,
  ): SealedExport {
    const found = this.entries.filter(
      ({ sequence, agent_id, event_type }) =>
        sequence <= size &&
        !this.isErased(sequence) &&
        (request.agent_id ?? agent_id) === agent_id &&
        (request.event_types ?? [event_type]).includes(event_type),
    );
    const parts: SealedExport = {
      head: {
        version: 1,
        export_id: 'export_01m7x1kd4rfd295j3kx3gjdnpe',
        format,
        sha256: '',
        row_count: found.length,
        request,
        checkpoint: this.checkpoint(size),
        erased: this.erased,
      },
      tree: cover(this.leaves.slice(0, size), new Set(found.map(({ sequence }) => sequence))),
      rows: found.map(toRow),
    };
    return parts;
  }
}

/**
 * The tree of a proof: the leaves of the exported entries, and the largest complete subtrees of all
 * others.
 */
export function cover(leaves: Buffer[], exported: Set<number>, first = 1): Json[] {
  if (leaves.length === 0) return [];
  const last = first + leaves.length - 1;
  const complete = Number.isInteger(Math.log2(leaves.length));
  const sequences = leaves.map((_, at) => first + at);
  if (complete && !sequences.some((sequence) => exported.has(sequence))) {
    return [[first, last, rootOf(leaves).toString('hex')]];
  }
  if (leaves.length === 1) return [[first, saltOf(first), (leaves[0] as Buffer).toString('hex')]];
  const k = split(leaves.length);
  return [
    ...cover(leaves.slice(0, k), exported, first),
    ...cover(leaves.slice(k), exported, first + k),
  ];
}

/** Converts an entry to the input of the service's own export encoders. */
export function toExported(entry: Entry): ExportedEntry {
  const {
    id,
    sequence,
    agent_id,
    permission_request_id,
    event_type,
    details,
    ip_address,
    user_agent,
    created_at,
  } = entry;
  return {
    pos: sequence,
    id: id as Id<'audit'>,
    sequence,
    agentId: agent_id as Id<'agent'>,
    permission: permission_request_id as Id<'perm'>,
    event: event_type as ExportedEntry['event'],
    createdAt: Date.parse(created_at),
    action: String(details.action),
    resource: String(details.resource),
    ipAddress: ip_address,
    userAgent: user_agent,
    details: JSON.stringify(details),
    salt: '',
  };
}

/** An entry as a line of an export. */
export function toRow({ details, ...entry }: Entry): JsonObject {
  return { ...entry, action: details.action ?? null, resource: details.resource ?? null, details };
}

export function writeJson(rows: JsonObject[]): Buffer {
  const lines = rows.map((row) => JSON.stringify(row)).join(',\n');
  return Buffer.from(rows.length > 0 ? `[\n${lines}\n]\n` : '[\n]\n');
}

export function writeParquet(rows: JsonObject[], rowGroupSize = 7): Buffer {
  const text = (name: string) => ({
    name,
    data: rows.map((row) => row[name] as string),
    type: 'STRING' as const,
  });
  const texts = [
    'id',
    'user_id',
    'agent_id',
    'permission_request_id',
    'event_type',
    'action',
    'resource',
    'ip_address',
  ];
  const columnData = [
    ...texts.map(text),
    text('user_agent'),
    {
      name: 'sequence',
      data: rows.map(({ sequence }) => BigInt(sequence as number)),
      type: 'INT64' as const,
    },
    {
      name: 'created_at',
      data: rows.map((row) => new Date(row.created_at as string)),
      type: 'TIMESTAMP' as const,
    },
    {
      name: 'details',
      data: rows.map(({ details }) => JSON.stringify(details)),
      type: 'STRING' as const,
    },
  ];
  const compressors = { ZSTD: (page: Uint8Array) => new Uint8Array(zstdCompressSync(page)) };
  return Buffer.from(parquetWriteBuffer({ columnData, codec: 'ZSTD', compressors, rowGroupSize }));
}

/**
 * Writes an export and its proof. The proof has the digest of the file, as somebody who changed
 * both would ensure.
 */
export function write(parts: SealedExport): { file: Buffer; proof: Buffer } {
  const file = parts.head.format === 'json' ? writeJson(parts.rows) : writeParquet(parts.rows);
  return { file, proof: writeProof(parts, sha256(file).toString('hex')) };
}

export function writeProof({ head, tree }: SealedExport, digest: string): Buffer {
  const members = Object.entries({ ...head, sha256: digest }).map(
    ([name, value]) => `"${name}":${JSON.stringify(value)}`,
  );
  const nodes = tree.map((part) => `${JSON.stringify(part)}`).join(',\n');
  return Buffer.from(
    `{${members.join(',\n')},\n"tree":[\n${nodes}${tree.length > 0 ? '\n' : ''}]}\n`,
  );
}

/** The answer of GET /v1/permissions/:id/receipt with the entries of some sequences. */
export function receiptOf(
  log: SealedLog,
  permission: string,
  sequences: number[],
  { complete = true, input = null, preview = null }: Partial<Record<string, Json>> = {},
) {
  return {
    type: 'countersign/receipt/v1',
    permission_id: permission,
    entries: sequences.map((sequence) => ({
      sequence,
      leaf_input: leafInput(log.entries[sequence - 1] as Entry, saltOf(sequence)).toString(
        'base64',
      ),
      inclusion_path: inclusionPath(sequence - 1, log.leaves).map((hash) => hash.toString('hex')),
    })),
    checkpoint: log.checkpoint(),
    complete,
    input,
    preview,
  };
}

/** The answer of GET /v1/audit/:id/proof. */
export function entryProof(log: SealedLog, sequence: number): JsonObject {
  const { entries, leaves } = log;
  const checkpoint = log.checkpoint();
  const entry = entries[sequence - 1] as Entry;
  return {
    sequence,
    leaf_hash: hashLeaf(entry).toString('hex'),
    leaf_input: leafInput(entry, saltOf(sequence)).toString('base64'),
    tree_size: checkpoint.tree_size,
    root_hash: checkpoint.root_hash,
    inclusion_path: inclusionPath(sequence - 1, leaves).map((hash) => hash.toString('hex')),
    checkpoint,
  };
}

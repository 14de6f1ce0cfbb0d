import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { formatId, type Prefix } from '../../src/lib/typeid.ts';
import { databaseFile } from '../bench/service.ts';

const LOG_SPAN = 2 ** 32;

// Words by their stored codes.
const EVENT_TYPES = ['request', 'approve', 'deny', 'use', 'expire', 'revoke'];
const PERMISSION_STATUSES = ['pending', 'approved', 'denied', 'expired'];
const TOKEN_STATUSES = ['active', 'used', 'expired', 'revoked'];
const ERASURE_REASONS = ['agent_deleted', 'retention'];
const FILE_STATUSES = ['processing', 'completed', 'failed', 'expired'];
const FILE_KINDS = ['export', 'report'] as const;

export interface StoredEntry {
  sequence: number;
  id: string;
  agent: number;
  permission: string;
  event: string;
  action: string;
  createdAt: number;
  details: Record<string, unknown>;
}

export interface StoredPermission {
  id: string;
  agent: number;
  resource: string;
  status: string;
  tokenStatus: string | null;
  tokenUses: number;
  tokenMaxUses: number;
  tokenExpiresAt: number;
  lastEntry: string;
  createdAt: number;
  decidedAt: number;
  expiresAt: number;
}

export interface StoredFile {
  id: string;
  account: number;
  status: string;
  error: string | null;
  snapshot: number;
  isHeld: boolean;
}

/** An account as its tables tell it. */
export interface StoredAccount {
  number: number;
  id: string;
  entries: StoredEntry[];
  /** Sequences that were erased, and why. */
  erased: { reason: string; ranges: [first: number, last: number][] }[];
  erasedSequence: number;
  treeSize: number;
  publishedSize: number;
  permissions: StoredPermission[];
  /** Numbers of the agents, by id. */
  agents: Map<string, number>;
  /** The place after which a webhook is told, by its id. */
  webhooks: Map<string, number>;
  policies: Set<string>;
  files: Map<string, StoredFile>;
}

type Row = Record<string, string | number | null | Uint8Array>;

/** The tables and the bucket of a service that does not run. */
export class Stored {
  private readonly state: string;
  private readonly database: DatabaseSync;

  constructor(state: string) {
    this.state = state;
    this.database = new DatabaseSync(databaseFile(state));
  }

  close(): void {
    this.database.close();
  }

  all<R = Row>(sql: string, ...parameters: (string | number)[]): R[] {
    return this.database.prepare(sql).all(...parameters) as R[];
  }

  account(id: string): StoredAccount {
    const row = this.all('select number, id, erased_sequence from accounts').find((row) => idOf('user', row.id) === id);
    if (!row) throw new Error(`${id} is gone`);
    const number = Number(row.number);
    const of = (sql: string) => this.all(sql, number);
    const [tree] = of('select size, published_size from trees where account = ?');
    return {
      number,
      id,
      entries: this.all(
        `select pos, id, agent, permission, event, action, created_at, details from audit_entries
         where pos > ? and pos < ? order by pos`,
        number * LOG_SPAN,
        (number + 1) * LOG_SPAN,
      ).map(readEntry),
      erased: of('select reason, ranges from erased_entries where account = ?').map(({ reason, ranges }) => ({
        reason: ERASURE_REASONS[Number(reason)] ?? '',
        ranges: JSON.parse(String(ranges)),
      })),
      erasedSequence: Number(row.erased_sequence),
      treeSize: Number(tree?.size ?? 0),
      publishedSize: Number(tree?.published_size ?? 0),
      permissions: of('select * from permissions where account = ?').map(readPermission),
      agents: new Map(
        of('select id, number from agents where account = ?').map((row) => [idOf('agent', row.id), Number(row.number)]),
      ),
      webhooks: new Map(
        of('select id, starts_after from webhooks where account = ?').map((row) => [
          idOf('webhook', row.id),
          Number(row.starts_after) % LOG_SPAN,
        ]),
      ),
      policies: new Set(of('select id from policies where account = ?').map(({ id }) => idOf('policy', id))),
      files: new Map(
        of('select * from files where account = ?')
          .map(readFile)
          .map((file) => [file.id, file]),
      ),
    };
  }

  /** The objects of the bucket by their keys, with the files that hold them. */
  objects(): Map<string, string> {
    const blobs = join(this.state, 'v3/r2/countersign-files/blobs');
    const rows = this.bucket('select key, blob_id from _mf_objects');
    return new Map(rows.map(({ key, blob_id }) => [String(key), blob_id ? join(blobs, String(blob_id)) : '']));
  }

  /** The keys of uploads that are not over and hold parts. */
  openUploads(): string[] {
    return this.bucket(
      `select distinct key from _mf_multipart_uploads join _mf_multipart_parts using (upload_id)
       where state = 0`,
    ).map(({ key }) => String(key));
  }

  /** The checkpoints of an account that the bucket keeps: notes by the size of the log. */
  checkpoints(account: string): { size: string; note: Buffer }[] {
    const prefix = `trees/${account}/checkpoints/`;
    return this.objects()
      .entries()
      .filter(([key]) => key.startsWith(prefix))
      .map(([key, file]) => ({ size: key.slice(prefix.length), note: readFileSync(file) }))
      .toArray();
  }

  private bucket(sql: string): Row[] {
    const folder = join(this.state, 'v3/r2/miniflare-R2BucketObject');
    const [name] = readdirSync(folder).filter((name) => /^[0-9a-f]+\.sqlite$/.test(name));
    const database = new DatabaseSync(join(folder, name ?? ''));
    try {
      return database.prepare(sql).all() as Row[];
    } finally {
      database.close();
    }
  }
}

function idOf(prefix: Prefix, bytes: unknown): string {
  return formatId(prefix, bytes as Uint8Array);
}

function readEntry(row: Row): StoredEntry {
  return {
    sequence: Number(row.pos) % LOG_SPAN,
    id: idOf('audit', row.id),
    agent: Number(row.agent),
    permission: idOf('perm', row.permission),
    event: EVENT_TYPES[Number(row.event)] ?? '',
    action: String(row.action),
    createdAt: Number(row.created_at),
    details: JSON.parse(String(row.details)),
  };
}

function readPermission(row: Row): StoredPermission {
  return {
    id: idOf('perm', row.id),
    agent: Number(row.agent),
    resource: String(row.resource),
    status: PERMISSION_STATUSES[Number(row.status)] ?? '',
    tokenStatus: row.token_status === null ? null : (TOKEN_STATUSES[Number(row.token_status)] ?? ''),
    tokenUses: Number(row.token_uses),
    tokenMaxUses: Number(row.token_max_uses),
    tokenExpiresAt: Number(row.token_expires_at),
    lastEntry: idOf('audit', row.last_entry),
    createdAt: Number(row.created_at),
    decidedAt: Number(row.decided_at),
    expiresAt: Number(row.expires_at),
  };
}

function readFile(row: Row): StoredFile {
  const kind = FILE_KINDS[Number(row.kind)] ?? 'export';
  return {
    id: idOf(kind, row.id),
    account: Number(row.account),
    status: FILE_STATUSES[Number(row.status)] ?? '',
    error: row.error as string | null,
    snapshot: Number(row.snapshot),
    isHeld: row.lease !== null && row.due_at !== null,
  };
}

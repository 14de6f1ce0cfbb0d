import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { formatId, makeSequencedId, type Prefix } from '../../src/lib/typeid.ts';
import { databaseFiles } from '../support/local/service.ts';

const LOG_SPAN = 2 ** 32;

// Names by their stored codes.
/** The event types by the codes of stored events: requests and tokens expire under two codes. */
const EVENT_TYPES = ['request', 'approve', 'deny', 'use', 'expire', 'revoke', 'expire'];
const PERMISSION_STATUSES = ['pending', 'approved', 'denied', 'expired'];
const TOKEN_STATUSES = ['active', 'used', 'expired', 'revoked'];
const OUTCOME_STATES = ['promised', 'awaited', 'unknown', 'succeeded', 'failed'];
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
  /** What became of the outcome; null if none was promised. */
  outcome: string | null;
  /** The connection that asked for it; null without one. */
  connection: string | null;
  requestEntry: number | null;
  lastEntry: number;
  createdAt: number;
  decidedAt: number;
  expiresAt: number;
}

/** What limits a policy, and what it has approved. */
export interface StoredPolicy {
  hasBudget: boolean;
  requests: number;
  millionths: number;
  /** Infinity if it does not expire. */
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

/** An account as it is stored. */
export interface StoredAccount {
  /** Queries the shard of the account. */
  rows: <R = Row>(sql: string, ...parameters: (string | number)[]) => R[];
  number: number;
  id: string;
  entries: StoredEntry[];
  /** Ranges of erased sequences, and the reason. */
  erased: { reason: string; ranges: [first: number, last: number][] }[];
  erasedSequence: number;
  treeSize: number;
  publishedSize: number;
  permissions: StoredPermission[];
  /** The numbers of the agents, by id. */
  agents: Map<string, number>;
  /** By webhook id, the sequence after which its events start, and whether it is enabled. */
  webhooks: Map<string, { startsAfter: number; isActive: boolean }>;
  policies: Map<string, StoredPolicy>;
  files: Map<string, StoredFile>;
  series: { permission: string; used: number; requests: number }[];
}

type Row = Record<string, string | number | null | Uint8Array>;

/** Reads the databases and the bucket of a stopped service. */
export class Stored {
  private readonly state: string;
  private readonly shards: DatabaseSync[];

  constructor(state: string) {
    this.state = state;
    this.shards = databaseFiles(state).map((file) => new DatabaseSync(file));
  }

  close(): void {
    for (const shard of this.shards) shard.close();
  }

  /** The rows of all shards together. */
  all<R = Row>(sql: string, ...parameters: (string | number)[]): R[] {
    return this.shards.flatMap((shard) => shard.prepare(sql).all(...parameters) as R[]);
  }

  /** The sum of a count over all shards. */
  count(sql: string, ...parameters: (string | number)[]): number {
    return this.all(sql, ...parameters).reduce(
      (sum, row) => sum + Number(Object.values(row)[0]),
      0,
    );
  }

  /** The stops and resumes of an account on all shards, in their order. */
  stops(id: string): { isStopped: boolean; sequence: number }[] {
    return this.all('select account, is_stopped, sequence, at from _stops')
      .filter(({ account }) => idOf('user', account) === id)
      .sort((a, b) => Number(a.sequence) - Number(b.sequence) || Number(a.at) - Number(b.at))
      .map(({ is_stopped, sequence }) => ({
        isStopped: is_stopped === 1,
        sequence: Number(sequence),
      }));
  }

  /** The ids of all accounts; an account that is on two shards comes twice. */
  accounts(): string[] {
    return this.all('select id from accounts').map(({ id }) => idOf('user', id));
  }

  /** The accounts in the directory of single sign-on. */
  identities(): string[] {
    return this.all('select account from identities').map(({ account }) => idOf('user', account));
  }

  /** How many rows of a table refer to something that is on no shard. */
  strangers(table: string, column: string, owners: string[]): number {
    const known = owners.flatMap((owner) =>
      this.all(`select hex(id) as id from ${owner}`).map(({ id }) => id),
    );
    return this.all(`select hex(${column}) as id from ${table}`).filter(
      ({ id }) => !known.includes(id ?? null),
    ).length;
  }

  account(id: string): StoredAccount {
    const [found, ...others] = this.shards.flatMap((shard) => {
      const rows = shard.prepare('select number, id, erased_sequence from accounts').all() as Row[];
      return rows.filter((row) => idOf('user', row.id) === id).map((row) => ({ row, shard }));
    });
    if (!found || others.length > 0)
      throw new Error(`${id} is ${found ? 'on two shards' : 'gone'}`);
    const { row, shard } = found;
    const number = Number(row.number);
    const rows = <R = Row>(sql: string, ...parameters: (string | number)[]) =>
      shard.prepare(sql).all(...parameters) as R[];
    const of = (sql: string) => rows(sql, number);
    const [tree] = of('select size, published_size from trees where account = ?');
    return {
      rows,
      number,
      id,
      entries: rows(
        `select pos, agent, permission, event, action, created_at, details, random from audit_entries
         where pos > ? and pos < ? order by pos`,
        number * LOG_SPAN,
        (number + 1) * LOG_SPAN,
      ).map(readEntry),
      erased: of('select reason, ranges from erased_entries where account = ?').map(
        ({ reason, ranges }) => ({
          reason: ERASURE_REASONS[Number(reason)] ?? '',
          ranges: JSON.parse(String(ranges)),
        }),
      ),
      erasedSequence: Number(row.erased_sequence),
      treeSize: Number(tree?.size ?? 0),
      publishedSize: Number(tree?.published_size ?? 0),
      permissions: of('select * from permissions where account = ?').map(readPermission),
      agents: new Map(
        of('select id, number from agents where account = ?').map((row) => [
          idOf('agent', row.id),
          Number(row.number),
        ]),
      ),
      webhooks: new Map(
        of('select id, starts_after, is_active from receivers where account = ?').map((row) => [
          idOf('webhook', row.id),
          { startsAfter: Number(row.starts_after) % LOG_SPAN, isActive: row.is_active === 1 },
        ]),
      ),
      policies: new Map(
        of('select * from policies where account = ?').map((row) => [
          idOf('policy', row.id),
          readPolicy(row),
        ]),
      ),
      files: new Map(
        of('select * from files where account = ?')
          .map(readFile)
          .map((file) => [file.id, file]),
      ),
      series: of('select permission, used, requests from series where account = ?').map((row) => ({
        permission: idOf('perm', row.permission),
        used: Number(row.used),
        requests: Number(row.requests),
      })),
    };
  }

  /** The objects of the bucket: the path of the file that stores each, by key. */
  objects(): Map<string, string> {
    const blobs = join(this.state, 'v3/r2/countersign-files/blobs');
    const rows = this.bucket('select key, blob_id from _mf_objects');
    return new Map(
      rows.map(({ key, blob_id }) => [String(key), blob_id ? join(blobs, String(blob_id)) : '']),
    );
  }

  /** The keys of open uploads that have parts. */
  openUploads(): string[] {
    return this.bucket(
      `select distinct key from _mf_multipart_uploads join _mf_multipart_parts using (upload_id)
       where state = 0`,
    ).map(({ key }) => String(key));
  }

  /** The checkpoints of an account in the bucket, each with its tree size. */
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
  const sequence = Number(row.pos) % LOG_SPAN;
  const createdAt = Number(row.created_at);
  return {
    sequence,
    id: makeSequencedId('audit', createdAt, sequence, (row.random as Uint8Array).subarray(16)),
    agent: Number(row.agent),
    permission: idOf('perm', row.permission),
    event: EVENT_TYPES[Number(row.event)] ?? '',
    action: String(row.action),
    createdAt,
    details: readDetails(row),
  };
}

/** The details of an entry, in which white space stands for members that most entries have. */
function readDetails({ action, permission, details }: Row): StoredEntry['details'] {
  const members: Record<string, string> = {
    '\n\n': ',"decided_by":null',
    '\n\t': ',"decision_reason":null',
    '\n\r': ',"policy_id":null',
    '\t\n': ',"input_digest":null',
    '\t\t': ',"preview_digest":null',
    '\t\r': `,"token_id":"${idOf('token', permission)}"`,
  };
  const text = String(details).replace(/[\n\t\r]{2}/g, (short) => members[short] ?? short);
  return { action, ...JSON.parse(text) };
}

function readPermission(row: Row): StoredPermission {
  return {
    id: idOf('perm', row.id),
    agent: Number(row.agent),
    resource: String(row.resource),
    status: PERMISSION_STATUSES[Number(row.status)] ?? '',
    tokenStatus:
      row.token_status === null ? null : (TOKEN_STATUSES[Number(row.token_status)] ?? ''),
    tokenUses: Number(row.token_uses),
    tokenMaxUses: Number(row.token_max_uses),
    tokenExpiresAt: Number(row.token_expires_at),
    outcome: row.outcome_state === null ? null : (OUTCOME_STATES[Number(row.outcome_state)] ?? ''),
    connection: row.connection_id === null ? null : idOf('conn', row.connection_id),
    requestEntry: row.request_entry === null ? null : Number(row.request_entry),
    lastEntry: Number(row.last_entry),
    createdAt: Number(row.created_at),
    decidedAt: Number(row.decided_at),
    expiresAt: Number(row.expires_at),
  };
}

function readPolicy(row: Row): StoredPolicy {
  return {
    hasBudget: row.budget !== null,
    requests: Number(row.usage_requests),
    millionths: Number(row.usage_sum_millionths),
    expiresAt: row.expires_at === null ? Infinity : Number(row.expires_at),
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

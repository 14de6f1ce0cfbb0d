import { AsyncLocalStorage } from 'node:async_hooks';
import { createApp } from '../../src/app';
import { sealAccount } from '../../src/audit/tree/seal';
import { openSigner } from '../../src/audit/tree/signer';
import { tileFolder } from '../../src/audit/tree/storage';
import { consumeFileQueue } from '../../src/background/file-queue';
import { runCron } from '../../src/background/run-cron';
import { pages } from '../../src/console/pages';
import { Cost } from '../../src/db/database';
import { openShard } from '../../src/db/shards';
import { type Env, type FileMessage, systemRuntime } from '../../src/env';
import { SERVICE_AUTHORITY } from '../../src/ledger/authority';
import { Ledger } from '../../src/ledger/ledger';
import { TILE_WIDTH } from '../../src/lib/tiles';
import type { Id } from '../../src/lib/typeid';
import { expireOverdue } from '../../src/permissions/expire';
import { type EvaluatedRequest, evaluatePolicies } from '../../src/policies/evaluate';
import type { Policy, PolicyRow } from '../../src/policies/policy';
import type { StatementCost } from '../support/local/client.ts';

const app = createApp(systemRuntime);

/** The statements of a request. */
const recorded = new AsyncLocalStorage<StatementCost[]>();

/** One environment for all requests, as in production: the service remembers callers by it. */
let metered: Env | undefined;

/** The statements of queue jobs so far. */
const jobs: StatementCost[] = [];

/** The trips to the database and the rows written so far, also those after an answer. */
const totals = { trips: 0, written: 0 };

/**
 * The service with a meter on its database. The header `X-Statements` has the cost of each
 * statement of a request.
 *
 * - `POST /bench/expire` runs one slice of the sweep that expires requests and tokens.
 * - `POST /bench/evaluate` evaluates policies, as the API shows them, many times.
 * - `GET /bench/jobs` returns how many rows the queue's jobs have read.
 * - `GET /bench/totals` returns the trips to the database and the rows written so far.
 * - `POST /bench/seal` seals a log.
 * - `GET /bench/routes` lists the routes of the router and the pages of the console.
 * - `POST /bench/sql` runs an SQL statement, and returns its rows.
 * - `POST /bench/read`, `/bench/tiles` and `/bench/store` do only what D1 and R2 do for an export
 *   and its proof.
 */
export default {
  async fetch(request, env, execution) {
    const statements: StatementCost[] = [];
    metered ??= { ...env, DB: meter(env.DB, () => recorded.getStore() ?? []) };
    const own = metered;
    const bench = ROUTES[new URL(request.url).pathname];
    const answer = await recorded.run(statements, async () =>
      bench ? bench(own, request, env) : app.fetch(request, own, execution),
    );
    const response = new Response(answer.body, answer);
    response.headers.set('X-Statements', JSON.stringify(statements));
    if (bench && !response.headers.has('Server-Timing'))
      response.headers.set('Server-Timing', new Cost().toString());
    return response;
  },
  queue: (batch, env) =>
    consumeFileQueue(batch, { ...env, DB: meter(env.DB, () => jobs) }, systemRuntime),
  scheduled: ({ cron }, env) => runCron(cron, env, systemRuntime),
} satisfies ExportedHandler<Env, FileMessage>;

const ROUTES: Record<string, (metered: Env, request: Request, env: Env) => Promise<Response>> = {
  '/bench/expire': expire,
  '/bench/evaluate': judge,
  '/bench/jobs': countJobs,
  '/bench/totals': async () => Response.json(totals),
  '/bench/seal': seal,
  '/bench/routes': listRoutes,
  '/bench/sql': runSql,
  '/bench/read': read,
  '/bench/tiles': readTiles,
  '/bench/store': store,
};

/** Seals an account's whole log; returns the size of its tree. */
async function seal(_metered: Env, request: Request, env: Env): Promise<Response> {
  const { account } = (await request.json()) as { account: number };
  const database = openShard(env, '00', new Cost());
  if (!database || !env.FILES) throw new Error('no database or no bucket');
  await env.DB.prepare('insert or ignore into trees (account) values (?)').bind(account).run();
  const trees = {
    reader: database,
    ledger: new Ledger(database, SERVICE_AUTHORITY),
    bucket: env.FILES,
  };
  const sealing = { ...trees, signer: await openSigner(env) };
  while (await sealAccount(sealing, account, systemRuntime.now()));
  const size = await env.DB.prepare('select size from trees where account = ?')
    .bind(account)
    .first<number>('size');
  return Response.json({ size });
}

/** Reads every entry of an account from D1 and discards it. */
async function read(_metered: Env, request: Request, env: Env): Promise<Response> {
  const { account, batch } = (await request.json()) as {
    account: number;
    batch: number;
  };
  const end = (account + 1) * 2 ** 32;
  let rows = 0;
  for (let pos = account * 2 ** 32; ; ) {
    const [found] = await env.DB.batch<{ pos: number }>([
      env.DB.prepare(
        `select pos, json_array(agent, event, created_at, hex(permission) || hex(random), action, ip_address, user_agent,
           details) as row
         from audit_entries not indexed where pos > ? and pos < ? order by pos limit ?`,
      ).bind(pos, end, batch),
    ]);
    const last = found?.results.at(-1);
    if (!found || !last) return Response.json({ rows });
    rows += found.results.length;
    pos = last.pos;
  }
}

/**
 * Reads the full leaf tiles of an account's tree, which have the hashes for the proof of an export
 * of the whole log.
 */
async function readTiles(_metered: Env, request: Request, env: Env): Promise<Response> {
  const { id, entries, batch } = (await request.json()) as {
    id: string;
    entries: number;
    batch: number;
  };
  const count = Math.floor(entries / TILE_WIDTH);
  const read = async (index: number) => {
    const object = await env.FILES?.get(`${tileFolder(id as Id<'user'>)}0/${index}`);
    if (!object) throw new Error(`no tile ${index}`);
    await object.arrayBuffer();
  };
  for (let first = 0; first < count; first += batch) {
    await Promise.all(
      Array.from({ length: Math.min(batch, count - first) }, (_, i) => read(first + i)),
    );
  }
  return Response.json({ tiles: count });
}

/** Stores an object of the requested size in R2, in parts, and deletes it again. */
async function store(env: Env, request: Request): Promise<Response> {
  const { bytes, part } = (await request.json()) as { bytes: number; part: number };
  if (!env.FILES) throw new Error('no bucket');
  const upload = await env.FILES.createMultipartUpload('bench');
  const parts: R2UploadedPart[] = [];
  for (let left = bytes; left > 0; left -= part) {
    parts.push(await upload.uploadPart(parts.length + 1, new Uint8Array(Math.min(part, left))));
  }
  await upload.complete(parts);
  await env.FILES.delete('bench');
  return Response.json({ bytes });
}

async function listRoutes(): Promise<Response> {
  const routes = [...app.routes, ...pages.routes].filter(({ method }) => method !== 'ALL');
  return Response.json([...new Set(routes.map(({ method, path }) => `${method} ${path}`))]);
}

async function runSql(_metered: Env, request: Request, env: Env): Promise<Response> {
  return Response.json((await env.DB.prepare(await request.text()).all()).results);
}

async function countJobs(): Promise<Response> {
  return Response.json({ read: jobs.reduce((sum, { read }) => sum + read, 0) });
}

async function judge(_env: Env, request: Request): Promise<Response> {
  const { policies, asked, evaluations } = (await request.json()) as {
    policies: Policy[];
    asked: Pick<EvaluatedRequest, 'action' | 'resource' | 'scope'>;
    evaluations: number;
  };
  const rows = policies.map(
    (policy) =>
      ({ ...policy, isActive: true, agentIds: null, expiresAt: null }) as unknown as PolicyRow,
  );
  const evaluated = { ...asked, agentId: null, maxUses: 1 };
  for (let at = 0; at < evaluations; at++) evaluatePolicies(rows, evaluated, Date.now());
  return Response.json({ evaluations });
}

async function expire(env: Env): Promise<Response> {
  const cost = new Cost();
  const database = openShard(env, '00', cost);
  if (!database) throw new Error('no database');
  const more = await expireOverdue({
    reader: database,
    ledger: new Ledger(database, SERVICE_AUTHORITY),
    runtime: systemRuntime,
  });
  return Response.json({ more }, { headers: { 'Server-Timing': cost.toString() } });
}

/** A database that records the cost of every statement of its batches in a list. */
function meter(database: D1Database, list: () => StatementCost[]): D1Database {
  const texts = new WeakMap<D1PreparedStatement, string>();
  return {
    prepare: (sql: string) => ({
      bind: (...values: unknown[]) => {
        const bound = database.prepare(sql).bind(...values);
        texts.set(bound, sql);
        return bound;
      },
    }),
    batch: async <T>(batch: D1PreparedStatement[]) => {
      totals.trips += 1;
      const statements = list();
      const results = await database.batch<T>(batch);
      for (const [at, { meta }] of results.entries()) {
        const sql = texts.get(batch[at] as D1PreparedStatement) ?? '';
        const { rows_read: read, rows_written: written, changes } = meta;
        totals.written += written;
        statements.push({ sql: sql.trim().slice(0, 40), read, written, changes });
      }
      return results;
    },
  } as D1Database;
}

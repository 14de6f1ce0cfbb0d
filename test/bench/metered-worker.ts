import { createApp } from '../../src/app';
import { Cost } from '../../src/db/database';
import { openShard } from '../../src/db/shards';
import { type Env, systemRuntime } from '../../src/env';
import { Ledger } from '../../src/ledger/ledger';
import { expireSlice } from '../../src/permissions/expiry';
import { type Asked, evaluate } from '../../src/permissions/policies/evaluation';
import type { Policy, PolicyRow } from '../../src/permissions/policies/policy';
import type { StatementCost } from './client.ts';

const app = createApp(systemRuntime);

/**
 * The service with a meter between it and its database, which tells what each single statement of a request cost in
 * the header `X-Statements`. `POST /bench/expire` runs one slice of the sweep that writes down what has run out;
 * `POST /bench/evaluate` judges policies, as the API shows them, again and again.
 */
export default {
  async fetch(request, env, execution) {
    const statements: StatementCost[] = [];
    const metered = { ...env, DB: meter(env.DB, statements) };
    const bench = ROUTES[new URL(request.url).pathname];
    const answer = bench ? await bench(metered, request) : await app.fetch(request, metered, execution);
    const response = new Response(answer.body, answer);
    response.headers.set('X-Statements', JSON.stringify(statements));
    return response;
  },
} satisfies ExportedHandler<Env>;

const ROUTES: Record<string, (env: Env, request: Request) => Promise<Response>> = {
  '/bench/expire': expire,
  '/bench/evaluate': judge,
};

async function judge(_env: Env, request: Request): Promise<Response> {
  const { policies, asked, evaluations } = (await request.json()) as {
    policies: Policy[];
    asked: Omit<Asked, 'agentId'>;
    evaluations: number;
  };
  const rows = policies.map((policy) => ({ ...policy, isActive: true, agentIds: null }) as unknown as PolicyRow);
  for (let at = 0; at < evaluations; at++) evaluate(rows, { ...asked, agentId: null });
  return Response.json({ evaluations }, { headers: { 'Server-Timing': new Cost().toString() } });
}

async function expire(env: Env): Promise<Response> {
  const cost = new Cost();
  const database = openShard(env, '00', cost);
  if (!database) throw new Error('no database');
  const more = await expireSlice({ reader: database, ledger: new Ledger(database), runtime: systemRuntime });
  return Response.json({ more }, { headers: { 'Server-Timing': cost.toString() } });
}

/** A database that notes the cost of every statement of its batches. */
function meter(database: D1Database, statements: StatementCost[]): D1Database {
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
      const results = await database.batch<T>(batch);
      for (const [at, { meta }] of results.entries()) {
        const sql = texts.get(batch[at] as D1PreparedStatement) ?? '';
        const { rows_read: read, rows_written: written, changes } = meta;
        statements.push({ sql: sql.trim().slice(0, 40), read, written, changes });
      }
      return results;
    },
  } as D1Database;
}

import { createMiddleware } from 'hono/factory';
import { type Cost, type Database, loadNonNull, type Query, type Reader } from '../db/database';
import { listShards, openShard } from '../db/shards';
import type { Env } from '../env';
import { Problem } from '../errors';
import { SERVICE_AUTHORITY } from '../ledger/authority';
import { Ledger } from '../ledger/ledger';
import { findStoredAnswer } from '../ledger/stored-answer';
import { ACCESS_PROBLEMS } from './access';
import { authenticate, bearerCredential, isOperatorToken, isWellFormed } from './authentication';
import type { AppEnv, OperatorContext, RequestContext, Shard } from './context';
import { beginIdempotentRequest, idempotencyKey } from './idempotency';
import { withDescription } from './operation';
import { limitCredential } from './rate-limit';

/** Makes a query that runs on every shard, because the operator has no account; null if nothing is needed. */
export type OperatorPreload<Q extends Query> = (c: RequestContext, reader: Reader) => { query: Q } | null;

type Access<Q extends Query> = {
  Bindings: AppEnv['Bindings'];
  Variables: AppEnv['Variables'] & {
    operator: OperatorContext;
    /** The rows of the preload query from each shard; undefined if it made none. */
    loaded: { shard: Shard; loaded: Q['_']['result'] | undefined }[];
  };
};

const OPERATOR = new TextEncoder().encode('operator');

/** Admits the operator token. */
export function operatorAccess<Q extends Query>(preload?: OperatorPreload<Q>) {
  const middleware = createMiddleware<Access<Q>>(async (c, next) => {
    const { config, runtime, cost, origin } = c.var;
    const credential = await bearerCredential(c);
    await requireOperator(c, credential);
    c.set('caller', { credential: 'operator_token' });
    const opened = openShards(c.env, cost);
    const key = await idempotencyKey(c);
    const answerKey = key && { principal: OPERATOR, key, account: null };
    const load = (preload?: OperatorPreload<Q>) =>
      Promise.all(
        opened.map(({ database }) => {
          const stored = answerKey && findStoredAnswer(database, answerKey, runtime.now());
          return loadNonNull(database, [stored, preload?.(c, database)?.query ?? null]);
        }),
      );
    const storedIn = (found: Awaited<ReturnType<typeof load>>) => found.flatMap(([rows]) => rows ?? [])[0];
    const found = await load(preload);
    const answers = await beginIdempotentRequest(c, answerKey, storedIn(found), async () => storedIn(await load()));
    if (answers instanceof Response) return answers;
    const shards = opened.map(({ name, database }) =>
      makeShard(name, database, new Ledger(database, SERVICE_AUTHORITY, answers)),
    );
    c.set('operator', { config, runtime, origin, key, shards: shards as unknown as OperatorContext['shards'] });
    c.set(
      'loaded',
      shards.map((shard, i) => ({ shard, loaded: found[i]?.[1] })),
    );
    return next();
  });
  return withDescription(middleware, { callers: [{ credential: 'operatorToken' }], problems: ACCESS_PROBLEMS });
}

async function requireOperator(c: RequestContext, credential: string): Promise<void> {
  const isOperator = await isOperatorToken(c, credential);
  if (isOperator || isWellFormed(c, credential)) await limitCredential(c, credential);
  if (isOperator) return;
  await authenticate(c, credential);
  throw new Problem('wrong_credential', 'This endpoint requires the operator token.');
}

function openShards(env: Env, cost: Cost): { name: string; database: Database }[] {
  return listShards(env).map((name) => {
    const database = openShard(env, name, cost);
    if (!database) throw new Error(`shard ${name} is listed but not bound`);
    return { name, database };
  });
}

function makeShard(name: string, database: Database, ledger: Ledger): Shard {
  return { name, reader: database, ledger, size: () => database.size() };
}

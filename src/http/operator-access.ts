import { createMiddleware } from 'hono/factory';
import { loadNonNull, type Reader } from '../db/database';
import { listShards, openShard } from '../db/shards';
import type { Query } from '../db/statements';
import { Problem } from '../errors';
import {
  authenticate,
  bearerCredential,
  isOperatorToken,
  isWellFormed,
} from '../identity/authentication';
import { SERVICE_AUTHORITY } from '../ledger/authority';
import { Ledger } from '../ledger/ledger';
import { findStoredAnswer } from '../ledger/stored-answer';
import { ACCESS_PROBLEMS } from './access';
import type { AppEnv, OperatorContext, RequestContext, Shard } from './context';
import { idempotencyKey, replayAnswer, requestAnswers } from './idempotency';
import { withDescription } from './operation';
import { limitCredential } from './rate-limit';

/**
 * Makes a query that runs on every shard, because the operator has no account; null if nothing is
 * needed.
 */
export type OperatorPreload<Q extends Query> = (
  c: RequestContext,
  reader: Reader,
) => { query: Q } | null;

type Access<Q extends Query> = {
  Bindings: AppEnv['Bindings'];
  Variables: AppEnv['Variables'] & {
    operator: OperatorContext;
    /** Each shard with the rows that the preload query found there; undefined if there was none. */
    loaded: { shard: Shard; loaded: Q['_']['result'] | undefined }[];
  };
};

const OPERATOR = new TextEncoder().encode('operator');

/** Admits the operator token, and sets `c.var.operator`. */
export function operatorAccess<Q extends Query>(preload?: OperatorPreload<Q>) {
  const middleware = createMiddleware<Access<Q>>(async (c, next) => {
    const { config, runtime, cost, origin } = c.var;
    const credential = await bearerCredential(c);
    await requireOperator(c, credential);
    c.set('caller', { credential: 'operator_token' });
    const opened = listShards(c.env).map((name) => {
      const database = openShard(c.env, name, cost);
      if (!database) throw new Error(`shard ${name} is listed but not bound`);
      return { name, database };
    });
    const key = await idempotencyKey(c);
    const answerKey = key && { principal: OPERATOR, key, account: null, scopes: null };
    const load = (preload?: OperatorPreload<Q>) =>
      Promise.all(
        opened.map(({ database }) => {
          const stored = answerKey && findStoredAnswer(database, answerKey, runtime.now());
          return loadNonNull(database, [stored, preload?.(c, database)?.query ?? null]);
        }),
      );
    const storedIn = (found: Awaited<ReturnType<typeof load>>) =>
      found.flatMap(([rows]) => rows ?? [])[0];
    const found = await load(preload);
    const answers = answerKey && requestAnswers(c, answerKey);
    const findConcurrentAnswer = async () => storedIn(await load());
    const replayed = await replayAnswer(c, answers, storedIn(found), findConcurrentAnswer);
    if (replayed) return replayed;
    const shards = opened.map(({ name, database }): Shard => {
      const ledger = new Ledger(database, SERVICE_AUTHORITY, answers);
      return { name, reader: database, ledger, size: () => database.size() };
    });
    const [firstShard, ...otherShards] = shards;
    if (!firstShard) throw new Error('no shard is listed');
    c.set('operator', {
      config,
      runtime,
      origin,
      key,
      shards: [firstShard, ...otherShards],
    });
    c.set(
      'loaded',
      shards.map((shard, i) => ({ shard, loaded: found[i]?.[1] })),
    );
    return next();
  });
  return withDescription(middleware, {
    callers: [{ credential: 'operatorToken' }],
    problems: ACCESS_PROBLEMS,
  });
}

async function requireOperator(c: RequestContext, credential: string): Promise<void> {
  const isOperator = await isOperatorToken(c, credential);
  if (isOperator || isWellFormed(c, credential)) await limitCredential(c, credential);
  if (isOperator) return;
  await authenticate(c, credential);
  throw new Problem('wrong_credential', 'This endpoint requires the operator token.');
}

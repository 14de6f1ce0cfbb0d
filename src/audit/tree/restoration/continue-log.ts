import { eq } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import type { Reader } from '../../../db/database';
import { accounts, trees } from '../../../db/schema';
import { invalidRequest, notFound, Problem, unavailable } from '../../../errors';
import type { OperatorContext, RequestContext, Shard } from '../../../http/context';
import { EXAMPLE } from '../../../http/examples';
import { dateTime } from '../../../http/fields';
import { body, noQuery } from '../../../http/input';
import { answer, ok, operation } from '../../../http/operation';
import { operatorAccess } from '../../../http/operator-access';
import { countField } from '../../../http/response-fields';
import { hasRow } from '../../../ledger/guard';
import { holdGuard } from '../../../ledger/hold';
import { type LazyOutput, lazy } from '../../../lib/lazy';
import { log } from '../../../lib/log';
import { formatTime, MINUTE } from '../../../lib/time';
import { parseId } from '../../../lib/typeid';
import { treeColumns } from '../open-tree';
import { LogSigner } from '../signer';
import { LogInconsistent } from '../storage';
import { readTrustedHead } from '../trust';
import { endOfHold, HOLD_DURATION } from './hold';
import {
  findStaleObjects,
  type StaleObject,
  type StaleObjects,
  sealingTime,
  setAsideObjects,
} from './stale-objects';

/**
 * Maximum objects that one request moves: each takes two of the 1,000 calls to R2 that a Worker may
 * make.
 */
const MOVE_LIMIT = 300;
/**
 * Milliseconds in which one request may delete objects: shorter than its hold, during which nobody
 * seals the log.
 */
const DELETION_TIMEOUT = HOLD_DURATION / 2;
/**
 * Maximum milliseconds from the writing of a head or tile to R2 to the update of the tree's row.
 */
const ROW_DELAY = MINUTE;

/** The body of the request: which database was restored, and to which time. */
const LogRestoration = lazy(() =>
  z
    .strictObject({
      shard: z
        .string()
        .regex(/^[0-9A-Za-z]{2}$/, 'must be the two characters of a shard, `00` for the first')
        .meta({
          description:
            'The shard whose database was restored. Logs on other shards are left as they are.',
        }),
      restored_to: dateTime.meta({
        description: 'The time to which the database was restored. Not in the future.',
      }),
    })
    .meta({
      id: 'LogRestoration',
      examples: [{ shard: '00', restored_to: EXAMPLE.time }],
    }),
);

/** The result of one request to continue a restored log. */
const LogContinuation = lazy(() =>
  z
    .object({
      set_aside: countField.meta({ description: 'How many tiles and signed heads were moved.' }),
      has_more: z
        .boolean()
        .meta({ description: 'Whether more remain: if so, send the request again.' }),
    })
    .meta({ id: 'LogContinuation', examples: [{ set_aside: 2, has_more: false }] }),
);

type LogContinuation = LazyOutput<typeof LogContinuation>;

const NOTHING: LogContinuation = { set_aside: 0, has_more: false };

/**
 * Preloads the tree that belongs to the account in the path, from every shard. A tree without
 * a row is empty.
 */
function preloadTree(c: RequestContext, reader: Reader) {
  const id = parseId('user', c.req.param('id') ?? '');
  return (
    id && {
      query: reader
        .select({ ...treeColumns, id: accounts.id, number: accounts.number })
        .from(accounts)
        .leftJoin(trees, eq(trees.account, accounts.number))
        .where(eq(accounts.id, id)),
    }
  );
}

type TreeRow = Awaited<NonNullable<ReturnType<typeof preloadTree>>['query']>[number];

interface LocatedTree {
  shard: Shard;
  row: TreeRow;
}

/** @throws Problem `not_found` */
function requireLocatedTree(
  loaded: { shard: Shard; loaded: TreeRow[] | undefined }[],
): LocatedTree {
  for (const { shard, loaded: [row] = [] } of loaded) if (row) return { shard, row };
  throw notFound('account');
}

/**
 * Moves away up to 300 tiles and heads in R2 that belong to a longer log than the restored database
 * has, so that the log can be signed again. Tiles are moved before heads: the log stays
 * inconsistent until the last of these heads is moved.
 * @returns zero objects if R2 has none of a longer log, or the log is on another shard than the
 *   restored one
 * @throws Problem `invalid_request` for a time in the future; `conflict` if a restoration to that
 *   time does not explain the objects in R2, or the head in the database was never signed;
 *   `unavailable` if the log is sealed or its account deleted meanwhile
 */
async function setAsideStaleObjects(
  { config, runtime }: OperatorContext,
  { shard, row }: LocatedTree,
  { shard: restored, restored_to: restoredTo }: LazyOutput<typeof LogRestoration>,
): Promise<LogContinuation> {
  const { files: bucket, keyring, publicUrl } = config;
  if (restoredTo > runtime.now()) {
    throw invalidRequest([{ path: 'body.restored_to', message: 'must not be in the future' }]);
  }
  if (shard.name !== restored) return NOTHING;
  const stale = await findStaleObjects(bucket, row.id, row.size);
  const { tiles, heads } = stale;
  if (tiles.length + heads.length === 0) return NOTHING;
  const signer = await LogSigner.open(keyring, publicUrl);
  await readTrustedHead({ bucket, signer }, row.id, row, runtime.now()).catch((error: unknown) => {
    if (!(error instanceof LogInconsistent)) throw error;
    throw new Problem(
      'conflict',
      `The head of the log in the database was never signed: ${error.message}.`,
    );
  });
  await requireNewer(bucket, row, stale, restoredTo);
  const began = runtime.now();
  await hold(shard, row, began);
  // After the hold the log may be sealed again, and a later deletion could delete the new objects.
  const mayDelete = () => runtime.now() < began + DELETION_TIMEOUT;
  const move = (some: readonly StaleObject[]) =>
    setAsideObjects(bucket, row.id, some, restoredTo, mayDelete);
  const movedTiles = await move(tiles.slice(0, MOVE_LIMIT));
  let movedHeads = 0;
  if (movedTiles === tiles.length) movedHeads = await move(heads.slice(0, MOVE_LIMIT - movedTiles));
  const has_more = movedTiles < tiles.length || movedHeads < heads.length;
  log('tree_set_aside', {
    account: row.id,
    shard: shard.name,
    tiles: movedTiles,
    heads: movedHeads,
    has_more,
  });
  return { set_aside: movedTiles + movedHeads, has_more };
}

/**
 * Checks that the restored database could not know these objects. An object is written at most
 * {@link ROW_DELAY} before the database records it, so the database knew an older one: then
 * somebody who can write to the database may have shortened the log, to get another history signed.
 * @throws Problem `conflict`
 */
async function requireNewer(
  bucket: R2Bucket,
  { id, size }: TreeRow,
  { tiles, heads }: StaleObjects,
  restoredTo: number,
): Promise<void> {
  const times = [...tiles, ...heads].map(({ writtenAt }) => writtenAt);
  const [first] = heads;
  if (first) {
    // It may have been sealed an hour before it was published.
    const time = await sealingTime(bucket, id, first);
    if (time === null) throw unavailable();
    times.push(time);
  }
  const oldest = times.reduce((least, time) => Math.min(least, time), Number.POSITIVE_INFINITY);
  if (oldest >= restoredTo - ROW_DELAY) return;
  throw new Problem(
    'conflict',
    `The database has ${size} sealed entries of this log, and R2 has more of it since ${formatTime(oldest)}. ` +
      'If the database was restored to a time before that, send that time as `restored_to`. Otherwise somebody ' +
      'shortened the log: find out who, before anything of it is signed.',
  );
}

/**
 * Holds the tree: for a while nobody seals the log, and sealers that have begun cannot record what
 * they sealed. Then the tree is due.
 * @throws Problem `unavailable` if the log is sealed further meanwhile, or its account deleted
 */
async function hold(
  { ledger }: Shard,
  { number, size, heldUntil }: TreeRow,
  now: number,
): Promise<void> {
  const until = endOfHold(heldUntil, now);
  const [rows] = await ledger.write({
    guards: [
      holdGuard([number]),
      {
        name: 'account_exists',
        holds: hasRow(accounts, eq(accounts.number, number)),
        otherwise: () => unavailable(),
      },
    ],
    changes: (write) => [
      write
        .insert(trees)
        .values({ account: number, heldUntil: until, dueAt: until })
        .onConflictDoUpdate({
          target: trees.account,
          set: { heldUntil: until, dueAt: until },
          setWhere: eq(trees.size, size),
        })
        .returning({ account: trees.account }),
    ],
  });
  if (rows.length === 0) throw unavailable();
}

export const continueLogRoute = new Hono().put(
  '/v1/admin/users/:id/log/restoration',
  operation({
    id: 'continueRestoredLog',
    tag: 'Operator',
    summary: 'Re-sign a log after its database was restored',
    description:
      'Moves tiles and signed heads of the log that R2 has from after that time, at most 300, to ' +
      '`trees/{id}/set-aside/`, where nothing reads them. Send the request again while `has_more` is true. Two minutes ' +
      'after the last one the log is signed again, from what the database holds. A log is left as it is if R2 has ' +
      'nothing of it that the database does not, or if it is on another shard.',
    success: ok(LogContinuation),
    pathId: 'user',
    problems: ['conflict'],
  }),
  operatorAccess(preloadTree),
  noQuery(),
  body(LogRestoration),
  async (c) =>
    answer(
      c,
      await setAsideStaleObjects(
        c.var.operator,
        requireLocatedTree(c.var.loaded),
        c.req.valid('json'),
      ),
    ),
);

import { eq, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { ConstraintError, type Reader } from '../../db/database';
import { accounts, trees } from '../../db/schema';
import { invalidRequest, notFound, Problem, unavailable } from '../../errors';
import type { OperatorContext, RequestContext, Shard } from '../../http/context';
import { EXAMPLE } from '../../http/examples';
import { dateTime } from '../../http/fields';
import { body, noQuery } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { operatorAccess } from '../../http/operator-access';
import { countField } from '../../http/response-fields';
import { lazy } from '../../lib/lazy';
import { log } from '../../lib/log';
import { formatTime, MINUTE } from '../../lib/time';
import { type Id, parseId } from '../../lib/typeid';
import { endOfHold } from './hold';
import { LogSigner } from './signer';
import { findStaleTiles, type StaleTile, type StaleTiles, sealingTime, setAside } from './stale-tiles';
import { LogRefused } from './storage';
import { treeColumns } from './tree';
import { readTrustedHead } from './trust';

/** Objects that one request sets aside: each takes two of the 1,000 calls of R2 that a Worker may make. */
const MOST = 300;
/** For so long a request goes on, in milliseconds: less than the log is held. */
const WORK = MINUTE;
/** Between the time that a head or a tile bears and the row that knows of it, at most, in milliseconds. */
const DELAY = MINUTE;

export const LogRestoration = lazy(() =>
  z
    .strictObject({
      shard: z
        .string()
        .regex(/^[0-9A-Za-z]{2}$/, 'must be the two characters of a shard, `00` for the first')
        .meta({ description: 'The shard whose database was put back. Logs on other shards are left as they are.' }),
      restored_to: dateTime.meta({ description: 'The moment to which the database was put back. Not in the future.' }),
    })
    .meta({
      id: 'LogRestoration',
      examples: [{ shard: '00', restored_to: EXAMPLE.time }],
    }),
);

/** What a request did for a log that was put back. */
export const LogContinuation = lazy(() =>
  z
    .object({
      set_aside: countField.meta({ description: 'Tiles and signed heads that were moved.' }),
      has_more: z.boolean().meta({ description: 'While true there are more: send the request again.' }),
    })
    .meta({ id: 'LogContinuation', examples: [{ set_aside: 2, has_more: false }] }),
);

export type LogContinuation = z.output<ReturnType<typeof LogContinuation>>;

const NOTHING: LogContinuation = { set_aside: 0, has_more: false };

/** The tree of the account that the path names, on whichever shard it lives; without a row of its own it is empty. */
function treeOfPath(c: RequestContext, reader: Reader) {
  const id = parseId('user', c.req.param('id') ?? '');
  const found = () =>
    reader
      .select({ ...treeColumns, id: accounts.id, number: accounts.number })
      .from(accounts)
      .leftJoin(trees, eq(trees.account, accounts.number))
      .where(eq(accounts.id, id as Id<'user'>));
  return id && { query: found() };
}

type TreeRow = Awaited<NonNullable<ReturnType<typeof treeOfPath>>['query']>[number];

interface LocatedTree {
  shard: Shard;
  row: TreeRow;
}

/** @throws Problem `not_found` */
function locatedTree(loaded: { shard: Shard; loaded: TreeRow[] | undefined }[]): LocatedTree {
  for (const { shard, loaded: [row] = [] } of loaded) if (row) return { shard, row };
  throw notFound('account');
}

/**
 * Sets aside what R2 keeps of a log from after the moment to which its database was put back, so that the log is signed
 * again: some of it, tiles before heads, so that a log of which a head is left is still refused. What the log as it is
 * now needs stays where it is.
 * @throws Problem `conflict` where R2 shows that the log was not merely put back to that moment; `unavailable` where it
 *   was sealed at the same time
 */
export async function continueLog(
  { config, runtime }: OperatorContext,
  { shard, row }: LocatedTree,
  { shard: restored, restored_to: restoredTo }: z.output<ReturnType<typeof LogRestoration>>,
): Promise<LogContinuation> {
  const { files: bucket, keyring, publicUrl } = config;
  if (restoredTo > runtime.now()) {
    throw invalidRequest([{ path: 'body.restored_to', message: 'must not be in the future' }]);
  }
  if (shard.name !== restored) return NOTHING;
  const leftovers = await findStaleTiles(bucket, row.id, row.size);
  const { tiles, heads } = leftovers;
  if (tiles.length + heads.length === 0) return NOTHING;
  const signer = await LogSigner.open(keyring, publicUrl);
  await readTrustedHead({ bucket, signer }, row.id, row, runtime.now()).catch((error: unknown) => {
    if (!(error instanceof LogRefused)) throw error;
    throw new Problem('conflict', `The head of the log in the database is not one that was signed: ${error.message}.`);
  });
  await refuseOlder(bucket, row, leftovers, restoredTo);
  const began = runtime.now();
  await hold(shard, row, began);
  // What is deleted later could be what was sealed anew.
  const mayGoOn = () => runtime.now() < began + WORK;
  const move = (some: readonly StaleTile[]) => setAside(bucket, row.id, some, restoredTo, mayGoOn);
  const movedTiles = await move(tiles.slice(0, MOST));
  const movedHeads = movedTiles < tiles.length ? 0 : await move(heads.slice(0, MOST - movedTiles));
  const has_more = movedTiles < tiles.length || movedHeads < heads.length;
  log('tree_set_aside', { account: row.id, shard: shard.name, tiles: movedTiles, heads: movedHeads, has_more });
  return { set_aside: movedTiles + movedHeads, has_more };
}

/**
 * Makes sure that the database knew of nothing of this when it was put back: whoever can write to it might have shortened
 * the log, to have another history signed.
 * @throws Problem `conflict`
 */
async function refuseOlder(
  bucket: R2Bucket,
  { id, size }: TreeRow,
  { tiles, heads }: StaleTiles,
  restoredTo: number,
): Promise<void> {
  const times = [...tiles, ...heads].map(({ writtenAt }) => writtenAt);
  const [first] = heads;
  if (first) {
    // It may have been sealed an hour before it was kept.
    const time = await sealingTime(bucket, id, first);
    if (time === null) throw unavailable();
    times.push(time);
  }
  const oldest = times.reduce((least, time) => Math.min(least, time), Number.POSITIVE_INFINITY);
  if (oldest >= restoredTo - DELAY) return;
  throw new Problem(
    'conflict',
    `The database knows ${size} sealed entries of this log, and R2 keeps more of it since ${formatTime(oldest)}. ` +
      'If the database was put back to a moment before that, name that one as `restored_to`. Otherwise somebody ' +
      'shortened the log: find out who, before anything of it is signed.',
  );
}

/**
 * Lets nobody seal the log for a while, nor end what they have begun; it is due after that.
 * @throws Problem `unavailable` where it is sealed further meanwhile, or gone
 */
async function hold({ ledger }: Shard, { number, size, heldUntil }: TreeRow, now: number): Promise<void> {
  const until = endOfHold(heldUntil, now);
  // Null, which the column refuses, where the account is gone.
  const held = sql<number>`(select ${until} from ${accounts} where ${eq(accounts.number, number)})`;
  const holding = ledger.write({
    changes: (write) => [
      write
        .insert(trees)
        .values({ account: number, heldUntil: held, dueAt: until })
        .onConflictDoUpdate({
          target: trees.account,
          set: { heldUntil: until, dueAt: until },
          setWhere: eq(trees.size, size),
        })
        .returning({ account: trees.account }),
    ],
  });
  const [rows] = await holding.catch((error: unknown) => {
    throw error instanceof ConstraintError ? unavailable() : error;
  });
  if (rows.length === 0) throw unavailable();
}

export const continueLogRoute = new Hono().put(
  '/v1/admin/users/:id/log/restoration',
  operation({
    id: 'continueRestoredLog',
    tag: 'Operator',
    summary: 'Have a log signed again whose database was put back to an earlier time',
    description:
      'Sets aside what R2 keeps of the log from after that time: tiles and signed heads, 300 of them at most. They stay ' +
      'under `trees/{id}/set-aside/`, where nothing reads them. Send it again while `has_more` is true; two minutes ' +
      'after the last one the log is signed again, from what the database holds. A log of which R2 keeps nothing more ' +
      'than the database knows is left as it is, and so is one on another shard.',
    success: ok(LogContinuation),
    pathId: 'user',
    problems: ['conflict'],
  }),
  operatorAccess(treeOfPath),
  noQuery(),
  body(LogRestoration),
  async (c) => answer(c, await continueLog(c.var.operator, locatedTree(c.var.loaded), c.req.valid('json'))),
);

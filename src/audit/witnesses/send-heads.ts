import { and, asc, eq, gt, inArray, lte, sql } from 'drizzle-orm';
import { numberList } from '../../db/columns';
import { accounts, trees } from '../../db/schema';
import type { Runtime } from '../../env';
import { AccountHeld } from '../../ledger/hold';
import { logFailure } from '../../lib/log';
import { MINUTE } from '../../lib/time';
import type { Id } from '../../lib/typeid';
import type { Witness } from '../../lib/witness-list';
import type { LaterWork } from '../../task';
import { openTree, type Tree, type TreeRow, treeColumns } from '../tree/open-tree';
import type { SealingContext } from '../tree/seal';
import { headKey, readHead } from '../tree/storage';
import { keepCosignatures, readCosigners } from './cosigned-head';
import { HeadRefused, submitHead } from './submit-head';

/** Logs whose heads one call sends at most. */
const MAX_LOGS = 16;
/** Milliseconds until a head is sent again to witnesses that did not answer. */
const RETRY_DELAY = 10 * MINUTE;

interface SendingContext extends SealingContext {
  runtime: Runtime;
  witnesses: readonly Witness[];
}

type DueTree = TreeRow & { account: number; accountId: Id<'user'>; witnessedSize: number };

/**
 * Finds published heads that the witnesses have not all answered, and returns the work of sending
 * each of them, for later. Each log has at most one head on its way.
 */
export async function sendHeads(context: SendingContext): Promise<LaterWork[]> {
  const now = context.runtime.now();
  const due = await findDueTrees(context, now);
  if (due.length === 0) return [];
  const areChosen = inArray(trees.account, numberList(due.map(({ account }) => account)));
  const witnessDueAt = now + RETRY_DELAY;
  await context.ledger.write({
    changes: (write) => [write.update(trees).set({ witnessDueAt }).where(areChosen)],
  });
  return due.map((tree) => () => sendHead(context, tree));
}

async function findDueTrees({ reader }: SendingContext, now: number): Promise<DueTree[]> {
  const [rows] = await reader.load([
    reader
      .select({
        ...treeColumns,
        account: accounts.number,
        accountId: accounts.id,
        witnessedSize: trees.witnessedSize,
      })
      .from(accounts)
      .innerJoin(trees, eq(trees.account, accounts.number))
      .where(
        and(
          sql`${accounts.number} in (
            select marked.number from accounts as marked indexed by accounts_witnessed
            where marked.is_witnessed)`,
          gt(trees.publishedSize, trees.witnessedSize),
          lte(trees.witnessDueAt, now),
        ),
      )
      .orderBy(asc(trees.witnessDueAt))
      .limit(MAX_LOGS),
  ]);
  return rows;
}

/**
 * Sends the published head of a log to every witness that has not cosigned it, and keeps the
 * cosignatures.
 */
async function sendHead(context: SendingContext, row: DueTree): Promise<void> {
  const { runtime, bucket, witnesses } = context;
  const { account, accountId, publishedSize: size, witnessedSize } = row;
  try {
    const [tree, head, kept] = await Promise.all([
      openTree(context, { number: account, id: accountId }, row, runtime.now()),
      readHead(bucket, accountId, headKey(accountId, size)),
      readCosigners(bucket, accountId, size),
    ]);
    if (!head) throw new Error(`the published head of ${size} leaves is gone`);
    const asked = witnesses.filter(({ name }) => !kept.has(name));
    const submitted = { head, read: tree.read };
    const answers = await Promise.all(
      asked.map((witness) => submit(context, accountId, witness, submitted, witnessedSize)),
    );
    const lines = answers.flatMap((answer) => (answer.kind === 'cosigned' ? [answer.line] : []));
    if (lines.length > 0) await keepCosignatures(bucket, accountId, size, lines);
    await recordAnswers(context, row, {
      // Cosignatures that are kept may be of a call that crashed before it recorded them.
      isCosigned: lines.length > 0 || kept.size > 0,
      areAllAnswered: answers.every(({ kind }) => kind !== 'failed'),
    });
  } catch (error) {
    // The shard to which the account moves sends the head.
    if (!(error instanceof AccountHeld))
      logFailure('witness_failed', error, { account: accountId });
  }
}

type SubmissionAnswer = { kind: 'cosigned'; line: string } | { kind: 'refused' | 'failed' };

/** Sends a head to a witness, and logs why it is not cosigned. */
async function submit(
  { runtime }: SendingContext,
  account: Id<'user'>,
  witness: Witness,
  tree: Pick<Tree, 'head' | 'read'>,
  before: number,
): Promise<SubmissionAnswer> {
  try {
    return { kind: 'cosigned', line: await submitHead(runtime, witness, tree, before) };
  } catch (error) {
    const isRefused = error instanceof HeadRefused;
    const fields = { account, witness: witness.label };
    logFailure(isRefused ? 'witness_refused' : 'witness_failed', error, fields);
    return { kind: isRefused ? 'refused' : 'failed' };
  }
}

async function recordAnswers(
  { ledger }: SendingContext,
  { account, publishedSize: size, witnessedSize }: DueTree,
  { isCosigned, areAllAnswered }: { isCosigned: boolean; areAllAnswered: boolean },
): Promise<void> {
  if (!isCosigned && !areAllAnswered) return;
  const columns = {
    ...(isCosigned && { cosignedSize: size }),
    ...(areAllAnswered && { witnessedSize: size, witnessDueAt: 0 }),
  };
  const isAsRead = and(eq(trees.account, account), eq(trees.witnessedSize, witnessedSize));
  await ledger.write({ changes: (write) => [write.update(trees).set(columns).where(isAsRead)] });
}

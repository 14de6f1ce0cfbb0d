import { Problem, unavailable } from '../../errors';
import type { Context } from '../../http/context';
import { logFailure } from '../../lib/log';
import type { SignedHead } from './checkpoint';
import { openTree, type Tree, type TreeRow } from './open-tree';
import { LogSigner } from './signer';
import { LogInconsistent } from './storage';
import { findLastSigned, type ReadingContext } from './trust';

type TreeContext = Pick<Context, 'principal' | 'config' | 'reader' | 'runtime'>;

/**
 * Opens the Merkle tree over the log of the request's account, and makes the response from it.
 * @param row the row of `selectTree`
 * @throws Problem `log_refused` if the log contradicts its signed heads; `unavailable` if the tree
 *   cannot be read, as when R2 does not respond; any Problem of `answer`
 */
export async function answerFromTree<T>(
  context: TreeContext,
  row: TreeRow | undefined,
  answer: (tree: Tree) => Promise<T>,
): Promise<T> {
  const { principal, runtime } = context;
  return withProblems(context, async (reading) =>
    answer(await openTree(reading, principal.account, row, runtime.now())),
  );
}

/**
 * Returns the newest signed head of the account's log; if the log contradicts its signed heads, the
 * last one that is known.
 * @param row the row of `selectTree`
 * @throws Problem `log_refused` if none is known; `unavailable` if the tree cannot be read
 */
export async function getSignedHead(
  context: TreeContext,
  row: TreeRow | undefined,
): Promise<SignedHead> {
  const { account } = context.principal;
  return withProblems(context, async (reading) => {
    try {
      return (await openTree(reading, account, row, context.runtime.now())).head;
    } catch (error) {
      if (!(error instanceof LogInconsistent)) throw error;
      const last = await findLastSigned(reading, account.id, row?.note ?? null);
      if (!last) throw error;
      logFailure('tree_refused', error, { account: account.id });
      return last;
    }
  });
}

/** If a tree cannot be read, logs why, and turns the error into a problem. */
async function withProblems<T>(
  { principal, config, reader }: TreeContext,
  answer: (reading: ReadingContext) => Promise<T>,
): Promise<T> {
  const signer = await LogSigner.open(config.keyring, config.publicUrl);
  try {
    return await answer({ reader, bucket: config.files, signer });
  } catch (error) {
    if (error instanceof Problem) throw error;
    const { id: account } = principal.account;
    if (!(error instanceof LogInconsistent)) {
      logFailure('tree_not_read', error, { account });
      throw unavailable();
    }
    logFailure('tree_refused', error, { account });
    throw new Problem(
      'log_refused',
      'The log in the database is inconsistent with its signed heads. Compare your saved checkpoints with the last signed ' +
        'one, `GET /v1/audit/checkpoint`, and contact the operator.',
    );
  }
}

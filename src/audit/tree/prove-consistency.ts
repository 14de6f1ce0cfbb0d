import { Hono } from 'hono';
import * as z from 'zod';
import { invalidRequest } from '../../errors';
import { userAccess } from '../../http/access';
import type { UserContext } from '../../http/context';
import { queryNumber } from '../../http/fields';
import { query } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { countField } from '../../http/response-fields';
import { LOG_SPAN } from '../../ledger/append';
import { equalBytes, toHex } from '../../lib/bytes';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { consistencyPath, type Hash } from '../../lib/merkle';
import { hashRanges } from '../../lib/tiles';
import { answerFromTree } from './answer-from-tree';
import { exampleCheckpoint, hashField } from './checkpoint';
import { selectTree, type Tree } from './open-tree';
import { LogInconsistent } from './storage';

const Sizes = lazy(() =>
  z.strictObject({
    from: queryNumber(0, LOG_SPAN - 1).meta({
      description: 'The older size: the `tree_size` of a head that you kept.',
      examples: [1],
    }),
    to: queryNumber(0, LOG_SPAN - 1).meta({
      description: 'The newer size, at most that of the newest head.',
      examples: [2],
    }),
  }),
);

type Input = LazyOutput<typeof Sizes>;

/** A proof that the log of one size begins with the log of an older size, as the API shows it. */
const ConsistencyProof = lazy(() =>
  z
    .object({
      from: countField,
      to: countField,
      from_root_hash: hashField,
      to_root_hash: hashField,
      consistency_path: z.array(hashField).meta({ description: 'RFC 9162 section 2.1.4.1.' }),
    })
    .meta({
      id: 'ConsistencyProof',
      examples: [
        {
          from: 1,
          to: 2,
          from_root_hash: exampleCheckpoint.root_hash,
          to_root_hash: exampleCheckpoint.root_hash,
          consistency_path: [exampleCheckpoint.root_hash],
        },
      ],
    }),
);

type ConsistencyProof = LazyOutput<typeof ConsistencyProof>;

/**
 * Proves that the account's log of one size begins with the log of an older size (RFC 9162 section
 * 2.1.4).
 * @throws Problem `invalid_request` for sizes that are not in order, or beyond the newest head;
 *   `log_refused`; `unavailable`
 */
async function proveConsistency(context: UserContext, sizes: Input): Promise<ConsistencyProof> {
  const { account } = context.principal;
  const [[row]] = await context.reader.load([selectTree(context.reader, account.number)]);
  return answerFromTree(context, row, (tree) => prove(tree, sizes));
}

async function prove({ head, read }: Tree, { from, to }: Input): Promise<ConsistencyProof> {
  if (to > head.size) {
    throw invalidRequest([
      { path: 'query.to', message: `must be at most ${head.size}, the size of the newest head` },
    ]);
  }
  if (from > to) throw invalidRequest([{ path: 'query.from', message: 'must be at most `to`' }]);
  const roots = [from, to].map((size) => ({ start: 0, end: size }));
  const hashes = await hashRanges([...roots, ...consistencyPath(from, to)], read);
  const [fromRoot, toRoot, ...path] = hashes as [Hash, Hash, ...Hash[]];
  if (to === head.size && !equalBytes(toRoot, head.root)) {
    throw new LogInconsistent(`the tiles of ${to} leaves do not lead to the signed root`);
  }
  return {
    from,
    to,
    from_root_hash: toHex(fromRoot),
    to_root_hash: toHex(toRoot),
    consistency_path: path.map(toHex),
  };
}

export const proveConsistencyRoute = new Hono().get(
  '/v1/audit/consistency',
  operation({
    id: 'proveConsistency',
    tag: 'Audit',
    summary: 'Prove that the log has only grown',
    description: 'A consistency proof of RFC 9162 between two sizes of the log.',
    success: ok(ConsistencyProof),
    problems: ['log_refused'],
  }),
  userAccess('audit:read'),
  query(Sizes),
  async (c) => answer(c, await proveConsistency(c.var.context, c.req.valid('query'))),
);

import { Hono } from 'hono';
import * as z from 'zod';
import { agents, auditEntries } from '../../db/schema';
import { notFound, Problem } from '../../errors';
import { userAccess } from '../../http/access';
import type { UserContext } from '../../http/context';
import { noQuery } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { countField, integerField } from '../../http/response-fields';
import { saltOf } from '../../ledger/entry-id';
import { equalBytes, toHex } from '../../lib/bytes';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { type Hash, hashBytes, inclusionPath, rootOfInclusion } from '../../lib/merkle';
import { hashRanges } from '../../lib/tiles';
import { parseId } from '../../lib/typeid';
import {
  type AuditEntry,
  entryColumns,
  isAgentOfEntry,
  isKeptEntry,
  requireEntryWithId,
} from '../entry';
import { answerFromTree } from './answer-from-tree';
import { Checkpoint, exampleCheckpoint, hashField, presentHead } from './checkpoint';
import { entryLeafInput } from './leaf';
import { selectTree, type Tree } from './open-tree';
import { LogInconsistent } from './storage';

/** A proof that an entry is under a signed head, as the API shows it. */
const InclusionProof = lazy(() =>
  z
    .object({
      sequence: integerField.meta({
        minimum: 1,
        description: 'Of the entry: it is leaf `sequence` − 1.',
      }),
      leaf_hash: hashField,
      leaf_input: z.string().meta({
        description:
          'The bytes whose SHA-256 is `leaf_hash`, in base64: a zero byte, and the entry as `GET /v1/audit/{id}` answers it, ' +
          'with its random `salt` as one more member, as canonical JSON (RFC 8785).',
      }),
      tree_size: countField,
      root_hash: hashField,
      inclusion_path: z
        .array(hashField)
        .meta({ description: 'From the leaf upwards (RFC 9162 section 2.1.3.1).' }),
      checkpoint: Checkpoint(),
    })
    .meta({
      id: 'InclusionProof',
      examples: [
        {
          sequence: 2,
          leaf_hash: exampleCheckpoint.root_hash,
          leaf_input: 'AHsiY3JlYXRlZF9hdCI6IjIwMjYtMDEtMzFUMTI6MDA6MDAuMDAwWiIs4oCmfQ==',
          tree_size: exampleCheckpoint.tree_size,
          root_hash: exampleCheckpoint.root_hash,
          inclusion_path: [exampleCheckpoint.root_hash],
          checkpoint: exampleCheckpoint,
        },
      ],
    }),
);

type InclusionProof = LazyOutput<typeof InclusionProof>;

/**
 * Proves that an entry is under the newest head of the account's log (RFC 9162 section 2.1.3).
 * @throws Problem `not_found`; `conflict` if the entry is not sealed (hashed into the Merkle tree)
 *   yet; `log_refused` if it, or the log, was changed since; `unavailable`
 */
export async function proveInclusion(context: UserContext, id: string): Promise<InclusionProof> {
  const { reader, principal, runtime } = context;
  const { account } = principal;
  const entry = parseId('audit', id);
  if (!entry) throw notFound('audit entry');
  const [[row], [treeRow]] = await reader.load([
    reader
      .select(entryColumns)
      .from(auditEntries)
      .innerJoin(agents, isAgentOfEntry)
      .where(isKeptEntry(account, entry, runtime.now())),
    selectTree(reader, account.number),
  ]);
  if (!row) throw notFound('audit entry');
  const shown = requireEntryWithId(account, row, entry);
  return answerFromTree(context, treeRow, async (tree) => {
    const { input, leaf, path } = await proveEntry(tree, shown, saltOf(row));
    const checkpoint = presentHead(tree.head);
    return {
      sequence: shown.sequence,
      leaf_hash: toHex(leaf),
      leaf_input: input.toBase64(),
      tree_size: checkpoint.tree_size,
      root_hash: checkpoint.root_hash,
      inclusion_path: path.map(toHex),
      checkpoint,
    };
  });
}

/** The input of an entry's leaf hash, its leaf, and the path from there to the root. */
interface ProvenEntry {
  input: Uint8Array;
  leaf: Hash;
  path: Hash[];
}

/**
 * Proves that an entry is under the head of a tree (RFC 9162 section 2.1.3).
 * @throws Problem `conflict` if the entry is not sealed yet; LogInconsistent if it was changed
 *   since
 */
export async function proveEntry(
  { head, read }: Tree,
  entry: AuditEntry,
  salt: Uint8Array,
): Promise<ProvenEntry> {
  const { sequence } = entry;
  if (sequence > head.size) {
    throw new Problem(
      'conflict',
      'The entry is not sealed yet. Entries are sealed within two minutes: try again then.',
    );
  }
  const input = entryLeafInput(entry, salt);
  const leaf = await hashBytes(input);
  const ranges = inclusionPath(sequence - 1, head.size);
  const path = await hashRanges(ranges, read);
  if (!equalBytes(await rootOfInclusion(sequence - 1, leaf, ranges, path), head.root)) {
    throw new LogInconsistent(`entry ${sequence} is not the one that was sealed`);
  }
  return { input, leaf, path };
}

export const proveInclusionRoute = new Hono().get(
  '/v1/audit/:id/proof',
  operation({
    id: 'proveInclusion',
    tag: 'Audit',
    summary: 'Prove that an entry is in the log',
    description:
      'An inclusion proof of RFC 9162: that the entry, as it is now, is under the newest signed head.',
    success: ok(InclusionProof),
    pathId: 'audit',
    problems: ['conflict', 'log_refused'],
  }),
  userAccess('audit:read'),
  noQuery(),
  async (c) => answer(c, await proveInclusion(c.var.context, c.req.param('id'))),
);

import { Hono } from 'hono';
import * as z from 'zod';
import { Problem } from '../../errors';
import { userAccess } from '../../http/access';
import type { UserContext } from '../../http/context';
import { choice } from '../../http/fields';
import { query } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { readCosignedHead } from '../witnesses/cosigned-head';
import { getSignedHead } from './answer-from-tree';
import { NamedCheckpoint, presentHead } from './checkpoint';
import { selectTree } from './open-tree';
import { LogSigner } from './signer';

const CheckpointQuery = lazy(() =>
  z.strictObject({
    witnessed: choice(['true', 'false']).optional().meta({
      description:
        'With `true`, the newest head that a witness has cosigned, with the cosignatures.',
    }),
  }),
);

/**
 * Returns the newest signed head of the account's log, or the newest one that a witness has
 * cosigned, with the cosignatures in its note.
 * @throws Problem `not_found` if no head is cosigned
 */
async function getCheckpoint(
  context: UserContext,
  { witnessed }: LazyOutput<typeof CheckpointQuery>,
): Promise<NamedCheckpoint> {
  const { principal, reader, config } = context;
  const { account } = principal;
  const [[row]] = await reader.load([selectTree(reader, account.number)]);
  const signer = await LogSigner.open(config.keyring, config.publicUrl);
  const head =
    witnessed === 'true'
      ? row && (await readCosignedHead({ bucket: config.files, signer }, account.id, row))
      : await getSignedHead(context, row);
  if (!head) throw new Problem('not_found', 'No witness has cosigned a head of this log.');
  const checkpoint = presentHead(head);
  if (!row?.isWitnessed) return checkpoint;
  return { ...checkpoint, verifier_key: await signer.verifierKey(checkpoint.origin) };
}

export const getCheckpointRoute = new Hono().get(
  '/v1/audit/checkpoint',
  operation({
    id: 'getCheckpoint',
    tag: 'Audit',
    summary: 'Get the newest signed head of the log',
    description:
      'Every entry is under a signed head within two minutes. Keep some of them: anyone who has an old head can check, ' +
      'with a consistency proof, that the log has only grown since. If the log in the database contradicts its signed ' +
      'heads, this is the last one that was signed.',
    success: ok(NamedCheckpoint),
    problems: ['not_found', 'log_refused'],
  }),
  userAccess('audit:read'),
  query(CheckpointQuery),
  async (c) => answer(c, await getCheckpoint(c.var.context, c.req.valid('query'))),
);

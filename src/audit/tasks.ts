import { lazy } from '../lib/lazy';
import { parseWitnesses } from '../lib/witness-list';
import { everyMinute, requireBinding, type Task } from '../task';
import { eraseTrees } from './tree/erase-tree';
import { sealTrees } from './tree/seal';
import { openSigner } from './tree/signer';
import { sendHeads } from './witnesses/send-heads';

/** Background work on the Merkle trees over the audit logs. */
export const treeTasks: readonly Task[] = [
  {
    name: 'seal_trees',
    schedule: 'every_minute',
    start: ({ reader, ledger, env, runtime }) => {
      const signer = lazy(() => openSigner(env));
      return async () => {
        const bucket = requireBinding(env, 'FILES');
        return sealTrees({ reader, ledger, bucket, signer: await signer() }, runtime.now());
      };
    },
  },
  everyMinute('send_heads', async ({ reader, ledger, env, runtime, later }) => {
    const witnesses = parseWitnesses(env.WITNESSES ?? '');
    if (!witnesses || witnesses.length === 0) return false;
    const [bucket, signer] = [requireBinding(env, 'FILES'), await openSigner(env)];
    const works = await sendHeads({ reader, ledger, bucket, signer, runtime, witnesses });
    for (const work of works) later(work);
    return false;
  }),
  everyMinute('erase_trees', ({ reader, ledger, env, runtime }) =>
    eraseTrees({ reader, ledger, bucket: requireBinding(env, 'FILES') }, runtime.now()),
  ),
];

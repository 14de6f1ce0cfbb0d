import { lazy } from '../lib/lazy';
import { everyMinute, requireBinding, type Task } from '../task';
import { eraseTrees } from './tree/erase-tree';
import { sealTrees } from './tree/seal';
import { openSigner } from './tree/signer';

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
  everyMinute('erase_trees', ({ reader, ledger, env, runtime }) =>
    eraseTrees({ reader, ledger, bucket: requireBinding(env, 'FILES') }, runtime.now()),
  ),
];

import { requireBinding, type Task } from '../task';
import { eraseTrees } from './tree/erase-tree';
import { sealTrees } from './tree/seal';
import { openSigner } from './tree/signer';

/** Background work on the trees over the audit logs. */
export const treeTasks: readonly Task[] = [
  {
    name: 'seal_trees',
    schedule: 'every_minute',
    start: ({ database, ledger, env, runtime }) => {
      const context = { reader: database, ledger };
      let signer: ReturnType<typeof openSigner> | undefined;
      return async () => {
        signer ??= openSigner(env);
        return sealTrees({ ...context, bucket: requireBinding(env, 'FILES'), signer: await signer }, runtime.now());
      };
    },
  },
  {
    name: 'erase_trees',
    schedule: 'every_minute',
    start:
      ({ database, ledger, env, runtime }) =>
      () =>
        eraseTrees({ reader: database, ledger, bucket: requireBinding(env, 'FILES') }, runtime.now()),
  },
];

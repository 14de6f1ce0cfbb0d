import { statisticsTasks } from '../agents/statistics/tasks';
import { treeTasks } from '../audit/tasks';
import { signErasure } from '../audit/tree/erasure-note';
import { openSigner } from '../audit/tree/signer';
import { erasureTasks } from '../erasure/tasks';
import { fileTasks } from '../files/tasks';
import { lazy } from '../lib/lazy';
import { permissionTasks } from '../permissions/tasks';
import { receiverTasks } from '../receivers/tasks';
import type { Task } from '../task';

/**
 * The tasks of the cron jobs on each shard besides moving accounts, in the order in which slices
 * take turns.
 */
export const TASKS: readonly Task[] = [
  ...permissionTasks,
  ...treeTasks,
  ...statisticsTasks,
  ...receiverTasks,
  ...erasureTasks((env) => {
    // The keys are derived when the first record is signed.
    const signer = lazy(() => openSigner(env));
    return async (erased) => signErasure(await signer(), erased);
  }),
  ...fileTasks,
];

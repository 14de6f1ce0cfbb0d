import { treeTasks } from '../audit/tasks';
import { signErasure } from '../audit/tree/erasure-note';
import { openSigner } from '../audit/tree/signer';
import type { Env } from '../env';
import type { SignErasure } from '../erasure/erasure-record';
import { erasureTasks } from '../erasure/tasks';
import { fileTasks } from '../files/tasks';
import { permissionTasks } from '../permissions/tasks';
import type { Task } from '../task';
import { webhookTasks } from '../webhooks/tasks';

/** Everything that the cron jobs do on each shard, in the order in which its slices take turns. */
export const TASKS: readonly Task[] = [
  ...permissionTasks,
  ...treeTasks,
  ...webhookTasks,
  ...erasureTasks(signErasures),
  ...fileTasks,
];

/** Signs the records of erasures, with keys that are derived when the first one is signed. */
function signErasures(env: Env): SignErasure {
  let signer: ReturnType<typeof openSigner> | undefined;
  return async (erased) => {
    signer ??= openSigner(env);
    return signErasure(await signer, erased);
  };
}

import type { Cost } from '../db/database';
import { openShard } from '../db/shards';
import { type DeliveryMessage, type Env, type Runtime, readConfig } from '../env';
import { serviceAuthority } from '../ledger/authority';
import { Ledger } from '../ledger/ledger';
import { SendLimits } from '../receivers/channels/send-limits';
import { handleMessage } from '../receivers/handle-message';
import { consume, type RemainingWork, type WaitUntil } from './consume';

/**
 * Milliseconds that the queue waits for all receivers of an account together while no server
 * answers. The receivers share it equally, so that one account does not delay the messages of
 * others, however many receivers it has.
 */
const MAX_ACCOUNT_WAIT = 250;

/**
 * Handles the messages of the two delivery queues: creates the deliveries of pending events, and
 * makes the attempts that are due. If a queue loses a message, a task of every minute sends
 * another.
 * @param waitUntil takes over attempts that no server answers, so that a slow server delays no
 *   other message
 */
export async function consumeDeliveryQueue(
  batch: MessageBatch<DeliveryMessage>,
  env: Env,
  runtime: Runtime,
  waitUntil?: WaitUntil,
): Promise<void> {
  const describe = ({ shard, account, receiver }: DeliveryMessage) => {
    return { shard, account_number: account, receiver_number: receiver };
  };
  await consume(
    batch,
    runtime,
    describe,
    (message, cost) => startWork(message, cost, env, runtime),
    waitUntil,
  );
}

async function startWork(
  message: DeliveryMessage,
  cost: Cost,
  env: Env,
  runtime: Runtime,
): Promise<RemainingWork | undefined> {
  const settings = readConfig(env);
  if (!('config' in settings)) throw new Error(settings.faults.join('; '));
  const { shard, account } = message;
  const database = openShard(env, shard, cost);
  if (!database) return undefined;
  let answers = 0;
  const fetch: Runtime['fetch'] = (url, options) =>
    runtime.fetch(url, options).finally(() => (answers += 1));
  const context = {
    shard,
    reader: database,
    ledger: new Ledger(database, serviceAuthority([account])),
    runtime: { ...runtime, fetch },
    config: settings.config,
    limits: new SendLimits({ env, cost, keyring: settings.config.keyring, runtime }),
  };
  const sending = await handleMessage(context, message);
  if (!sending) return undefined;
  const progressTimeout = Math.floor(MAX_ACCOUNT_WAIT / sending.accountReceivers);
  return { done: sending.done, progress: () => answers, progressTimeout };
}

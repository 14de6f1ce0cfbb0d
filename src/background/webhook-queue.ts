import { presentExport } from '../audit/exports/export';
import type { Cost } from '../db/database';
import type { FileKind } from '../db/schema';
import { openShard } from '../db/shards';
import { type Env, type Runtime, readConfig, type WebhookMessage } from '../env';
import type { PresentFile } from '../files/presentation';
import { serviceAuthority } from '../ledger/authority';
import { Ledger } from '../ledger/ledger';
import { loadPermissionSnapshots } from '../permissions/snapshots';
import { openChannel } from '../receivers/channels/open';
import { planNotifications } from '../receivers/channels/plan-notifications';
import { SendLimits } from '../receivers/channels/send-limits';
import { type ClaimedWebhook, claimWebhook } from '../receivers/webhooks/dispatch/claim';
import { deliver } from '../receivers/webhooks/dispatch/deliver';
import { fanOut } from '../receivers/webhooks/dispatch/fan-out';
import { presentReport } from '../reports/report';
import { consume, type RemainingWork, type WaitUntil } from './consume';

/** How files of each kind are shown in the payload of their events. */
const PRESENTERS: Record<FileKind, PresentFile<object>> = {
  export: presentExport,
  report: presentReport,
};

/**
 * Milliseconds that the queue waits for all webhooks of an account together while none of their
 * receivers answers. The webhooks share it equally, so that one account does not delay the messages
 * of others, however many webhooks it has.
 */
const MAX_ACCOUNT_WAIT = 250;

/**
 * Handles the messages of the two webhook queues: creates the deliveries of pending events, and
 * makes the attempts that are due. If a queue loses a message, a task of every minute sends
 * another.
 * @param waitUntil takes over attempts that no receiver answers, so that a slow receiver delays no
 *   other message
 */
export async function consumeWebhookQueue(
  batch: MessageBatch<WebhookMessage>,
  env: Env,
  runtime: Runtime,
  waitUntil?: WaitUntil,
): Promise<void> {
  const describe = ({ shard, account, webhook }: WebhookMessage) => {
    return { shard, account_number: account, webhook_number: webhook };
  };
  await consume(
    batch,
    runtime,
    describe,
    (message, cost) => handleMessage(message, cost, env, runtime),
    waitUntil,
  );
}

async function handleMessage(
  { shard, account, webhook }: WebhookMessage,
  cost: Cost,
  env: Env,
  runtime: Runtime,
): Promise<RemainingWork | undefined> {
  const settings = readConfig(env);
  if (!('config' in settings)) throw new Error(settings.faults.join('; '));
  const database = openShard(env, shard, cost);
  if (!database) return undefined;
  let answers = 0;
  const fetch: Runtime['fetch'] = (url, options) =>
    runtime.fetch(url, options).finally(() => (answers += 1));
  const limits = new SendLimits({ env, cost, keyring: settings.config.keyring, runtime });
  const context = {
    shard,
    reader: database,
    ledger: new Ledger(database, serviceAuthority([account])),
    runtime: { ...runtime, fetch },
    config: settings.config,
    presenters: PRESENTERS,
    loadPermissions: loadPermissionSnapshots,
    planNotifications,
    openChannel: (claimed: ClaimedWebhook) =>
      openChannel(
        { shard, config: settings.config, runtime: { ...runtime, fetch }, limits },
        claimed,
      ),
  };
  const number = webhook ?? (await fanOut(context, account));
  const claimed = number === null ? null : await claimWebhook(context, { account, number });
  if (!claimed) return undefined;
  const progressTimeout = Math.floor(MAX_ACCOUNT_WAIT / claimed.accountWebhooks);
  return { done: deliver(context, claimed), progress: () => answers, progressTimeout };
}

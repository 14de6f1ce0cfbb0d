import { presentExport } from '../audit/exports/export';
import { presentReport } from '../audit/reports/report';
import type { Cost } from '../db/database';
import type { FileKind } from '../db/schema';
import { openShard } from '../db/shards';
import { type Env, type Runtime, readConfig, type WebhookMessage } from '../env';
import { SERVICE } from '../ledger/authority';
import { Ledger } from '../ledger/ledger';
import { enqueueWebhook, enqueueWebhooks } from '../outbox/enqueue';
import { dispatch } from '../webhooks/dispatch/dispatch';
import { type FanOutContext, type FilePresenter, fanOut } from '../webhooks/dispatch/fan-out';
import { type ClaimedWebhook, claimWebhook } from '../webhooks/dispatch/lease';
import { consume, type RemainingWork, type WaitUntil } from './consume';

/** How files of each kind are shown. */
const PRESENTERS: Record<FileKind, FilePresenter> = { export: presentExport, report: presentReport };

/**
 * How long the webhooks of an account together keep a queue waiting while none of them answers, in milliseconds. Each has
 * an equal part: however many an account has, and whatever they do, another account's message waits no longer.
 */
const ACCOUNT_PATIENCE = 250;

/** Slices of deliveries that one message makes, at most. */
const SLICES = 20;

/**
 * Makes and sends the deliveries that the messages hint at. What the queues lose the sweep finds.
 * @param goOn takes the sending of which no answer comes, so that a receiver that is slow keeps no other message waiting,
 *   not even the first time
 */
export async function consumeWebhookQueue(
  batch: MessageBatch<WebhookMessage>,
  env: Env,
  runtime: Runtime,
  goOn?: WaitUntil,
): Promise<void> {
  const describe = ({ shard, account, webhook }: WebhookMessage) => {
    return { shard, account_number: account, webhook_number: webhook };
  };
  await consume(batch, runtime, describe, (message, cost) => runMessage(message, cost, env, runtime), goOn);
}

async function runMessage(
  { shard, account, webhook }: WebhookMessage,
  cost: Cost,
  env: Env,
  runtime: Runtime,
): Promise<RemainingWork | undefined> {
  const settings = readConfig(env);
  if (!('config' in settings)) throw new Error(settings.faults.join('; '));
  const database = openShard(env, shard, cost);
  if (!database) return undefined;
  const { config } = settings;
  let answers = 0;
  const fetch: Runtime['fetch'] = (url, options) => runtime.fetch(url, options).finally(() => (answers += 1));
  const context = {
    ...{ shard, reader: database, ledger: new Ledger(database, SERVICE), config, presenters: PRESENTERS },
    runtime: { ...runtime, fetch },
  };
  const number = webhook ?? (await makeDeliveries(context, account));
  const taken = number === null ? null : await claimWebhook(context, { account, number });
  if (!taken) return undefined;
  const patience = Math.floor(ACCOUNT_PATIENCE / taken.siblings);
  return { done: send(context, taken), progress: () => answers, patience };
}

/**
 * Makes deliveries of what has happened in an account, and hints at the webhooks that they are for.
 * @returns one of them, for which there is no hint: it is served at once
 */
async function makeDeliveries(context: FanOutContext, account: number): Promise<number | null> {
  const { shard, config } = context;
  const hint = (webhooks: { number: number; isSlow: boolean }[]) => {
    const others = webhooks.filter(({ number }) => number !== own);
    return enqueueWebhooks(config.webhooks, { shard, account }, others);
  };
  const first = await fanOut(context, account);
  const own = first.woken.find(({ isSlow }) => !isSlow)?.number ?? null;
  await hint(first.woken);
  const later = new Map<number, { number: number; isSlow: boolean }>();
  let { hasMore } = first;
  for (let slice = 2; hasMore && slice <= SLICES; slice++) {
    const next = await fanOut(context, account);
    for (const webhook of next.woken) later.set(webhook.number, webhook);
    hasMore = next.hasMore;
  }
  await hint([...later.values()]);
  if (hasMore) await enqueueWebhook(config.webhooks, { shard, account });
  return own;
}

async function send(context: FanOutContext, taken: ClaimedWebhook): Promise<void> {
  const { account, number } = taken.leased.row;
  const next = await dispatch(context, taken);
  if (next) await enqueueWebhook(context.config.webhooks, { shard: context.shard, account, webhook: number }, next);
}

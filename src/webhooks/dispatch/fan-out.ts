import { and, eq, type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import {
  auditEntries,
  DELIVERY_STATUSES,
  deliveries,
  FILE_KINDS,
  type FileKind,
  fileOutcomes,
  WEBHOOK_EVENTS,
  type WebhookEvent,
  webhookFeeds,
  webhooks,
} from '../../db/schema';
import type { Config, Runtime } from '../../env';
import type { PresentFile } from '../../files/presentation';
import { LOG_SPAN } from '../../ledger/append';
import { toHex } from '../../lib/bytes';
import { type Id, idBytes, makeId } from '../../lib/typeid';
import { enqueueWebhook, enqueueWebhooks } from '../../outbox/enqueue';
import { markDue } from '../deliveries/pending';
import { writePayload } from '../payload';
import type { DispatchContext } from './claim';
import { findPendingEvents, type PendingEvents } from './pending-events';

/** A slice takes no further entry once it has this many deliveries. */
const MAX_DELIVERIES = 1_000;

/** How many slices the handler of one message creates at most. */
const MAX_SLICES = 20;

/** The services and settings that a worker uses to create deliveries. */
interface FanOutContext extends DispatchContext {
  config: Config;
  /** The functions that show a file as the API does, by kind of file. */
  presenters: Record<FileKind, PresentFile<object>>;
}

type TargetWebhook = PendingEvents['activeWebhooks'][number];

/** The events of files that completed and of those that failed. */
const FILE_EVENTS: Record<FileKind, { completed: WebhookEvent; failed: WebhookEvent }> = {
  export: { completed: 'audit.export.completed', failed: 'audit.export.failed' },
  report: { completed: 'report.completed', failed: 'report.failed' },
};

/** A delivery to create: about an audit entry, or about a file and with its payload. */
type DeliveryDraft = { webhook: number; event: WebhookEvent } & (
  | { pos: number; agent: number }
  | { kind: FileKind; file: Id<'export'>; payload: string }
);

/**
 * Creates the deliveries of an account's pending events, and enqueues a message for each webhook that has any.
 * @returns the number of a webhook that gets no message, because the caller delivers to it itself; null if there is
 *   none
 */
export async function fanOut(context: FanOutContext, account: number): Promise<number | null> {
  const { shard, config } = context;
  const first = await fanOutSlice(context, account);
  const own = first.targets.find(({ isSlow }) => !isSlow)?.number ?? null;
  const enqueue = (targets: Iterable<TargetWebhook>) =>
    enqueueWebhooks(
      config.webhooks,
      [...targets]
        .filter(({ number }) => number !== own)
        .map(({ number, isSlow }) => ({ body: { shard, account, webhook: number }, isSlow })),
    );
  // The webhooks of the first slice get their messages at once, the others after the last slice.
  await enqueue(first.targets);
  const later = new Map<number, TargetWebhook>();
  let { hasMore } = first;
  for (let slice = 2; hasMore && slice <= MAX_SLICES; slice++) {
    const next = await fanOutSlice(context, account);
    for (const target of next.targets) later.set(target.number, target);
    hasMore = next.hasMore;
  }
  await enqueue(later.values());
  if (hasMore) await enqueueWebhook(config.webhooks, { shard, account });
  return own;
}

/**
 * Creates a slice of the deliveries. It advances the account's feed (`outbox/feed.ts`) in the same transaction by
 * compare-and-set: two workers never create the same deliveries, and a crash loses none.
 * @returns the webhooks that have new deliveries, and whether there are more events
 */
async function fanOutSlice(
  context: FanOutContext,
  account: number,
): Promise<{ targets: TargetWebhook[]; hasMore: boolean }> {
  const pending = await findPendingEvents(context.reader, account);
  if (!pending) return { targets: [], hasMore: false };
  const { drafts, position } = draftFromEntries(pending);
  drafts.push(...(await draftFromFiles(context, pending)));
  const hasMore = await createDeliveries(context, account, pending, drafts, position);
  const numbers = new Set(drafts.map(({ webhook }) => webhook));
  return { targets: pending.activeWebhooks.filter(({ number }) => numbers.has(number)), hasMore };
}

/** Drafts the deliveries of entries. `position` is that of the last entry whose deliveries are all drafted. */
function draftFromEntries({ activeWebhooks, entries, position: start }: PendingEvents) {
  const event = 'audit.created';
  const targets = activeWebhooks.filter(({ events }) => events.includes(event));
  const drafts: DeliveryDraft[] = [];
  let position = start;
  for (const { pos, agent, agentId } of entries) {
    if (drafts.length >= MAX_DELIVERIES) break;
    position = pos;
    // Skips entries whose agent has been deleted.
    if (agentId === null) continue;
    for (const { number, agentIds } of targets) {
      if (agentIds && !agentIds.includes(agentId)) continue;
      drafts.push({ webhook: number, event, pos, agent });
    }
  }
  return { drafts, position };
}

async function draftFromFiles(
  { shard, config, presenters }: FanOutContext,
  { activeWebhooks, outcomes, accountId }: PendingEvents,
): Promise<DeliveryDraft[]> {
  const drafts: DeliveryDraft[] = [];
  for (const { isFailure, endedAt, ...file } of outcomes) {
    const { kind, id } = file;
    const event = FILE_EVENTS[kind][isFailure ? 'failed' : 'completed'];
    const targets = activeWebhooks.filter(({ events }) => events.includes(event));
    if (targets.length === 0) continue;
    const data = await presenters[kind](config, { shard, account: { id: accountId } }, file, endedAt);
    const payload = writePayload(event, endedAt, data);
    drafts.push(...targets.map(({ number }) => ({ webhook: number, event, kind, file: id, payload })));
  }
  return drafts;
}

/**
 * Creates the deliveries, deletes the file outcomes and advances the feed to `position`.
 * @returns whether there are more events; false if another worker has advanced the feed
 */
async function createDeliveries(
  { ledger, runtime }: FanOutContext,
  account: number,
  { position: before, outcomes }: PendingEvents,
  drafts: readonly DeliveryDraft[],
  position: number,
): Promise<boolean> {
  const now = runtime.now();
  const numbers = JSON.stringify([...new Set(drafts.map(({ webhook }) => webhook))]);
  const handled = JSON.stringify(outcomes.map(({ kind, id }) => [FILE_KINDS.indexOf(kind), toHex(idBytes(id))]));
  const hasMore = sql`exists (
      select 1 from ${auditEntries} where pos > ${position} and pos < ${(account + 1) * LOG_SPAN}
    ) or exists (select 1 from ${fileOutcomes} where account = ${account})`;
  const [, , , [feed]] = await ledger.write({
    changes: (write) => [
      write.insert(deliveries).select(selectDrafts(runtime, account, before, drafts)),
      markDue(write, sql`${webhooks.number} in (select value from json_each(${numbers}))`, now),
      write
        .delete(fileOutcomes)
        .where(
          sql`(account, kind, id) in (select ${account}, value ->> 0, unhex(value ->> 1) from json_each(${handled}))`,
        ),
      write
        .update(webhookFeeds)
        .set({ position, dueAt: sql`iif(${hasMore}, ${now}, null)` })
        .where(and(eq(webhookFeeds.account, account), eq(webhookFeeds.position, before)))
        .returning({ dueAt: webhookFeeds.dueAt }),
    ],
  });
  return feed !== undefined && feed.dueAt !== null;
}

/**
 * Selects the drafts as rows of the table of deliveries, in the order of its columns. Leaves out the drafts of entries
 * if another worker has advanced the feed, the drafts of files that have their deliveries, and drafts of events before
 * the start of their webhook, or whose webhook was disabled or whose agent was deleted meanwhile.
 */
function selectDrafts(runtime: Runtime, account: number, position: number, drafts: readonly DeliveryDraft[]): SQL {
  const now = runtime.now();
  // Sorted, so that deliveries of one slice are listed in the order of their events.
  const ids = drafts.map(() => toHex(idBytes(makeId('dlv', now, runtime.random(10))))).sort();
  const rows = drafts.map((draft, i) => {
    const common = [draft.webhook, ids[i], WEBHOOK_EVENTS.indexOf(draft.event)];
    if ('pos' in draft) return [...common, draft.pos, draft.agent];
    return [...common, null, null, draft.payload, FILE_KINDS.indexOf(draft.kind), toHex(idBytes(draft.file))];
  });
  return sql`
    select webhooks.number, unhex(value ->> 1), null, webhooks.generation, value ->> 2, value ->> 3, value ->> 4,
      value ->> 5, ${codeOf(DELIVERY_STATUSES, 'pending')}, 0, ${now}, null, null, null, null, ${now}, null
    from json_each(${JSON.stringify(rows)})
    cross join webhooks
    where webhooks.number = value ->> 0 and webhooks.account = ${account} and webhooks.is_active = 1
      and iif(value ->> 3 is null,
        exists (
          select 1 from file_outcomes where account = ${account} and kind = value ->> 6 and id = unhex(value ->> 7)
            and ordinal > webhooks.starts_after_outcome
        ),
        value ->> 3 > webhooks.starts_after
          and exists (select 1 from agents where number = value ->> 4)
          and exists (select 1 from webhook_feeds where account = ${account} and position = ${position})
      )`;
}

import { and, eq, type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import type { Reader } from '../../db/database';
import {
  auditEntries,
  DELIVERY_STATUSES,
  deliveries,
  FILE_KINDS,
  type FileKind,
  fileOutcomes,
  type files,
  WEBHOOK_EVENTS,
  type WebhookEvent,
  webhookFeeds,
  webhooks,
} from '../../db/schema';
import type { Config, Runtime } from '../../env';
import { LOG_SPAN } from '../../ledger/append';
import type { Ledger } from '../../ledger/ledger';
import { toHex } from '../../lib/bytes';
import { type Id, idBytes, makeId } from '../../lib/typeid';
import { markDue } from '../deliveries/create';
import { writePayload } from '../payload';
import { findPendingEvents, type PendingEvent } from './pending-events';

/** Deliveries that one slice makes, at most, but for those of its last entry. */
const DELIVERIES = 1_000;

/** Shows a file as the API shows it to its account, at a moment. */
export type FilePresenter = (
  config: Config,
  owner: { shard: string; account: { id: Id<'user'> } },
  file: typeof files.$inferSelect,
  now: number,
) => Promise<object>;

/** Everything that making deliveries takes. */
export interface FanOutContext {
  shard: string;
  reader: Reader;
  ledger: Ledger;
  runtime: Runtime;
  config: Config;
  presenters: Record<FileKind, FilePresenter>;
}

/** The events of files that were finished, and of those that failed. */
const FILE_EVENTS: Record<FileKind, { completed: WebhookEvent; failed: WebhookEvent }> = {
  export: { completed: 'audit.export.completed', failed: 'audit.export.failed' },
  report: { completed: 'report.completed', failed: 'report.failed' },
};

/** A delivery to be made: of an audit entry, or of a file with what is to be sent of it. */
type Draft = { webhook: number; event: WebhookEvent } & (
  | { pos: number; agent: number }
  | { kind: FileKind; file: Id<'export'>; payload: string }
);

/** What a slice came to. */
export interface FanOut {
  /** The webhooks that something is to be sent to. */
  woken: PendingEvent['targets'];
  hasMore: boolean;
}

/**
 * Makes a slice of the deliveries of what has happened in an account: one for each event and each webhook that wants it.
 * The place in the log moves on in the same transaction, by compare-and-set, so that it may be called twice, late, by
 * several at once, and may die at any point.
 */
export async function fanOut(context: FanOutContext, account: number): Promise<FanOut> {
  const news = await findPendingEvents(context.reader, account);
  if (!news) return { woken: [], hasMore: false };
  const { drafts, position } = draftOfEntries(news);
  drafts.push(...(await draftOfFiles(context, news)));
  const dueAt = await write(context, account, news, drafts, position);
  const wanted = new Set(drafts.map(({ webhook }) => webhook));
  return { woken: news.targets.filter(({ number }) => wanted.has(number)), hasMore: dueAt !== null };
}

/** Drafts the deliveries of entries, up to the place in the log that is given back. */
function draftOfEntries({ targets, entries, position: start }: PendingEvent): { drafts: Draft[]; position: number } {
  const event = 'audit.created';
  const interested = targets.filter(({ events }) => events.includes(event));
  const drafts: Draft[] = [];
  let position = start;
  for (const { pos, agent, agentId } of entries) {
    if (drafts.length >= DELIVERIES) break;
    position = pos;
    // Of a deleted agent nobody is told any more.
    if (agentId === null) continue;
    for (const { number, agentIds } of interested) {
      if (agentIds && !agentIds.includes(agentId)) continue;
      drafts.push({ webhook: number, event, pos, agent });
    }
  }
  return { drafts, position };
}

async function draftOfFiles(context: FanOutContext, { targets, outcomes, accountId }: PendingEvent): Promise<Draft[]> {
  const { shard, config, presenters } = context;
  const drafts: Draft[] = [];
  for (const { isFailure, endedAt, ...file } of outcomes) {
    const { kind, id } = file;
    const event = FILE_EVENTS[kind][isFailure ? 'failed' : 'completed'];
    const interested = targets.filter(({ events }) => events.includes(event));
    if (interested.length === 0) continue;
    const payload = writePayload(
      event,
      endedAt,
      await presenters[kind](config, { shard, account: { id: accountId } }, file, endedAt),
    );
    drafts.push(...interested.map(({ number }) => ({ webhook: number, event, kind, file: id, payload })));
  }
  return drafts;
}

/**
 * Writes the drafts, and how far they reach.
 * @returns when there is more to be made; null when there is not, or somebody else was faster
 */
async function write(
  { ledger, runtime }: FanOutContext,
  account: number,
  { position: before, outcomes }: PendingEvent,
  drafts: Draft[],
  position: number,
): Promise<number | null> {
  const now = runtime.now();
  const numbers = JSON.stringify([...new Set(drafts.map(({ webhook }) => webhook))]);
  const handled = JSON.stringify(outcomes.map(({ kind, id }) => [FILE_KINDS.indexOf(kind), toHex(idBytes(id))]));
  const hasMore = sql`exists (
      select 1 from ${auditEntries} where pos > ${position} and pos < ${(account + 1) * LOG_SPAN}
    ) or exists (select 1 from ${fileOutcomes} where account = ${account})`;
  const results = await ledger.write({
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
  const [, , , [feed]] = results;
  return feed?.dueAt ?? null;
}

/**
 * The drafts as rows of the table of deliveries, in the order of its columns: of entries only if the feed is where it was
 * found, of files only if nobody has made them. What was switched off or deleted meanwhile is left out.
 */
function selectDrafts(runtime: Runtime, account: number, position: number, drafts: Draft[]): SQL {
  const now = runtime.now();
  // Sorted, so that what was made together is listed in the order in which it happened.
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

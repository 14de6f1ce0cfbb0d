import { and, asc, eq, getTableColumns, sql } from 'drizzle-orm';
import { aliased } from '../../db/columns';
import type { Reader } from '../../db/database';
import { accounts, agents, auditEntries, fileOutcomes, files, webhookFeeds, webhooks } from '../../db/schema';
import { LOG_SPAN } from '../../ledger/append';

/** Maximum entries and file outcomes that are read at once. */
const ENTRIES = 500;
const OUTCOMES = 20;

/**
 * Events of an account that have no deliveries yet, the account's active webhooks, and the position of its feed: the
 * place in the log up to which deliveries have been created.
 */
export type PendingEvents = NonNullable<Awaited<ReturnType<typeof findPendingEvents>>>;

/** Finds the next pending events of an account; null if the account has no active webhook. */
export async function findPendingEvents(reader: Reader, account: number) {
  const isPending = sql`${auditEntries.pos} > (select position from ${webhookFeeds} where account = ${account})
    and ${auditEntries.pos} < ${(account + 1) * LOG_SPAN}`;
  const isSameFile = and(
    eq(files.account, fileOutcomes.account),
    eq(files.kind, fileOutcomes.kind),
    eq(files.id, fileOutcomes.id),
  );
  const [[feed], activeWebhooks, entries, outcomes] = await reader.load([
    reader
      .select({ position: webhookFeeds.position, accountId: accounts.id })
      .from(webhookFeeds)
      .innerJoin(accounts, eq(accounts.number, webhookFeeds.account))
      .where(eq(webhookFeeds.account, account)),
    reader
      .select({
        number: webhooks.number,
        isSlow: webhooks.isSlow,
        events: webhooks.events,
        agentIds: webhooks.agentIds,
      })
      .from(webhooks)
      .where(and(eq(webhooks.account, account), eq(webhooks.isActive, true))),
    reader
      .select({ pos: auditEntries.pos, agent: auditEntries.agent, agentId: aliased(agents.id, 'agent_id') })
      .from(auditEntries)
      .leftJoin(agents, eq(agents.number, auditEntries.agent))
      .where(isPending)
      .orderBy(asc(auditEntries.pos))
      .limit(ENTRIES),
    reader
      .select({
        ...getTableColumns(files),
        isFailure: fileOutcomes.isFailure,
        endedAt: aliased(fileOutcomes.createdAt, 'ended_at'),
      })
      .from(fileOutcomes)
      .innerJoin(files, isSameFile)
      .where(eq(fileOutcomes.account, account))
      .limit(OUTCOMES),
  ]);
  return feed ? { ...feed, activeWebhooks, entries, outcomes } : null;
}

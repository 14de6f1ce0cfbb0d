import { and, asc, eq, getTableColumns, sql } from 'drizzle-orm';
import { aliased } from '../../db/columns';
import type { Reader } from '../../db/database';
import { accounts, agents, auditEntries, fileOutcomes, files, webhookFeeds, webhooks } from '../../db/schema';
import { LOG_SPAN } from '../../ledger/append';

/** Entries, and outcomes of files, that one slice looks at. */
const ENTRIES = 500;
const OUTCOMES = 20;

/** What has happened in an account since deliveries were last made, and which webhooks are on. */
export type PendingEvent = NonNullable<Awaited<ReturnType<typeof findPendingEvents>>>;

/** Finds a slice of it; null for an account that has no webhook that is on. */
export async function findPendingEvents(reader: Reader, account: number) {
  const isBehind = sql`${auditEntries.pos} > (select position from ${webhookFeeds} where account = ${account})
    and ${auditEntries.pos} < ${(account + 1) * LOG_SPAN}`;
  const isSameFile = and(
    eq(files.account, fileOutcomes.account),
    eq(files.kind, fileOutcomes.kind),
    eq(files.id, fileOutcomes.id),
  );
  const [[feed], targets, entries, outcomes] = await reader.load([
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
      .where(isBehind)
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
  return feed ? { ...feed, targets, entries, outcomes } : null;
}

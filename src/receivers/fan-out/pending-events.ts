import { and, asc, eq, getTableColumns, isNull, sql } from 'drizzle-orm';
import { aliased } from '../../db/columns';
import type { Reader } from '../../db/database';
import {
  accounts,
  agents,
  auditEntries,
  eventFeeds,
  fileResults,
  files,
  permissionEvents,
  receivers,
} from '../../db/schema';
import { LOG_SPAN } from '../../ledger/append';
import { isPendingEvent } from '../../outbox/feed';

/** Maximum entries, and events of each other kind, that are read at once. */
const MAX_ENTRIES = 500;
/** Maximum entries if receivers want events of permissions: a slice handles few of these. */
const MAX_ENTRIES_WITH_PERMISSIONS = 60;
const MAX_FILE_RESULTS = 20;
const MAX_WAITING_EVENTS = 20;
const MAX_DISABLED_WEBHOOKS = 10;
const MAX_ACCOUNT_EVENTS = 10;

/**
 * Events of an account that have no deliveries yet, the account's active webhooks and channels, and
 * the position of its feed: the place in the log up to which deliveries have been created.
 * `waitingEvents` come from no audit entry: escalations, reminders of requests, and outcomes that
 * were not reported in time.
 */
export type PendingEvents = NonNullable<Awaited<ReturnType<typeof findPendingEvents>>>;

/** Whether members of an account have active devices, as SQL. */
function hasDevices(account: number) {
  return sql`exists (
    select 1 from ${receivers} where ${receivers.account} = ${account}
      and ${receivers.member} is not null and ${receivers.isActive}
  )`
    .mapWith(Boolean)
    .as('has_devices');
}

/** Finds the next pending events of an account; null if the account has no active receiver. */
export async function findPendingEvents(reader: Reader, account: number) {
  const isPending = sql`${auditEntries.pos} > (
      select ${eventFeeds.position} from ${eventFeeds} where ${eventFeeds.account} = ${account}
    ) and ${auditEntries.pos} < ${(account + 1) * LOG_SPAN}`;
  const wantsPermissions = sql`exists (
    select 1 from ${receivers}
    where ${receivers.account} = ${account} and ${receivers.isActive} and ${receivers.events} like '%"permission.%'
  )`;
  const isSameFile = and(
    eq(files.account, fileResults.account),
    eq(files.kind, fileResults.kind),
    eq(files.id, fileResults.id),
  );
  const [[feed], activeReceivers, entries, finishedFiles, waitingEvents, disabledWebhooks] =
    await reader.load([
      reader
        .select({
          position: eventFeeds.position,
          accountEvents: eventFeeds.accountEvents,
          accountId: accounts.id,
          hasDevices: hasDevices(account),
        })
        .from(eventFeeds)
        .innerJoin(accounts, eq(accounts.number, eventFeeds.account))
        .where(eq(eventFeeds.account, account)),
      reader
        .select({
          number: receivers.number,
          kind: receivers.kind,
          isSlow: receivers.isSlow,
          events: receivers.events,
          agentIds: receivers.agentIds,
          actions: receivers.actions,
          config: receivers.config,
          id: receivers.id,
        })
        .from(receivers)
        .where(
          and(
            eq(receivers.account, account),
            eq(receivers.isActive, true),
            // Devices are many, and few are notified of an event: the plan reads those.
            isNull(receivers.member),
          ),
        ),
      reader
        .select({
          pos: auditEntries.pos,
          event: auditEntries.event,
          permission: auditEntries.permission,
          at: aliased(auditEntries.createdAt, 'at'),
          agent: auditEntries.agent,
          agentId: aliased(agents.id, 'agent_id'),
        })
        .from(auditEntries)
        .leftJoin(agents, eq(agents.number, auditEntries.agent))
        .where(isPending)
        .orderBy(asc(auditEntries.pos))
        // SQL works, though the type takes numbers only.
        .limit(
          sql`iif(${wantsPermissions}, ${MAX_ENTRIES_WITH_PERMISSIONS}, ${MAX_ENTRIES})` as unknown as number,
        ),
      reader
        .select({
          ...getTableColumns(files),
          isFailure: fileResults.isFailure,
          endedAt: aliased(fileResults.createdAt, 'ended_at'),
        })
        .from(fileResults)
        .innerJoin(files, isSameFile)
        .where(eq(fileResults.account, account))
        .limit(MAX_FILE_RESULTS),
      reader
        .select({
          permission: permissionEvents.permission,
          event: permissionEvents.event,
          reminders: permissionEvents.reminders,
          createdAt: permissionEvents.createdAt,
        })
        .from(permissionEvents)
        .where(isPendingEvent(account))
        .limit(MAX_WAITING_EVENTS),
      reader
        .select()
        .from(receivers)
        .where(and(eq(receivers.account, account), eq(receivers.isNoticeDue, true)))
        .limit(MAX_DISABLED_WEBHOOKS),
    ]);
  if (!feed) return null;
  const accountEvents = (feed.accountEvents ?? []).slice(0, MAX_ACCOUNT_EVENTS);
  return {
    ...feed,
    accountEvents,
    activeReceivers,
    entries,
    finishedFiles,
    waitingEvents,
    disabledWebhooks,
  };
}

import { type SQL, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/sqlite-core';
import {
  agents,
  DELIVERY_EVENTS,
  type DeliveryEvent,
  eventFeeds,
  FILE_KINDS,
  type FileKind,
  fileResults,
  receivers,
} from '../../db/schema';
import type { Runtime } from '../../env';
import { toHex } from '../../lib/bytes';
import { type Id, idBytes, makeId } from '../../lib/typeid';
import { newDeliveryColumns } from '../deliveries/pending';
import { isFeedAt, isUnhandled, sourceFields } from './permission-event-rows';
import type { PermissionEvent } from './permission-events';
import type { Recipient } from './plan';

/** A delivery to create, and what it is about: see {@link selectDrafts}. */
export type DeliveryDraft = { receiver: number; event: DeliveryEvent } & (
  | { about: 'entry'; pos: number; agent: number }
  | { about: 'file'; kind: FileKind; file: Id<'export'>; payload: string }
  | ({ about: 'permission'; source: PermissionEvent } & Partial<Recipient>)
  | ({ about: 'webhook'; disabled: number; payload: string } & Recipient)
  | ({ about: 'account'; source: Id<'act'>; payload: string } & Partial<Recipient>)
);

/** The drafts as JSON rows, each with the id of its delivery. */
export function rowsOfDrafts(runtime: Runtime, drafts: readonly DeliveryDraft[]) {
  const now = runtime.now();
  // Sorted, so that deliveries of one slice are listed in the order of their events.
  const ids = drafts.map(() => toHex(idBytes(makeId('dlv', now, runtime.random(10))))).sort();
  return drafts.map((draft, i) => ({
    receiver: draft.receiver,
    id: ids[i],
    about: draft.about,
    event: DELIVERY_EVENTS.indexOf(draft.event),
    ...fieldsOf(draft),
  }));
}

const disabled = alias(receivers, 'disabled');

/**
 * Selects drafts as rows of the table of deliveries. Leaves out the drafts of events that another
 * worker has handled, drafts of events before the start of their receiver, and those whose receiver
 * was disabled or whose agent was deleted meanwhile.
 */
export function selectDrafts(
  account: number,
  position: number,
  now: number,
  rows: ReturnType<typeof rowsOfDrafts>,
): SQL {
  const hasAgent = sql`exists (select 1 from ${agents} where ${agents.number} = value ->> 'agent')`;
  const columns = {
    receiver: sql`${receivers.number}`,
    id: sql`unhex(value ->> 'id')`,
    disableCount: sql`${receivers.disableCount}`,
    event: sql`value ->> 'event'`,
    pos: sql`value ->> 'pos'`,
    agent: sql`value ->> 'agent'`,
    payload: sql`value ->> 'payload'`,
    permission: sql`unhex(value ->> 'permission')`,
    reminder: sql`nullif(value ->> 'reminder', 0)`,
    member: sql`unhex(value ->> 'member')`,
    slackChannel: sql`value ->> 'slackChannel'`,
  };
  return sql`
    select ${newDeliveryColumns(columns, now)}
    from json_each(${JSON.stringify(rows)})
    cross join ${receivers}
    where ${receivers.number} = value ->> 'receiver' and ${receivers.account} = ${account}
      and ${receivers.isActive} = 1
      and case value ->> 'about'
        when 'entry' then value ->> 'pos' > ${receivers.startsAfter}
          and ${hasAgent} and ${isFeedAt(account, position)}
        when 'file' then exists (
          select 1 from ${fileResults}
          where ${fileResults.account} = ${account} and ${fileResults.kind} = value ->> 'kind'
            and ${fileResults.id} = unhex(value ->> 'file')
            and ${fileResults.ordinal} > ${receivers.startsAfterFileResult}
        )
        when 'permission' then ${hasAgent} and ${isUnhandled(account, position)}
          and coalesce(value ->> 'sourcePos' > ${receivers.startsAfter}, 1)
        when 'webhook' then exists (
          select 1 from ${receivers} as ${disabled}
          where ${disabled.number} = value ->> 'disabled' and ${disabled.isNoticeDue}
        )
        when 'account' then exists (
          select 1 from ${eventFeeds} as feed, json_each(feed.account_events) as waiting
          where feed.account = ${account} and waiting.value ->> 'id' = json_each.value ->> 'source'
        )
      end`;
}

/** The fields of a draft's JSON row that depend on what it is about. */
function fieldsOf(draft: DeliveryDraft) {
  switch (draft.about) {
    case 'entry':
      return { pos: draft.pos, agent: draft.agent };
    case 'file':
      return {
        payload: draft.payload,
        kind: FILE_KINDS.indexOf(draft.kind),
        file: toHex(idBytes(draft.file)),
      };
    case 'permission':
      return { ...sourceFields(draft.source), ...recipientFields(draft) };
    case 'webhook':
      return { payload: draft.payload, disabled: draft.disabled, ...recipientFields(draft) };
    case 'account':
      return { payload: draft.payload, source: draft.source, ...recipientFields(draft) };
  }
}

function recipientFields({ member, slackChannel }: Partial<Recipient>) {
  return { member: member && toHex(idBytes(member)), slackChannel };
}

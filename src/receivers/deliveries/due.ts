import { and, eq, isNotNull, type SQL, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/sqlite-core';
import { aliased, codeOf } from '../../db/columns';
import type { Reader } from '../../db/database';
import {
  agents,
  auditEntries,
  deliveries,
  MEMBER_STATUSES,
  members,
  PERMISSION_STATUSES,
  permissionEvents,
  permissions,
  votes,
} from '../../db/schema';
import { isEventOfDelivery, payloadColumns } from './payload';
import { FROM_FIRST_ATTEMPTS, FROM_RETRIES_BY_DUE_TIME, isPendingFor } from './pending';

/** A delivery that is due, with its payload or the columns of its audit entry. */
export type DueDelivery = ReturnType<typeof findDueDeliveries>['_']['result'][number];

/** Makes the query of the due deliveries of a receiver, in the order in which they became due. */
export function findDueDeliveries(
  reader: Reader,
  { account, number: receiver }: { account: number; number: number },
  now: number,
  limit: number | SQL,
) {
  // A delivery that was neither attempted nor postponed is due since the time in its id (RFC 9562
  // section 5.7): its index is in that order.
  const due = sql`(
    select * from (
      select ${deliveries.receiver}, ${deliveries.id}, substr(${deliveries.id}, 1, 6) as since
      from ${FROM_FIRST_ATTEMPTS} ${isPendingFor(receiver)} order by ${deliveries.id} limit ${limit}
    ) union all select * from (
      select ${deliveries.receiver}, ${deliveries.id}, unhex(printf('%012x', ${deliveries.dueAt}))
      from ${FROM_RETRIES_BY_DUE_TIME} ${isPendingFor(receiver)} and ${deliveries.dueAt} <= ${now}
      order by ${deliveries.dueAt} limit ${limit}
    ) order by since limit ${limit}
  ) as due`;
  return reader
    .select({
      ...payloadColumns,
      id: aliased(deliveries.id, 'delivery_id'),
      original: deliveries.original,
      attempts: deliveries.attempts,
      failures: deliveries.failures,
      event: aliased(deliveries.event, 'delivery_event'),
      aboutPermission: aliased(deliveries.permission, 'delivery_permission'),
      reminder: deliveries.reminder,
      member: aliased(deliveries.member, 'delivery_member'),
      slackChannel: deliveries.slackChannel,
      names: aliased(permissionEvents.names, 'event_names'),
      recipient: recipientSql(account),
      permissionState: permissionStateSql(account, now),
      slackMessages: slackMessagesSql,
      digestGroup: deliveries.digestGroup,
      postponements: deliveries.postponements,
    })
    .from(due)
    .crossJoin(deliveries)
    .leftJoin(auditEntries, eq(auditEntries.pos, deliveries.pos))
    .leftJoin(agents, eq(agents.number, deliveries.agent))
    .leftJoin(permissionEvents, isEventOfDelivery(account))
    .where(and(sql`${deliveries.receiver} = due.receiver`, sql`${deliveries.id} = due.id`));
}

/** The member whom a delivery notifies. */
interface DueRecipient {
  email: string | null;
  name: string | null;
  isActive: boolean;
  /** Whether mail to the address is known to reach the member. */
  isProven: boolean;
}

/** Selects the member of a delivery; null for a webhook. */
function recipientSql(account: number) {
  const isActive = sql`${members.status} = ${codeOf(MEMBER_STATUSES, 'active')}`;
  return sql<DueRecipient | null>`(
    select json_object(
      'email', ${members.email}, 'name', ${members.name}, 'isActive', ${jsonFlag(isActive)},
      'isProven', ${jsonFlag(isNotNull(members.emailProvenAt))}
    )
    from ${members} where ${members.account} = ${account} and ${members.id} = ${deliveries.member}
  )`
    .mapWith((text: string): DueRecipient => JSON.parse(text))
    .as('recipient');
}

/** A condition as a value of `json_object`. */
function jsonFlag(condition: SQL): SQL {
  return sql`json(iif(${condition}, 'true', 'false'))`;
}

/** The state of the permission of a delivery when it is due. */
interface PermissionState {
  isPending: boolean;
  /** Whether the member of the delivery has voted on it. */
  hasVoted: boolean;
}

/**
 * Selects the state of the permission of a delivery; null if it has none, or the permission no
 * longer exists.
 */
function permissionStateSql(account: number, now: number) {
  const isPending = sql`${permissions.status} = ${codeOf(PERMISSION_STATUSES, 'pending')}
    and ${permissions.expiresAt} > ${now}`;
  const hasVoted = sql`exists (
    select 1 from ${votes}
    where ${votes.account} = ${permissions.account} and ${votes.permission} = ${permissions.id}
      and ${votes.member} = ${deliveries.member}
  )`;
  return sql<PermissionState | null>`(
    select json_object('isPending', ${jsonFlag(isPending)}, 'hasVoted', ${jsonFlag(hasVoted)})
    from ${permissions}
    where ${permissions.account} = ${account} and ${permissions.id} = ${deliveries.permission}
  )`
    .mapWith((text: string): PermissionState => JSON.parse(text))
    .as('permission_state');
}

const sent = alias(deliveries, 'sent');

/**
 * Selects where the messages about the same permission in the same Slack channel are, each once.
 */
const slackMessagesSql = sql<string[]>`(
  select json_group_array(distinct ${sent.slackMessage})
  from ${deliveries} as ${sent} indexed by deliveries_by_permission
  where ${deliveries.slackChannel} is not null and ${sent.permission} = ${deliveries.permission}
    and ${sent.receiver} = ${deliveries.receiver} and ${sent.slackChannel} = ${deliveries.slackChannel}
    and ${sent.slackMessage} is not null
)`
  .mapWith((text: string): string[] => JSON.parse(text))
  .as('slack_messages');

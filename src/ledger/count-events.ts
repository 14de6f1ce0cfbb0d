import { type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../db/columns';
import { EVENT_TYPES, type EventType, PERMISSION_STATUSES, STATISTICS_UNITS } from '../db/schema';
import { DAY, HOUR } from '../lib/time';

const is = (event: EventType) => sql`event = ${codeOf(EVENT_TYPES, event)}`;
const unit = (name: 'day' | 'hour', length: number) =>
  sql`select ${codeOf(STATISTICS_UNITS, name)} as code, ${sql.raw(String(length))} as length`;

/**
 * Returns the statement that adds the entries of a transition to their agents' statistics, per UTC
 * day and hour.
 *
 * Requests and their outcomes count in the day and hour of the request. Tokens count in the day and
 * hour in which they were issued, first used or revoked. The statement must run after the changes
 * of the same transaction: it reads the permission's new state.
 * @param drafts the result of `draftRows`
 */
export function countEvents(drafts: SQL): SQL {
  return sql`
    insert into agent_statistics
      (agent, unit, bucket, requests, approved, denied, expired, approval_time,
       tokens_issued, tokens_used, tokens_revoked)
    select agent, unit.code, at / unit.length, sum(requests), sum(approved), sum(denied), sum(expired),
      sum(approval_time), sum(tokens_issued), sum(tokens_used), sum(tokens_revoked)
    from (
      select agent, created_at as at, ${is('request')} as requests, ${is('approve')} as approved,
        ${is('deny')} as denied, ${is('expire')} as expired,
        iif(${is('approve')}, max(decided_at - created_at, 0), 0) as approval_time,
        0 as tokens_issued, 0 as tokens_used, 0 as tokens_revoked
      from (${counted(drafts)})
      where ${is('request')} or ${is('approve')} or ${is('deny')}
        or (${is('expire')} and status = ${codeOf(PERMISSION_STATUSES, 'expired')})
      union all
      select agent, at, 0, 0, 0, 0, 0, ${is('approve')}, ${is('use')}, ${is('revoke')}
      from (${counted(drafts)})
      where ${is('approve')} or ${is('revoke')} or (${is('use')} and token_uses = 1)
    ) as counts
    cross join (${unit('day', DAY)} union all ${unit('hour', HOUR)}) as unit
    group by agent, unit.code, at / unit.length
    on conflict (agent, unit, bucket) do update set
      requests = requests + excluded.requests, approved = approved + excluded.approved,
      denied = denied + excluded.denied, expired = expired + excluded.expired,
      approval_time = approval_time + excluded.approval_time,
      tokens_issued = tokens_issued + excluded.tokens_issued, tokens_used = tokens_used + excluded.tokens_used,
      tokens_revoked = tokens_revoked + excluded.tokens_revoked`;
}

function counted(drafts: SQL): SQL {
  return sql`
    select permissions.agent, permissions.created_at, permissions.decided_at, permissions.status,
      permissions.token_uses, draft.event, draft.at
    from ${drafts} as draft
    join permissions on permissions.account = draft.account and permissions.id = draft.permission`;
}

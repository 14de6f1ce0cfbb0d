import { type SQL, sql } from 'drizzle-orm';

/**
 * Counts the drafts of a transition in their agents' statistics, per UTC day and hour. Requests and what became of them
 * count where the request was made; tokens where they were issued, first used or revoked. Runs after the change and the
 * entries of the same batch, so that the permission's row already tells of this transition.
 * @param drafts a subquery with the columns `account`, `permission`, `event`, `at` (see the ledger)
 */
export function countEvents(drafts: SQL): SQL {
  return sql`
    insert into agent_statistics
      (agent, unit, bucket, requests, approved, denied, expired, approval_time,
       tokens_issued, tokens_used, tokens_revoked)
    select agent, unit.code, at / unit.length, sum(requests), sum(approved), sum(denied), sum(expired),
      sum(approval_time), sum(tokens_issued), sum(tokens_used), sum(tokens_revoked)
    from (
      select agent, created_at as at, event = 0 as requests, event = 1 as approved, event = 2 as denied,
        event = 4 as expired, iif(event = 1, decided_at - created_at, 0) as approval_time,
        0 as tokens_issued, 0 as tokens_used, 0 as tokens_revoked
      from (${counted(drafts)}) where event in (0, 1, 2) or (event = 4 and status = 3)
      union all
      select agent, at, 0, 0, 0, 0, 0, event = 1, event = 3, event = 5
      from (${counted(drafts)}) where event in (1, 5) or (event = 3 and token_uses = 1)
    ) as counts
    cross join (select 0 as code, 86400000 as length union all select 1, 3600000) as unit
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

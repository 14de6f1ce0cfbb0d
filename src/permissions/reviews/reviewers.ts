import { and, eq, type SQL, sql } from 'drizzle-orm';
import { aliased, codeOf } from '../../db/columns';
import type { Reader } from '../../db/database';
import { isAgentOfPermission, isReviewOfPermission } from '../../db/permission-joins';
import {
  agents,
  MEMBER_ROLES,
  MEMBER_STATUSES,
  members,
  PERMISSION_STATUSES,
  permissions,
  type ReviewRule,
  reviews,
  VOTE_DECISIONS,
  type VoteSignature,
} from '../../db/schema';
import { rolesWith } from '../../identity/roles';
import { fromBase64Url, toHex } from '../../lib/bytes';
import { type Id, idBytes } from '../../lib/typeid';

// Who is a reviewer is decided here, and counted in `count-reviewers.ts`, and nowhere else. It is
// decided in SQL: the statement that stores a vote must check it, because people are suspended and
// roles change while requests are under way. Each condition names the tables `members`, `reviews`,
// `permissions` and `agents`; a query that uses it has joined them for one permission.

/** The codes of the roles that may decide. */
export const roleCodes = sql.join(
  rolesWith('permissions:decide').map((role) => codeOf(MEMBER_ROLES, role)),
  sql`, `,
);

/** The rows of a list of people in a rule. */
export function ruleList(rule: SQL, path: '$' | '$.escalation', list: 'members' | 'roles'): SQL {
  return sql`json_each(${rule}, ${sql.raw(`'${path}.${list}'`)})`;
}

/** Whether a rule lists nobody: then all who may decide are reviewers. */
export function listsNobody(rule: SQL): SQL {
  return sql`coalesce(${rule} ->> 'members', ${rule} ->> 'roles') is null`;
}

/** Whether a list of people in a rule has the member, by role or by id. */
function isListed(rule: SQL, path: '$' | '$.escalation'): SQL {
  return sql`(
    exists (select 1 from ${ruleList(rule, path, 'roles')} where value = members.role)
    or exists (select 1 from ${ruleList(rule, path, 'members')} where unhex(value) = members.id)
  )`;
}

/**
 * Whether the member is active, may decide, and is a reviewer by the rule. Does not look at the
 * agent's owner.
 */
function matchesRule(rule: SQL, isEscalated: SQL): SQL {
  return sql`(
    members.status = ${codeOf(MEMBER_STATUSES, 'active')} and members.role in (${roleCodes}) and (
      ${listsNobody(rule)}
      or ${isListed(rule, '$')} or (${isEscalated} and ${isListed(rule, '$.escalation')})
    )
  )`;
}

/** Whether the escalation of the permission's review has made more members reviewers at a time. */
export function isEscalated(now: number | SQL): SQL {
  return sql`coalesce(reviews.escalates_at <= ${now}, 0)`;
}

/**
 * Whether the member is a reviewer of the permission at a time, apart from the ban on
 * self-approval. Where several people have to approve, the member must have been active with the
 * same role since before the request.
 */
export function isEligible(now: number | SQL): SQL {
  return sql`(
    ${matchesRule(sql`reviews.rule`, isEscalated(now))}
    and (reviews.rule ->> 'approvals' = 1 or members.active_since < permissions.created_at)
  )`;
}

/** Whether the member owns the agent now, or did when the request was made. */
export const isOwner = sql`(members.id is reviews.owner or members.id is agents.owner)`;

/** Whether the member may approve the permission at a time. */
export function mayApprove(now: number | SQL): SQL {
  return sql`(${isEligible(now)} and (reviews.rule ->> 'allow_self' or not ${isOwner}))`;
}

/**
 * Whether a pending permission with a review waits for the member, who may approve it and has not:
 * what `standingOf` calls `may_decide`.
 */
export function awaitsDecisionOf(now: number): SQL {
  return sql`(${mayApprove(now)} and not exists (
    select 1 from votes
    where votes.account = permissions.account and votes.permission = permissions.id and votes.member = members.id
      and votes.decision = ${codeOf(VOTE_DECISIONS, 'approve')}
  ))`;
}

/** The rows to which the conditions belong, for one permission. */
function ofPermission(account: number, id: Id<'perm'>): SQL {
  return sql`permissions
    join reviews on reviews.account = permissions.account and reviews.id = permissions.id
    join agents on agents.number = permissions.agent
    join members on members.account = permissions.account
    where permissions.account = ${account} and permissions.id = ${idBytes(id)}`;
}

/**
 * Whether a member may vote now, as SQL: the permission is still pending, the member still a
 * reviewer, and the passkey that signed still the member's. The agent's owner may deny without
 * being a reviewer.
 */
export function mayVoteSql(
  { account, id }: { account: number; id: Id<'perm'> },
  { by, decision, signature }: Voting,
  now: number,
): SQL {
  let mayVote = sql`(${isEligible(now)} or ${isOwner})`;
  if (decision === 'approve') mayVote = mayApprove(now);
  if (signature) mayVote = sql`${mayVote} and ${hasPasskeySql(account, by, signature)}`;
  return sql`exists (
    select 1 from ${ofPermission(account, id)} and members.id = ${idBytes(by)} and ${mayVote}
      and permissions.status = ${codeOf(PERMISSION_STATUSES, 'pending')} and permissions.expires_at > ${now}
  )`;
}

interface Voting {
  by: Id<'member'>;
  decision: (typeof VOTE_DECISIONS)[number];
  signature: VoteSignature | null;
}

/** Whether the passkey that signed a decision still belongs to the member, as SQL. */
export function hasPasskeySql(
  account: number,
  member: Id<'member'>,
  { credential_id: id }: VoteSignature,
): SQL {
  return sql`exists (
    select 1 from passkeys
    where passkeys.account = ${account} and passkeys.id = ${fromBase64Url(id)} and passkeys.member = ${idBytes(member)}
      and passkeys.removed_at is null
  )`;
}

/**
 * Whether as many people as the review demands have approved and may still approve, as SQL.
 * @param approvers who approved; a vote in the database is not proven to be one
 */
export function isApprovedSql(
  { account, id }: { account: number; id: Id<'perm'> },
  approvers: readonly Id<'member'>[],
  now: number,
): SQL {
  const ids = JSON.stringify(approvers.map((member) => toHex(idBytes(member))));
  return sql`(
    select count(*) >= reviews.rule ->> 'approvals' from ${ofPermission(account, id)}
      and members.id in (select unhex(value) from json_each(${ids})) and ${mayApprove(now)}
  )`;
}

/** Someone whom an event of a permission concerns. */
export interface Concerned {
  permission: Id<'perm'>;
  member: Id<'member'>;
  /** Whether the member may approve the permission, or might while it was pending. */
  isReviewer: boolean;
  /** Whether the review's escalation names the member, directly or by role. */
  isEscalated: boolean;
  /** Whether the member owns the agent now. */
  isAgentOwner: boolean;
  hasVoted: boolean;
}

/**
 * Selects the active members whom events of permissions concern: their reviewers, and the owners of
 * their agents.
 */
export function selectConcerned(
  reader: Reader,
  account: number,
  ids: readonly Id<'perm'>[],
  now: number,
) {
  const flag = (condition: SQL, name: string) =>
    sql`coalesce(${condition}, 0)`.mapWith(Boolean).as(name);
  const isReviewer = sql`(members.role in (${roleCodes}) and (reviews.id is null or ${mayApprove(now)}))`;
  const isAgentOwner = sql`(members.id is agents.owner)`;
  const hasVoted = sql`exists (
    select 1 from votes
    where votes.account = permissions.account and votes.permission = permissions.id and votes.member = members.id
  )`;
  return reader
    .select({
      permission: aliased(permissions.id, 'permission_id'),
      member: aliased(members.id, 'member_id'),
      isReviewer: flag(isReviewer, 'is_reviewer'),
      isEscalated: flag(isListed(sql`reviews.rule`, '$.escalation'), 'is_escalated'),
      isAgentOwner: flag(isAgentOwner, 'is_agent_owner'),
      hasVoted: flag(hasVoted, 'has_voted'),
    })
    .from(sql`json_each(${JSON.stringify(ids.map((id) => toHex(idBytes(id))))}) as wanted`)
    .crossJoin(permissions)
    .innerJoin(agents, isAgentOfPermission)
    .leftJoin(reviews, isReviewOfPermission)
    .crossJoin(members)
    .where(
      and(
        eq(permissions.account, account),
        sql`${permissions.id} = unhex(wanted.value)`,
        eq(members.account, account),
        eq(members.status, 'active'),
        sql`(${isReviewer} or ${isAgentOwner})`,
      ),
    );
}

/** The stored form of a rule, as a parameter. */
export function ruleSql(rule: ReviewRule): SQL {
  return sql`${sql.param(rule, reviews.rule)}`;
}

/** The id of the member who owns an agent, as SQL; NULL if nobody does. */
export function ownerOfAgentSql(account: number | SQL<number>, agentId: SQL): SQL {
  return sql`(select owner from agents where account = ${account} and id = ${agentId})`;
}

/** The columns that say what a member may do as a voter, for a query on `members`. */
export const voterColumns = (now: number) => ({
  isEligible: sql<number>`${isEligible(now)}`.mapWith(Boolean).as('is_eligible'),
  isOwner: isOwner.mapWith(Boolean).as('is_owner'),
  name: members.name,
});

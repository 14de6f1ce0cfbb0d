import { and, eq, type SQL, sql } from 'drizzle-orm';
import { aliased, codeOf } from '../../db/columns';
import type { Reader } from '../../db/database';
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
import { ROLE_SCOPES } from '../../http/roles';
import { fromBase64Url, toHex } from '../../lib/bytes';
import { type Id, idBytes } from '../../lib/typeid';
import { MAX_APPROVALS } from './rule';

// Who is a reviewer is decided here alone, in SQL: the statement that stores a vote must check it, because people are
// suspended and roles change while requests are under way. Each condition names the tables `members`, `reviews`,
// `permissions` and `agents`; a query that uses it has joined them for one permission.

const roleCodes = sql.join(
  MEMBER_ROLES.filter((role) => ROLE_SCOPES[role].includes('permissions:decide')).map((role) =>
    codeOf(MEMBER_ROLES, role),
  ),
  sql`, `,
);

/** Whether a list of people in a rule has the member, by id or by role. */
function isListed(rule: SQL, path: '$' | '$.escalation'): SQL {
  const list = (name: string) => sql`json_each(${rule}, ${sql.raw(`'${path}.${name}'`)})`;
  return sql`(
    exists (select 1 from ${list('members')} where unhex(value) = members.id)
    or exists (select 1 from ${list('roles')} where value = members.role)
  )`;
}

/** Whether the member is active, may decide, and is a reviewer by the rule. Does not look at the agent's owner. */
function matchesRule(rule: SQL, isEscalated: SQL): SQL {
  return sql`(
    members.status = ${codeOf(MEMBER_STATUSES, 'active')} and members.role in (${roleCodes}) and (
      coalesce(${rule} ->> 'members', ${rule} ->> 'roles') is null
      or ${isListed(rule, '$')} or (${isEscalated} and ${isListed(rule, '$.escalation')})
    )
  )`;
}

/**
 * Whether the member is a reviewer of the permission at a time, apart from the ban on self-approval. Where several people
 * have to approve, the member must have been active with the same role since before the request.
 */
export function isEligible(now: number): SQL {
  const isEscalated = sql`coalesce(reviews.escalates_at <= ${now}, 0)`;
  return sql`(
    ${matchesRule(sql`reviews.rule`, isEscalated)}
    and (reviews.rule ->> 'approvals' = 1 or members.active_since < permissions.created_at)
  )`;
}

/** Whether the member owns the agent now, or did when the request was made. */
export const isOwner = sql`(members.id is reviews.owner or members.id is agents.owner)`;

/** Whether the member may approve the permission at a time. */
export function mayApprove(now: number): SQL {
  return sql`(${isEligible(now)} and (reviews.rule ->> 'allow_self' or not ${isOwner}))`;
}

/**
 * Whether a pending permission with a review waits for the member, who may approve it and has not: what `standingOf`
 * calls `decide`.
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
 * The id of a member who may vote now on a pending permission, as SQL: NULL if the permission is no longer pending or the
 * member no longer a reviewer, so that the NOT NULL column aborts the transaction. The agent's owner may deny without being
 * a reviewer.
 */
export function voterIfEligible(
  { account, id }: { account: number; id: Id<'perm'> },
  { by, decision, signature }: Voting,
  now: number,
): SQL<Id<'member'>> {
  const mayVote = decision === 'approve' ? mayApprove(now) : sql`(${isEligible(now)} or ${isOwner})`;
  return sql`(
    select members.id from ${ofPermission(account, id)} and members.id = ${idBytes(by)} and ${mayVote}
      and ${signature ? hasPasskeySql(account, by, signature) : sql`1`}
      and permissions.status = ${codeOf(PERMISSION_STATUSES, 'pending')} and permissions.expires_at > ${now}
  )`;
}

interface Voting {
  by: Id<'member'>;
  decision: (typeof VOTE_DECISIONS)[number];
  signature: VoteSignature | null;
}

/** Whether the passkey that signed a decision still belongs to the member, as SQL. */
export function hasPasskeySql(account: number, member: Id<'member'>, { credential_id: id }: VoteSignature): SQL {
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

/** How many people may approve the permission at a time, as SQL, counted up to the maximum that a review can demand. */
export function countReviewersSql(now: number): SQL<number> {
  return sql<number>`(
    select count(*) from (
      select 1 from members where members.account = permissions.account and ${mayApprove(now)} limit ${sql.raw(String(MAX_APPROVALS))}
    )
  )`;
}

/**
 * How many members of an account are reviewers by the rule of a policy, as SQL, without counting an escalation.
 * @param rule the stored rule: a column or a parameter
 * @param agentOwner the id of the member who does not count unless the rule allows self-approval; NULL for nobody
 * @param limit how far it counts
 */
export function countReviewersByRuleSql(
  account: number | SQL<number>,
  rule: SQL,
  { agentOwner, limit }: { agentOwner: SQL; limit: number },
): SQL<number> {
  return sql<number>`(
    select count(*) from (
      select 1 from members where members.account = ${account} and ${matchesRule(rule, sql`0`)}
        and (${rule} ->> 'allow_self' or members.id is not ${agentOwner})
      limit ${sql.raw(String(limit))}
    )
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

/** Selects the active members whom events of permissions concern: their reviewers, and the owners of their agents. */
export function selectConcerned(reader: Reader, account: number, ids: readonly Id<'perm'>[], now: number) {
  const flag = (condition: SQL, name: string) => sql`coalesce(${condition}, 0)`.mapWith(Boolean).as(name);
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
    .innerJoin(agents, eq(agents.number, permissions.agent))
    .leftJoin(reviews, and(eq(reviews.account, permissions.account), eq(reviews.id, permissions.id)))
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

/** Selects what the caller of a decision may do as a voter; no row for a caller who is no member. */
export const voterColumns = (now: number) => ({
  isEligible: sql<number>`${isEligible(now)}`.mapWith(Boolean).as('is_eligible'),
  isOwner: isOwner.mapWith(Boolean).as('is_owner'),
  name: members.name,
});

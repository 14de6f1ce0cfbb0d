import { type SQL, sql } from 'drizzle-orm';
import { permissions, type VoteSignature, votes } from '../../db/schema';
import { type Guard, hasRow } from '../../ledger/guard';
import { type Id, idBytes } from '../../lib/typeid';
import type { PermissionRow, ReviewedPermission } from '../permission';
import type { ReviewState, Vote } from './review';
import { hasPasskeySql, isApprovedSql, mayVoteSql } from './reviewers';

/**
 * The permission, its review or the passkey that signed was changed after it was read. Nothing was
 * written.
 */
export class PermissionChanged extends Error {}

const otherwise = () => new PermissionChanged();

/**
 * The guard of a vote: the permission is still pending, the voter still a reviewer, the passkey
 * that signed still there, and no other vote has taken its number.
 */
export function voteGuard(row: PermissionRow, vote: Vote, now: number): Guard {
  return {
    name: 'review_was_as_read',
    holds: sql`${mayVoteSql(row, vote, now)} and not exists (
      select 1 from ${votes}
      where ${votes.account} = ${row.account} and ${votes.permission} = ${idBytes(row.id)}
        and ${votes.ordinal} = ${vote.ordinal}
    )`,
    otherwise,
  };
}

/**
 * The guard of the vote that approves a permission: as many people as the review demands have
 * approved, this voter included, and may still approve.
 * @param voted the permission with the vote
 */
export function approvalsGuard(voted: ReviewedPermission, now: number): Guard {
  const approvals = voted.review?.votes.filter(({ decision }) => decision === 'approve') ?? [];
  const approvers = approvals.map(({ by }) => by);
  return {
    name: 'approvals_suffice',
    holds: isApprovedSql(voted, approvers, now),
    otherwise,
  };
}

/** The guard of what ends a review without a vote: nobody has voted since it was read. */
export function noNewVoteGuard(row: PermissionRow, review: ReviewState): Guard {
  const isPermission = sql`${permissions.account} = ${row.account} and ${permissions.id} = ${idBytes(row.id)}`;
  return {
    name: 'votes_were_as_read',
    holds: hasRow(permissions, sql`${isPermission} and ${hasVotes(review.votes.length)}`),
    otherwise,
  };
}

/**
 * The guard of a signed decision without a review: the passkey that signed still belongs to the
 * member.
 */
export function passkeyGuard(
  account: number,
  member: Id<'member'>,
  signature: VoteSignature,
): Guard {
  return {
    name: 'passkey_was_as_read',
    holds: hasPasskeySql(account, member, signature),
    otherwise,
  };
}

/** Whether the row of `permissions` has as many votes as were read, as SQL. */
export function hasVotes(count: number | SQL): SQL {
  return sql`(
    select count(*) from votes where votes.account = permissions.account and votes.permission = permissions.id
  ) = ${count}`;
}

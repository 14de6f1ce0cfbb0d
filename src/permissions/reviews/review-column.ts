import { type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import {
  DECISION_SOURCES,
  PERMISSION_STATUSES,
  type ReviewRule,
  reviews,
  VOTE_DECISIONS,
} from '../../db/schema';
import { formatId } from '../../lib/typeid';
import { countReviewersSql } from './count-reviewers';
import type { ReviewState, Vote } from './review';
import { mayApprove } from './reviewers';

// Who may approve is of interest only until somebody has decided.
const isPending = sql`permissions.status = ${codeOf(PERMISSION_STATUSES, 'pending')}`;

/**
 * Selects the votes on the row of `permissions` as a JSON array: see {@link readVotes}.
 * @param counts SQL that says whether the voter, a row of `members`, may approve the permission
 */
export function votesSql(counts: SQL): SQL {
  return sql`(
    select json_group_array(json(vote)) from (
      select json_object(
        'ordinal', votes.ordinal, 'by', hex(votes.member), 'name', members.name, 'decision', votes.decision, 'scope', json(votes.scope),
        'tokenTtl', votes.token_ttl, 'maxUses', votes.max_uses, 'series', json(votes.series), 'reason', votes.reason, 'via', votes.via,
        'signature', json(votes.signature), 'at', votes.created_at, 'counts', coalesce(${counts}, 0), 'mac', hex(votes.mac)
      ) as vote
      from votes left join members on members.account = votes.account and members.id = votes.member
      where votes.account = permissions.account and votes.permission = permissions.id order by votes.ordinal
    )
  )`;
}

interface StoredVote extends Omit<Vote, 'by' | 'decision' | 'via' | 'counts' | 'mac'> {
  by: string;
  decision: number;
  via: number;
  counts: number;
  /** In hexadecimal; empty without one. */
  mac: string;
}

/** Reads the votes that {@link votesSql} selects. */
export function readVotes(votes: StoredVote[]): Vote[] {
  return votes.map(({ by, decision, via, counts, mac, ...vote }) => ({
    ...vote,
    by: formatId('member', Uint8Array.fromHex(by)),
    decision: wordOf(VOTE_DECISIONS, decision),
    via: wordOf(DECISION_SOURCES, via),
    counts: counts === 1,
    mac: mac === '' ? null : Uint8Array.fromHex(mac),
  }));
}

function wordOf<W extends string>(words: readonly W[], code: number): W {
  const word = words[code];
  if (word === undefined) throw new Error(`${code} is not the code of any of ${words.join(', ')}`);
  return word;
}

/**
 * Selects the review of the row of `permissions`, whose agent is the row of `agents`, as it is at a
 * time; null if no review policy routed it.
 */
export function reviewColumn(now: number | SQL) {
  return sql<ReviewState | null>`(
    select json_object(
      'policyId', reviews.policy_id, 'policyUpdatedAt', reviews.policy_updated_at, 'rule', reviews.rule, 'owner', hex(reviews.owner),
      'proposal', json_object(
        'scope', json(reviews.proposed_scope), 'tokenTtl', reviews.proposed_token_ttl,
        'maxUses', reviews.proposed_max_uses, 'series', json(reviews.proposed_series)
      ),
      'escalatesAt', reviews.escalates_at, 'escalatedAt', reviews.escalated_at, 'readAt', ${now},
      'reviewers', iif(${isPending}, ${countReviewersSql(now)}, 0),
      'votes', json(${votesSql(sql`iif(${isPending}, ${mayApprove(now)}, 1)`)})
    )
    from reviews where reviews.account = permissions.account and reviews.id = permissions.id
  )`
    .mapWith((text: string): ReviewState => {
      const { rule, owner, votes: stored, ...review } = JSON.parse(text);
      const votes = readVotes(stored);
      return {
        ...review,
        rule: reviews.rule.mapFromDriverValue(rule) as ReviewRule,
        owner: owner === '' ? null : formatId('member', Uint8Array.fromHex(owner)),
        votes,
        nextOrdinal: (votes.at(-1)?.ordinal ?? 0) + 1,
      };
    })
    .as('review');
}

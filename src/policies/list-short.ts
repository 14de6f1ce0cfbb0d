import { and, eq, type SQL, sql } from 'drizzle-orm';
import { policies } from '../db/schema';
import type { UserContext } from '../http/context';
import { type Id, idBytes } from '../lib/typeid';
import { countReviewersByRuleSql } from '../permissions/reviews/count-reviewers';
import { MAX_APPROVALS } from '../permissions/reviews/rule';

/** An active policy that has fewer reviewers than it needs. */
export interface ShortPolicy {
  id: Id<'policy'>;
  name: string;
  approvals: number;
  reviewers: number;
}

/** Lists the active policies that have fewer reviewers than they need. */
export function listShortPolicies(context: UserContext): Promise<ShortPolicy[]> {
  return loadShort(context, countReviewers(context, null));
}

/** Finds a policy if it is active and has fewer reviewers than it needs. */
export async function findShortPolicy(
  context: UserContext,
  { id }: { id: Id<'policy'> },
): Promise<ShortPolicy | undefined> {
  const [short] = await loadShort(context, countReviewers(context, null), eq(policies.id, id));
  return short;
}

/**
 * Lists the active policies that would have too few reviewers without a member. The member reviews
 * for each of them now, by name or by role.
 */
export function listShortWithout(
  context: UserContext,
  { member }: { member: Id<'member'> },
): Promise<ShortPolicy[]> {
  const without = countReviewers(context, member);
  return loadShort(context, without, sql`${without} < ${countReviewers(context, null)}`);
}

// With the table's name, because it stands in a subquery on members.
const RULE = sql`policies.review`;

/** How many reviewers a policy has, up to the most that it can need, as SQL. */
function countReviewers({ principal }: UserContext, without: Id<'member'> | null): SQL<number> {
  return countReviewersByRuleSql(principal.account.number, RULE, {
    agentOwner: sql`null`,
    limit: MAX_APPROVALS,
    without: without && sql`${idBytes(without)}`,
  });
}

/** @param condition what else holds for the policies */
async function loadShort(
  { reader, principal }: UserContext,
  reviewers: SQL<number>,
  condition?: SQL,
): Promise<ShortPolicy[]> {
  const approvals = sql<number>`${RULE} ->> 'approvals'`;
  const [rows] = await reader.load([
    reader
      .select({
        id: policies.id,
        name: policies.name,
        approvals: approvals.as('approvals'),
        reviewers: reviewers.as('reviewers'),
      })
      .from(policies)
      .where(
        and(
          eq(policies.account, principal.account.number),
          eq(policies.isActive, true),
          eq(policies.effect, 'review'),
          sql`${reviewers} < ${approvals}`,
          condition,
        ),
      )
      .orderBy(policies.id),
  ]);
  return rows;
}

import { type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import { MEMBER_STATUSES } from '../../db/schema';
import { isEscalated, isOwner, listsNobody, roleCodes, ruleList } from './reviewers';
import { MAX_APPROVALS } from './rule';

/**
 * How many people may approve the permission at a time, as SQL, counted up to the maximum that a
 * review can demand.
 */
export function countReviewersSql(now: number | SQL): SQL<number> {
  const rule = sql`reviews.rule`;
  return countReviewers({
    account: sql`permissions.account`,
    rule,
    isEscalated: isEscalated(now),
    counts: sql`(${rule} ->> 'allow_self' or not ${isOwner})`,
    activeBefore: sql`iif(${rule} ->> 'approvals' = 1, ${FOREVER}, permissions.created_at)`,
    limit: MAX_APPROVALS,
  });
}

/**
 * How many members of an account are reviewers by the rule of a policy, as SQL, without counting an
 * escalation.
 * @param rule the stored rule: a column or a parameter
 * @param agentOwner the id of the member who does not count unless the rule allows self-approval;
 *   NULL for nobody
 * @param limit how far it counts
 * @param without the id of a member who does not count at all; null for nobody
 */
export function countReviewersByRuleSql(
  account: number | SQL<number>,
  rule: SQL,
  { agentOwner, limit, without = null }: { agentOwner: SQL; limit: number; without?: SQL | null },
): SQL<number> {
  const isCounted = without ? sql`members.id <> ${without}` : sql`true`;
  return countReviewers({
    account: sql`${account}`,
    rule,
    isEscalated: sql`0`,
    counts: sql`(${rule} ->> 'allow_self' or members.id is not ${agentOwner}) and ${isCounted}`,
    activeBefore: FOREVER,
    limit,
  });
}

/** A time after every time, as SQL. */
const FOREVER = sql.raw(String(Number.MAX_SAFE_INTEGER));

/** Which members {@link countReviewers} counts. */
interface Counted {
  account: SQL;
  rule: SQL;
  isEscalated: SQL;
  /** Whether a reviewer, a row of `members`, counts. */
  counts: SQL;
  /** Members who became active with their role at this time or later do not count. */
  activeBefore: SQL;
  limit: number;
}

/**
 * Counts the members whom a rule names, by id or by role, as SQL. Starts from the roles and ids in
 * the rule, and reads each member by an index: what it reads depends on the rule and the limit, and
 * not on how many members the account has.
 */
function countReviewers({
  account,
  rule,
  isEscalated,
  counts,
  activeBefore,
  limit,
}: Counted): SQL<number> {
  const most = sql.raw(String(limit));
  const isCounted = sql`
    members.account = ${account} and members.status = ${codeOf(MEMBER_STATUSES, 'active')}
    and members.active_since < ${activeBefore} and ${counts} limit ${most}`;
  const isRoleListed = (path: '$' | '$.escalation') =>
    sql`exists (select 1 from ${ruleList(rule, path, 'roles')} where value = role.value)`;
  const byRole = sql`
    select members.id from json_each('[${roleCodes}]') as role cross join members indexed by members_by_role
    where (
      ${listsNobody(rule)} or ${isRoleListed('$')} or (${isEscalated} and ${isRoleListed('$.escalation')})
    ) and members.role = role.value and ${isCounted}`;
  const byId = sql`
    select members.id from (
      select unhex(value) as id from ${ruleList(rule, '$', 'members')}
      union select unhex(value) from ${ruleList(rule, '$.escalation', 'members')} where ${isEscalated}
    ) as named cross join members indexed by members_by_status
    where members.id = named.id and members.role in (${roleCodes}) and ${isCounted}`;
  return sql<number>`(
    select count(*) from (select id from (${byRole}) union select id from (${byId}) limit ${most})
  )`;
}

import { ACTIVITY_ACTIONS } from '../../src/db/activity-actions';
import { MEMBER_ROLES, MEMBER_STATUSES } from '../../src/db/schema';
import { formatHexId } from '../../src/lib/typeid';
import type { Json } from './world';

/** A person as far as reviews depend on them. */
export interface Reviewer {
  id: string;
  role: string;
  status: string;
  /** Since when the person has been active with the role; null if not active. */
  activeSince: number | null;
}

/** What makes somebody a reviewer of a request. */
interface ReviewFacts {
  /** The rule as the API shows it in a policy. */
  rule: Json;
  createdAt: number;
  escalatesAt: number | null;
  /** The owners of the agent: at the request, and now. */
  owners: (string | null)[];
}

const DECIDERS = ['owner', 'admin', 'approver'];

/**
 * Whether a person is a reviewer, apart from the ban on self-approval. This is the contract,
 * written a second time.
 */
export function isNamedReviewer(
  { rule, createdAt, escalatesAt }: ReviewFacts,
  person: Reviewer,
  now: number,
): boolean {
  const lists = (people: Json) =>
    people?.members?.includes(person.id) || people?.roles?.includes(person.role);
  const isEscalated = escalatesAt !== null && escalatesAt <= now;
  const isListed =
    !(rule.members || rule.roles) || lists(rule) || (isEscalated && lists(rule.escalation));
  const isEarly =
    rule.approvals === 1 || (person.activeSince ?? Number.POSITIVE_INFINITY) < createdAt;
  return person.status === 'active' && DECIDERS.includes(person.role) && isListed && isEarly;
}

/** Whether a person may approve. */
export function mayApprove(facts: ReviewFacts, person: Reviewer, now: number): boolean {
  return (
    isNamedReviewer(facts, person, now) &&
    (facts.rule.allow_self || !facts.owners.includes(person.id))
  );
}

/**
 * Makes the database remember, at the statement that approves a permission, who its people and the
 * agent's owner are at that moment: see {@link checkVotes}. Tables whose names begin with an
 * underscore are left alone by `saveTables`.
 */
export async function watchApprovals(database: D1Database): Promise<void> {
  await database.batch(
    [
      'drop table if exists _approvals',
      'create table _approvals (permission blob, at integer, owner text, people text)',
      'drop trigger if exists watch_approvals',
      `create trigger watch_approvals after update of status on permissions when new.status = 1 begin
        insert into _approvals select new.id, new.updated_at,
          (select hex(owner) from agents where number = new.agent and owner is not null),
          (select json_group_array(json_object('id', hex(id), 'role', role, 'status', status, 'activeSince', active_since))
            from members where account = new.account);
      end`,
    ].map((sql) => database.prepare(sql)),
  );
}

/**
 * Compares the votes in a database with the permissions and the log.
 * @param watched the databases on which permissions were approved: see {@link watchApprovals}
 * @returns the faults, in words
 */
export async function checkVotes(database: D1Database, watched = [database]): Promise<string[]> {
  const { results } = await database
    .prepare(`
      select hex(p.id) as id, p.status, p.created_at as createdAt, p.scope, p.token_ttl as tokenTtl, p.max_uses as maxUses,
        p.granted_scope as grantedScope, p.token_max_uses as tokenMaxUses,
        p.token_expires_at - p.token_issued_at as grantedTtl, p.decided_by as decidedBy,
        r.rule, r.escalates_at as escalatesAt, hex(r.owner) as ownerThen, r.proposed_scope as proposedScope,
        r.proposed_token_ttl as proposedTtl, r.proposed_max_uses as proposedUses, r.escalation_due_at as dueAt,
        (select json_group_array(json_array(event, json(details))) from audit_entries e where e.permission = p.id
          and event in (1, 2, 4)) as endings,
        (select json_group_array(json(vote)) from (select json_object('by', hex(member), 'ordinal', ordinal, 'decision', decision,
          'scope', json(scope), 'ttl', token_ttl, 'uses', max_uses, 'reason', reason, 'at', created_at) as vote
          from votes v where v.permission = p.id order by ordinal)) as votes,
        p.action
      from permissions p join reviews r on r.account = p.account and r.id = p.id`)
    .all<Json>();
  const { results: records } = await database
    .prepare(
      `select target, count(*) as votes from activity where action = ${ACTIVITY_ACTIONS.indexOf('permission.voted')} group by target`,
    )
    .all<{ target: string; votes: number }>();
  const recorded = new Map(records.map(({ target, votes }) => [target, votes]));
  const seen = await Promise.all(
    watched.map((client) =>
      client.prepare('select hex(permission) as id, at, owner, people from _approvals').all<Json>(),
    ),
  );
  const approvalsById = Map.groupBy(
    seen.flatMap(({ results }) => results),
    ({ id }) => id,
  );
  const faults: string[] = [];
  for (const row of results) {
    const moments = approvalsById.get(row.id) ?? [];
    const records = recorded.get(formatHexId('perm', row.id)) ?? 0;
    const [votes, endings] = [JSON.parse(row.votes), JSON.parse(row.endings)];
    const find = (fault: string) => faults.push(`permission ${row.id}: ${fault}`);
    const isPending = row.status === 0;
    if (endings.length !== (isPending ? 0 : 1)) find(`has ${endings.length} entries that end it`);
    if (votes.some(({ ordinal }: Json, i: number) => ordinal !== i + 1))
      find('has a gap in its votes');
    const approvals = votes.filter(({ decision }: Json) => decision === 0);
    if (new Set(approvals.map(({ by }: Json) => by)).size !== approvals.length)
      find('has two approvals of one person');
    const denials = votes.length - approvals.length;
    if (denials > (row.status === 2 ? 1 : 0)) find('has a denial that did not end it');
    const ended = row.status === 1 || row.status === 2;
    if (records !== votes.length - (ended ? 1 : 0))
      find(`has ${records} records of ${votes.length} votes`);
    if (!isPending && row.dueAt !== null) find('would still be escalated');
    // Nothing is wider than what came before it.
    let left = { scope: JSON.parse(row.scope), ttl: row.tokenTtl, uses: row.maxUses };
    for (const { scope, ttl, uses } of approvals) {
      const isWider = ttl > left.ttl || uses > left.uses || scope.limit > left.scope.limit;
      if (isWider) find('was widened by a vote');
      left = { scope, ttl, uses };
    }
    if (
      approvals.length > 0 &&
      !same(
        [row.proposedScope, row.proposedTtl, row.proposedUses],
        [JSON.stringify(left.scope), left.ttl, left.uses],
      )
    ) {
      find('has a proposal that is not that of its last approval');
    }
    const entry = endings[0]?.[1];
    if (entry) {
      const listed = entry.votes?.map(({ by, decision, token_ttl, max_uses, reason, at }: Json) => [
        ...[by, decision, token_ttl, max_uses, reason, Date.parse(at)],
      ]);
      const stored = votes.map(({ by, decision, ttl, uses, reason, at }: Json) => [
        ...[formatHexId('member', by), decision === 0 ? 'approve' : 'deny', ttl, uses, reason, at],
      ]);
      if (!same(listed, stored))
        find(`has other votes in its entry: ${JSON.stringify(entry.votes)}`);
      let last = JSON.parse(row.scope);
      for (const [i, vote] of (entry.votes ?? []).entries()) {
        last = vote.scope ?? last;
        if (!same(last, votes[i]?.scope)) find('has a vote with another scope in its entry');
      }
    }
    const [approval] = moments;
    const times = moments.length;
    if (times !== (row.status === 1 ? 1 : 0)) find(`was approved ${times} times`);
    if (!approval) continue;
    if (
      !same(
        [row.grantedScope, row.grantedTtl, row.tokenMaxUses],
        [row.proposedScope, left.ttl * 1_000, left.uses],
      )
    ) {
      find('grants something else than the last vote left');
    }
    const facts: ReviewFacts = {
      rule: readRule(row.rule),
      createdAt: row.createdAt,
      escalatesAt: row.escalatesAt,
      owners: [row.ownerThen, approval.owner].map((hex) => hex && formatHexId('member', hex)),
    };
    const people = new Map<string, Reviewer>(
      JSON.parse(approval.people).map(({ id, role, status, activeSince }: Json) => [
        id,
        {
          id: formatHexId('member', id),
          role: MEMBER_ROLES[role],
          status: MEMBER_STATUSES[status],
          activeSince,
        },
      ]),
    );
    const counted = approvals.filter(({ by }: Json) => {
      const person = people.get(by);
      return person && mayApprove(facts, person, approval.at);
    });
    // They may be more, if a vote did not count for a while, because its voter owned the agent.
    if (counted.length < facts.rule.approvals) {
      find(`was approved with ${counted.length} votes that count, of ${facts.rule.approvals}`);
    }
    if (!counted.includes(votes.at(-1))) find('was approved by somebody who is no reviewer');
    if (row.decidedBy !== formatHexId('member', votes.at(-1)?.by ?? ''))
      find('was decided by somebody else');
  }
  return faults;
}

/** The rule of a review as the API shows it, from its stored form. */
function readRule(text: string): Json {
  const rule = JSON.parse(text);
  const people = ({ members, roles, ...rest }: Json) => ({
    ...rest,
    members: members?.map((hex: string) => formatHexId('member', hex)) ?? null,
    roles: roles?.map((code: number) => MEMBER_ROLES[code]) ?? null,
  });
  return { ...people(rule), escalation: rule.escalation && people(rule.escalation) };
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

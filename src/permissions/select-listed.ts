import { type SQL, sql } from 'drizzle-orm';
import { oldestKeptSql } from '../audit/entry';
import type { EntryFilter } from '../audit/entry-filter';
import { selectPositions } from '../audit/select-positions';
import { codeOf, idSql } from '../db/columns';
import { PERMISSION_STATUSES, type PermissionStatus } from '../db/schema';
import { selectExamined } from '../db/select-examined';
import type { StoredEvent } from '../db/stored-events';
import { LOG_SPAN_SQL } from '../ledger/append';
import { type Id, idBytes } from '../lib/typeid';
import { hasOutcome, type ListedOutcome } from './outcomes/outcome';
import { type OutcomeOrder, selectOutcomes } from './outcomes/select-outcomes';

/** The permissions to list. An id of null matches none. */
export interface PermissionFilter {
  agent?: Id<'agent'> | SQL | null;
  status?: PermissionStatus | undefined;
  action?: string | undefined;
  externalId?: string | undefined;
  outcome?: ListedOutcome | undefined;
  /** The order of a list by outcome alone. */
  outcomeOrder?: OutcomeOrder;
  /** The member who decided or voted. */
  decidedBy?: Id<'member'> | null;
  /** The connection that made them. */
  connection?: Id<'conn'> | null;
}

/**
 * The place of a permission in a list, newest first: the sequence of its entry in the log or, in
 * the lists of an external id, a member, a connection and in the order of decisions, a time in
 * milliseconds.
 */
export interface Place {
  place: number;
  /** Orders permissions with the same time. */
  id: Id<'perm'>;
}

/**
 * Maximum number of permissions that one page examines where no index has exactly the listed ones.
 */
const MAX_EXAMINED = 500;

/**
 * Selects the permissions of a page, newest first, as `id`, `place` and `is_end`.
 *
 * Requests, decisions and expiries are read from the log, as far back as the account's
 * retention: an index of the log has the entries of one event, agent and action as one range. What
 * is pending is read from indexes of what is pending; what has an external id or an outcome, what a
 * member decided or voted on, and what a connection made, from indexes of these. So the cost of a
 * page does not depend on how many permissions the account has.
 *
 * A row with `is_end` is no item of the page: it is the last one that was examined, where more may
 * follow.
 */
export function selectListed(
  account: SQL<number>,
  filter: PermissionFilter,
  { after, limit, now }: { after: Place | undefined; limit: number; now: number },
): SQL {
  if (filter.externalId !== undefined) {
    const named = selectNamed(account, filter, filter.externalId, now);
    return sql`select id, place, 0 as is_end from (${named})
      where place is not null ${andAfter(after, 'id')} order by place desc, id desc limit ${limit}`;
  }
  if (filter.decidedBy !== undefined) {
    const since = filter.status === 'pending' ? sql`0` : oldestKeptSql(account, now);
    const decided = selectDecidedBy(account, filter.decidedBy, since, after);
    const isListed = sql`${matches(account, filter, now)} and ${hasStatus(filter.status, now)}`;
    const joinsAndWhere = sql`cross join permissions as stored
      on stored.account = ${account} and stored.id = permissions.id
      where ${isListed} and not (is_vote and decided_by is ${filter.decidedBy})`;
    return selectExaminedPermissions(decided, joinsAndWhere, limit);
  }
  if (filter.connection !== undefined) {
    const isListed = sql`${matches(account, filter, now)} and ${hasStatus(filter.status, now)}
      and stored.created_at >= ${oldestKeptSql(account, now)}`;
    const joinsAndWhere = sql`cross join permissions as stored
      on stored.account = ${account} and stored.id = permissions.id where ${isListed}`;
    return selectExaminedPermissions(
      selectMadeBy(account, filter.connection, after),
      joinsAndWhere,
      limit,
    );
  }
  if (filter.outcome !== undefined)
    return selectByOutcome(account, filter, filter.outcome, after, { limit, now });
  if (filter.status === 'pending') {
    let isListed = sql`expires_at > ${now}`;
    if (filter.action !== undefined) isListed = sql`${isListed} and action = ${filter.action}`;
    const pending = selectPending(account, filter, after);
    return selectExaminedPermissions(pending, sql`where ${isListed}`, limit);
  }
  return selectLogged(account, filter, filter.status ?? 'requested', after, { limit, now });
}

function selectExaminedPermissions(rows: SQL, joinsAndWhere: SQL, limit: number): SQL {
  return selectExamined(
    { rows, alias: 'permissions', columns: ['id', 'place'], joinsAndWhere },
    { limit, maxExamined: MAX_EXAMINED },
  );
}

/** The entries of the log that the lists consist of. */
const LISTED_EVENTS = {
  requested: 'request',
  approved: 'approve',
  denied: 'deny',
  expired: 'request_expire',
} as const satisfies Record<string, StoredEvent>;

function selectLogged(
  account: SQL<number>,
  { agent, action }: PermissionFilter,
  list: keyof typeof LISTED_EVENTS,
  after: Place | undefined,
  { limit, now }: { limit: number; now: number },
): SQL {
  const entries: EntryFilter = { events: [LISTED_EVENTS[list]], from: oldestKeptSql(account, now) };
  if (agent !== undefined) entries.agent = agent;
  if (action !== undefined) entries.action = action;
  if (after) entries.before = after.place;
  return sql`
    select entry.permission as id, entry.pos % ${LOG_SPAN_SQL} as place, 0 as is_end
    from (${selectPositions({ number: account }, entries, 'desc', limit)}) as listed
    cross join audit_entries as entry where entry.pos = listed.pos`;
}

/**
 * Selects what has an outcome: if it must be approved, in the order of the approvals in the log,
 * else in the order that the filter names. Nothing else was used, so nothing else has an outcome.
 */
function selectByOutcome(
  account: SQL<number>,
  filter: PermissionFilter,
  outcome: ListedOutcome,
  after: Place | undefined,
  { limit, now }: { limit: number; now: number },
): SQL {
  if (filter.status === 'approved') {
    const logged = selectLogged(account, filter, filter.status, after, {
      limit: MAX_EXAMINED,
      now,
    });
    const joinsAndWhere = sql`cross join permissions as stored
      on stored.account = ${account} and stored.id = permissions.id where ${hasOutcome(outcome, now)}`;
    return selectExaminedPermissions(logged, joinsAndWhere, limit);
  }
  if (filter.status !== undefined)
    return sql`select null as id, null as place, 0 as is_end where 0`;
  const { outcome: _, ...others } = filter;
  const joinsAndWhere = sql`where ${matches(account, others, now)}
    and permissions.created_at >= ${oldestKeptSql(account, now)}`;
  const rows = selectOutcomes(account, outcome, filter.outcomeOrder ?? 'request', { after, now });
  return selectExaminedPermissions(rows, joinsAndWhere, limit);
}

/** Selects what a connection made, in the order in which it did. */
function selectMadeBy(
  account: SQL<number>,
  connection: Id<'conn'> | null,
  after: Place | undefined,
): SQL {
  const isAfter = after ? sql`and id < ${idBytes(after.id)}` : sql``;
  return sql`select id, created_at as place from permissions indexed by permissions_by_connection
    where account = ${account} and connection_id = ${connection && idBytes(connection)}
      and connection_id is not null ${isAfter} order by id desc`;
}

/** Selects what is pending, with what tells whether it is listed. */
function selectPending(
  account: SQL<number>,
  { agent }: PermissionFilter,
  after: Place | undefined,
): SQL {
  let range = sql`permissions_pending where account = ${account}`;
  if (agent !== undefined)
    range = sql`permissions_pending_by_agent where agent = ${numberOf(account, agent)}`;
  if (after) range = sql`${range} and last_entry < ${after.place}`;
  return sql`select id, last_entry as place, action, expires_at
    from permissions indexed by ${range} and status = 0 order by last_entry desc`;
}

/**
 * Selects what a member decided or voted on since a time. A permission that the member voted on and
 * then decided is there twice, the decision first; nobody else can vote twice on one.
 */
function selectDecidedBy(
  account: SQL<number>,
  member: Id<'member'> | null,
  since: SQL,
  after: Place | undefined,
): SQL {
  return sql`
    select id, decided_at as place, 0 as is_vote from permissions indexed by permissions_by_decider
    where account = ${account} and decided_by = ${member} and decided_by glob 'member_*'
      and decided_at >= ${since} ${andAfter(after, 'id', 'decided_at')}
    union all
    select permission, created_at, 1 from votes indexed by votes_by_member
    where account = ${account} and member = ${member && idBytes(member)}
      and created_at >= ${since} ${andAfter(after, 'permission', 'created_at')}
    order by place desc, id desc`;
}

/**
 * Selects what agents requested under an external id: at most one permission for each agent. The
 * place is null where the status or the member is another.
 */
function selectNamed(
  account: SQL<number>,
  filter: PermissionFilter,
  externalId: string,
  now: number,
): SQL {
  return sql`
    select id, iif(${hasStatus(filter.status, now)}, ${placeOfNamed(filter)}, null) as place
    from permissions indexed by permissions_by_external_id
    where account = ${account} and external_id = ${externalId} and ${matches(account, filter, now)}`;
}

/**
 * When a permission was requested, decided or has expired, or when the member last voted on it. The
 * sweep that writes the entry of an expiry later does not change the time.
 */
function placeOfNamed({ decidedBy: member, status }: PermissionFilter): SQL {
  if (member !== undefined) {
    return sql`iif(decided_by = ${member}, decided_at, (
      select max(vote.created_at) from votes as vote
      where vote.account = permissions.account and vote.permission = permissions.id
        and vote.member = ${member && idBytes(member)}
    ))`;
  }
  if (status === 'approved' || status === 'denied') return sql`decided_at`;
  if (status === 'expired')
    return sql`iif(${isStored('pending')}, expires_at, min(expires_at, updated_at))`;
  return sql`created_at`;
}

function andAfter(after: Place | undefined, id: string, place = 'place'): SQL {
  if (!after) return sql``;
  const columns = sql.raw(`${place}, ${id}`);
  return sql`and (${columns}) < (${after.place}, ${idBytes(after.id)})`;
}

function matches(
  account: SQL<number>,
  { agent, action, outcome, connection }: PermissionFilter,
  now: number,
): SQL {
  const conditions = [sql`true`];
  if (connection !== undefined)
    conditions.push(sql`connection_id = ${connection && idBytes(connection)}`);
  if (agent !== undefined) conditions.push(sql`agent = ${numberOf(account, agent)}`);
  if (action !== undefined) conditions.push(sql`action = ${action}`);
  if (outcome !== undefined) conditions.push(hasOutcome(outcome, now));
  return sql.join(conditions, sql` and `);
}

/** The number of an agent of the account, as SQL; NULL, which matches nothing, if there is none. */
function numberOf(account: SQL<number>, agent: Id<'agent'> | SQL | null): SQL {
  if (!agent) return sql`null`;
  return sql`(select number from agents where agents.account = ${account} and agents.id = ${idSql(agent)})`;
}

function isStored(status: PermissionStatus): SQL {
  return sql`status = ${codeOf(PERMISSION_STATUSES, status)}`;
}

/**
 * Whether a permission has a status at the time `now`; for undefined, any. An overdue request is
 * expired, although its stored status may still be `pending`.
 */
function hasStatus(wanted: PermissionStatus | undefined, now: number): SQL {
  if (wanted === undefined) return sql`true`;
  if (wanted === 'pending') return sql`${isStored('pending')} and expires_at > ${now}`;
  if (wanted === 'expired')
    return sql`(${isStored('expired')} or ${isStored('pending')} and expires_at <= ${now})`;
  return isStored(wanted);
}

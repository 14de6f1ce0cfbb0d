import { and, eq, type SQL, sql } from 'drizzle-orm';
import { aliased } from '../db/columns';
import {
  isAgentOfPermission,
  isContentsOfPermission,
  isReviewOfPermission,
} from '../db/permission-joins';
import { agents, permissionContents, permissions, reviews } from '../db/schema';
import { selectExamined } from '../db/select-examined';
import type { UserContext } from '../http/context';
import { openPage, type Page } from '../http/page';
import { byId, type Id, idBytes, parseId } from '../lib/typeid';
import { readStored } from './contents';
import { findContradictions } from './contradictions';
import { reviewedColumns } from './find-permission';
import { notifiedNobodySql } from './notified-nobody';
import { type Permission, presentPermission, type ReviewedPermission } from './permission';
import type { Preview } from './preview';
import { countingApprovals } from './reviews/review';
import { awaitsDecisionOf, isEligible, isOwner } from './reviews/reviewers';
import { type Standing, standingOf, type Voter } from './reviews/voter';

/** A request that waits for a decision, with what a person needs to see how urgent it is. */
export interface WaitingRequest {
  permission: Permission;
  /** Its id for callers who may not read agents. */
  agentName: string;
  preview: Preview | null;
  /** Whether a field of the preview differs from the argument that it restates. */
  isContradictory: boolean;
  /** How many approvals its review has, of people who may still approve. */
  approvals: number;
  standing: Standing;
  /** Whether every message to people about it has failed so far. */
  notifiedNobody: boolean;
}

interface WaitingInput {
  limit: number;
  cursor?: string | undefined;
  agent_id?: string | undefined;
  /** By default the one that expires first is the first one. */
  order?: WaitingOrder;
  /** Lists only the requests that the caller can approve, or only the others; by default all. */
  waitsFor?: WaitsFor | undefined;
}

export type WaitingOrder = 'urgent' | 'newest';

/**
 * Whether requests wait for the caller, who is then a reviewer who has not approved, or for others.
 */
export type WaitsFor = 'caller' | 'others';

/**
 * Maximum number of waiting requests that one page of a list with `waitsFor` examines, since no
 * index tells who reviews a request.
 */
export const MAX_EXAMINED = 1_000;

/**
 * Lists the requests of the account that wait for a decision. With `waitsFor`, a page may have
 * fewer requests than the limit, or none, and still have a next page: see {@link MAX_EXAMINED}.
 */
export async function listWaiting(
  context: UserContext,
  input: WaitingInput,
): Promise<Page<WaitingRequest>> {
  const { principal, reader, runtime } = context;
  const { account, member } = principal;
  const now = runtime.now();
  const page = await openPage<Position>(
    context,
    { list: 'waiting', caller: account.id },
    { ...input },
  );
  const { order = 'urgent' } = input;
  const waiting = selectWaiting(account.number, input, page.after, now);
  const listed = selectListed(waiting, input.waitsFor, page.rowLimit, member?.id ?? null, now);
  const [rows] = await reader.load([
    reader
      .select({
        ...reviewedColumns(now),
        agentName: aliased(agents.name, 'agent_name'),
        preview: permissionContents.preview,
        input: permissionContents.input,
        voter: voterSql(member?.id ?? null, now),
        notifiedNobody: notifiedNobodySql,
        place: sql<number>`page.place`.as('place'),
        isEnd: sql<boolean>`page.is_end`.mapWith(Boolean).as('is_end'),
      })
      .from(sql`(${listed}) as page`)
      // A cross join keeps this order. With a plain join SQLite starts with every permission of the
      // account.
      .crossJoin(permissions)
      .innerJoin(agents, isAgentOfPermission)
      .leftJoin(reviews, isReviewOfPermission)
      .leftJoin(permissionContents, isContentsOfPermission)
      .where(and(eq(permissions.account, account.number), sql`${permissions.id} = page.id`)),
  ]);
  const found = rows as WaitingRow[];
  const inOrder = ORDERS[order];
  found.sort((a, b) => Number(a.isEnd) - Number(b.isEnd) || inOrder(a, b));
  const showsNames = principal.scopes.includes('agents:read');
  const present = ({
    agentName,
    preview: storedPreview,
    input,
    notifiedNobody,
    place: _,
    isEnd,
    ...row
  }: WaitingRow): WaitingRequest | null => {
    if (isEnd) return null;
    const preview = readStored<Preview>(storedPreview);
    return {
      permission: presentPermission(row, now, principal),
      agentName: showsNames ? agentName : row.agentId,
      preview,
      isContradictory: preview !== null && isContradictory(preview, input),
      approvals: row.review ? countingApprovals(row.review).length : 0,
      standing: standingOf(row.review, row.voter, member?.id),
      notifiedNobody,
    };
  };
  const position = ({ place, id }: WaitingRow): Position => `${place}.${id}`;
  return page.make(found, present, { position, isCut: found.some(({ isEnd }) => isEnd) });
}

/** @param input the stored arguments; null if the service does not have them */
function isContradictory(preview: Preview, input: string | null): boolean {
  if (input === null || !preview.fields?.some(({ of }) => of !== undefined)) return false;
  return findContradictions(preview, JSON.parse(input)).length > 0;
}

type Position = `${number}.${Id<'perm'>}`;

type WaitingRow = ReviewedPermission & {
  agentName: string;
  preview: string | null;
  input: string | null;
  voter: Pick<Voter, 'isEligible' | 'isOwner'> | null;
  notifiedNobody: boolean;
  /** When it expires; in the order `newest`, the sequence of its request in the log. */
  place: number;
  /**
   * Whether it only marks where the examined requests end: it is the last of them, listed or not.
   */
  isEnd: boolean;
};

type Comparison = (a: WaitingRow, b: WaitingRow) => number;

const ORDERS: Record<WaitingOrder, Comparison> = {
  newest: (a, b) => b.place - a.place,
  urgent: (a, b) => a.place - b.place || byId(a, b),
};

type VoterState = Record<'isEligible' | 'isOwner', 0 | 1>;

/**
 * Selects the rows of a page, and the row that marks where the examined requests end, as `id`,
 * `place` and `is_end`.
 * @param waiting the waiting requests in their order
 */
function selectListed(
  waiting: SQL,
  waitsFor: WaitsFor | undefined,
  rowLimit: number,
  member: Id<'member'> | null,
  now: number,
): SQL {
  if (waitsFor === undefined) {
    // Where SQLite sorts, the inner limit spares it a look at its last row for every other one.
    return sql`
      select id, place, 0 as is_end from (${waiting} limit ${MAX_EXAMINED}) limit ${rowLimit}`;
  }
  const awaitsCaller = sql`(reviews.id is null or exists (
    select 1 from members cross join agents
    where members.account = permissions.account and members.id = ${member && idBytes(member)}
      and agents.number = permissions.agent and ${awaitsDecisionOf(now)}
  ))`;
  const isWanted = waitsFor === 'caller' ? awaitsCaller : sql`not ${awaitsCaller}`;
  const joinsAndWhere = sql`left join reviews
    on reviews.account = permissions.account and reviews.id = permissions.id
    where ${isWanted}`;
  const examined = { rows: waiting, alias: 'permissions', columns: ['id', 'place'] };
  return selectExamined(
    { ...examined, joinsAndWhere },
    { limit: rowLimit, maxExamined: MAX_EXAMINED },
  );
}

/**
 * Selects the waiting requests after a position, in their order, with the columns that tell who
 * reviews them: indexes have all of it.
 */
function selectWaiting(
  account: number,
  { agent_id, order }: Pick<WaitingInput, 'agent_id' | 'order'>,
  after: Position | undefined,
  now: number,
): SQL {
  const [time, id] = after?.split('.') ?? [];
  const place = Number(time);
  const last = parseId('perm', id ?? '');
  const agent = parseId('agent', agent_id ?? '');
  let isListed = sql`account = ${account} and status = 0 and expires_at > ${now}`;
  if (agent_id !== undefined)
    isListed = sql`${isListed} and agent = (select number from agents where agents.account = ${account} and agents.id = ${agent && idBytes(agent)})`;
  const ofAgent = sql`permissions indexed by permissions_pending_by_agent where ${isListed}`;
  const select = sql`select account, id, agent, created_at, expires_at`;
  if (order === 'newest') {
    let requests = sql`permissions indexed by permissions_pending where ${isListed}`;
    if (agent_id !== undefined) requests = ofAgent;
    if (last) requests = sql`${requests} and last_entry < ${place}`;
    return sql`${select}, last_entry as place from ${requests} order by last_entry desc`;
  }
  let requests = sql`permissions indexed by permissions_waiting where ${isListed}`;
  // An agent has few: they are read and sorted.
  if (agent_id !== undefined) requests = ofAgent;
  if (last) requests = sql`${requests} and (expires_at, id) > (${place}, ${idBytes(last)})`;
  return sql`${select}, expires_at as place from ${requests} order by expires_at, id`;
}

/** How the member stands to the review of the row, as SQL; null without a review. */
function voterSql(member: Id<'member'> | null, now: number) {
  return sql<Pick<Voter, 'isEligible' | 'isOwner'> | null>`(
    select json_object('isEligible', ${isEligible(now)}, 'isOwner', ${isOwner}) from members
    where reviews.id is not null and members.account = permissions.account and members.id = ${member && idBytes(member)}
  )`
    .mapWith((text: string) => {
      const { isEligible, isOwner }: VoterState = JSON.parse(text);
      return { isEligible: isEligible === 1, isOwner: isOwner === 1 };
    })
    .as('voter');
}

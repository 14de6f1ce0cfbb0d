import { and, eq, type SQL, sql } from 'drizzle-orm';
import { aliased } from '../db/columns';
import {
  isAgentOfPermission,
  isContentsOfPermission,
  isReviewOfPermission,
} from '../db/permission-joins';
import { agents, pendingPermissions, permissionContents, permissions, reviews } from '../db/schema';
import type { UserContext } from '../http/context';
import { openPage, type Page } from '../http/page';
import { byId, type Id, idBytes, parseId } from '../lib/typeid';
import { readStored } from './contents';
import { notifiedNobodySql } from './notified-nobody';
import {
  type Permission,
  presentPermission,
  type ReviewedPermission,
  reviewedColumns,
} from './permission';
import type { Preview } from './preview';
import { awaitsDecisionOf, isEligible, isOwner } from './reviews/reviewers';
import { type Standing, standingOf, type Voter } from './reviews/voter';

/** A request that waits for a decision, with what a person needs to see how urgent it is. */
export interface WaitingRequest {
  permission: Permission;
  /** Its id for callers who may not read agents. */
  agentName: string;
  preview: Preview | null;
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
        voter: voterSql(member?.id ?? null, now),
        notifiedNobody: notifiedNobodySql,
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
    preview,
    notifiedNobody,
    isEnd,
    ...row
  }: WaitingRow): WaitingRequest | null => {
    if (isEnd) return null;
    return {
      permission: presentPermission(row, now, principal),
      agentName: showsNames ? agentName : row.agentId,
      preview: readStored<Preview>(preview),
      standing: standingOf(row.review, row.voter, member?.id),
      notifiedNobody,
    };
  };
  const position = ({ expiresAt, id }: WaitingRow): Position => `${expiresAt}.${id}`;
  return page.make(found, present, { position, isCut: found.some(({ isEnd }) => isEnd) });
}

type Position = `${number}.${Id<'perm'>}`;

type WaitingRow = ReviewedPermission & {
  agentName: string;
  preview: string | null;
  voter: Pick<Voter, 'isEligible' | 'isOwner'> | null;
  notifiedNobody: boolean;
  /**
   * Whether it only marks where the examined requests end: it is the last of them, listed or not.
   */
  isEnd: boolean;
};

type Comparison = (a: WaitingRow, b: WaitingRow) => number;

const ORDERS: Record<WaitingOrder, Comparison> = {
  newest: (a, b) => byId(b, a),
  urgent: (a, b) => a.expiresAt - b.expiresAt || byId(a, b),
};

type VoterState = Record<'isEligible' | 'isOwner', 0 | 1>;

/**
 * Up to so many waiting requests of an agent are read and sorted; more are found among those of the
 * account.
 */
const FEW = 100;

/**
 * The columns that tell the order of waiting requests and who reviews them. The index
 * `permissions_waiting` has all of it.
 */
const COLUMNS = sql.raw('account, id, agent, created_at, expires_at');

/**
 * Selects the ids of the rows of a page, and of the row that marks where the examined requests end.
 */
function selectListed(
  waiting: Ordered[],
  waitsFor: WaitsFor | undefined,
  rowLimit: number,
  member: Id<'member'> | null,
  now: number,
): SQL {
  const fromEach = (select: (ordered: Ordered) => SQL) =>
    sql.join(waiting.map(select), sql` union all `);
  if (waitsFor === undefined) {
    return fromEach(
      ({ query, limit }) => sql`select id, 0 as is_end from (${query} limit ${limit(rowLimit)})`,
    );
  }
  const awaitsCaller = sql`(reviews.id is null or exists (
    select 1 from members cross join agents
    where members.account = permissions.account and members.id = ${member && idBytes(member)}
      and agents.number = permissions.agent and ${awaitsDecisionOf(now)}
  ))`;
  // SQLite examines the waiting requests one after the other, and stops as soon as the page is
  // full.
  const isWanted = waitsFor === 'caller' ? awaitsCaller : sql`not ${awaitsCaller}`;
  const matching = ({ query, limit }: Ordered) => sql`select * from (
    select permissions.id from (${query} limit ${limit(MAX_EXAMINED)}) as permissions
    left join reviews on reviews.account = permissions.account and reviews.id = permissions.id
    where ${isWanted}
    limit ${rowLimit}
  )`;
  const end = ({ query, limit }: Ordered) => sql`
    select (select id from (${query} limit ${limit(MAX_EXAMINED)}) limit 1 offset ${MAX_EXAMINED - 1}), 1
    where (select count(*) from listed) < ${rowLimit}`;
  return sql`with listed as materialized (${fromEach(matching)})
    select id, 0 as is_end from listed union all ${fromEach(end)}`;
}

/** Waiting requests in their order. */
interface Ordered {
  query: SQL;
  /** How many rows to read for up to `count` requests: none if another query finds them. */
  limit: (count: number) => SQL;
}

const always = (count: number) => sql`${count}`;

/**
 * Selects the waiting requests after a position, in their order, with one or more queries of which
 * one finds them.
 */
function selectWaiting(
  account: number,
  { agent_id, order }: Pick<WaitingInput, 'agent_id' | 'order'>,
  after: Position | undefined,
  now: number,
): Ordered[] {
  const [time, id] = after?.split('.') ?? [];
  const last = parseId('perm', id ?? '');
  const agent = parseId('agent', agent_id ?? '');
  const isOfAgent = sql`agent = (select number from agents where account = ${account} and id = ${agent && idBytes(agent)})`;
  let isListed = sql`account = ${account} and status = 0 and expires_at > ${now}`;
  if (agent_id !== undefined) isListed = sql`${isListed} and ${isOfAgent}`;
  if (order === 'newest') {
    let requests = sql`permissions indexed by permissions_by_agent where ${isListed}`;
    if (agent_id === undefined)
      requests = sql`permissions indexed by permissions_by_status where ${isListed}`;
    if (last) requests = sql`${requests} and id < ${idBytes(last)}`;
    return [{ query: sql`select ${COLUMNS} from ${requests} order by id desc`, limit: always }];
  }
  if (last) isListed = sql`${isListed} and (expires_at, id) > (${Number(time)}, ${idBytes(last)})`;
  const ofAccount = sql`permissions indexed by permissions_waiting where ${isListed}`;
  const inOrder = (requests: SQL) =>
    sql`select ${COLUMNS} from ${requests} order by expires_at, id`;
  if (agent_id === undefined) return [{ query: inOrder(ofAccount), limit: always }];
  const ofAgent = sql`permissions indexed by permissions_by_agent where ${isListed}`;
  const count = sql`coalesce((select count from ${pendingPermissions} where account = ${account} and ${isOfAgent}), 0)`;
  // A limit is computed once; a condition would be checked for each row.
  return [
    { query: inOrder(ofAgent), limit: (rows) => sql`iif(${count} <= ${FEW}, ${rows}, 0)` },
    { query: inOrder(ofAccount), limit: (rows) => sql`iif(${count} > ${FEW}, ${rows}, 0)` },
  ];
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

import { and, eq, type SQL, sql } from 'drizzle-orm';
import { aliased } from '../db/columns';
import { agents, permissionContents, permissions, reviews } from '../db/schema';
import type { UserContext } from '../http/context';
import { openPage, type Page } from '../http/page';
import { type Id, idBytes, parseId } from '../lib/typeid';
import { notifiedNobodySql } from './notified-nobody';
import { type Permission, presentPermission, type ReviewedPermission, reviewedColumns } from './permission';
import type { Preview } from './preview';
import { isEligible, isOwner } from './reviews/reviewers';
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
}

export type WaitingOrder = 'urgent' | 'newest';

/** Lists the requests of the account that wait for a decision. */
export async function listWaiting(context: UserContext, input: WaitingInput): Promise<Page<WaitingRequest>> {
  const { principal, reader, runtime } = context;
  const { account, member } = principal;
  const now = runtime.now();
  const page = await openPage<Position>(context, { list: 'waiting', caller: account.id }, { ...input });
  const { order = 'urgent' } = input;
  const waiting = selectWaiting(account.number, input, page.after, now);
  const [rows] = await reader.load([
    reader
      .select({
        ...reviewedColumns(now),
        agentName: aliased(agents.name, 'agent_name'),
        preview: permissionContents.preview,
        voter: voterSql(member?.id ?? null, now),
        notifiedNobody: notifiedNobodySql,
      })
      .from(sql`(${waiting} limit ${page.rowLimit}) as page`)
      // A cross join keeps this order. With a plain join SQLite starts with every permission of the account.
      .crossJoin(permissions)
      .innerJoin(agents, eq(agents.number, permissions.agent))
      .leftJoin(reviews, and(eq(reviews.account, permissions.account), eq(reviews.id, permissions.id)))
      .leftJoin(
        permissionContents,
        and(eq(permissionContents.account, permissions.account), eq(permissionContents.id, permissions.id)),
      )
      .where(and(eq(permissions.account, account.number), sql`${permissions.id} = page.id`)),
  ]);
  const found = rows as WaitingRow[];
  const byId = (a: WaitingRow, b: WaitingRow) => (a.id < b.id ? -1 : 1);
  found.sort((a, b) => (order === 'newest' ? byId(b, a) : a.expiresAt - b.expiresAt || byId(a, b)));
  const present = ({ agentName, preview, notifiedNobody, ...row }: WaitingRow): WaitingRequest => ({
    permission: presentPermission(row, now, principal),
    agentName: principal.scopes.includes('agents:read') ? agentName : row.agentId,
    preview: preview === null ? null : (JSON.parse(preview) as Preview),
    standing: standingOf(row.review, row.voter, member?.id),
    notifiedNobody,
  });
  return page.make(found, present, { position: ({ expiresAt, id }): Position => `${expiresAt}.${id}` });
}

type Position = `${number}.${Id<'perm'>}`;

type WaitingRow = ReviewedPermission & {
  agentName: string;
  preview: string | null;
  voter: Pick<Voter, 'isEligible' | 'isOwner'> | null;
  notifiedNobody: boolean;
};

type VoterState = Record<'isEligible' | 'isOwner', 0 | 1>;

/** Up to so many waiting requests of an agent are read and sorted; more are found among those of the account. */
const FEW = 100;

/** Selects the ids of the waiting requests after a position, in their order. */
function selectWaiting(
  account: number,
  { agent_id, order }: Pick<WaitingInput, 'agent_id' | 'order'>,
  after: Position | undefined,
  now: number,
): SQL {
  const [time, id] = after?.split('.') ?? [];
  const last = parseId('perm', id ?? '');
  const agent = agent_id === undefined ? null : parseId('agent', agent_id);
  const isOfAgent = sql`agent = (select number from agents where account = ${account} and id = ${agent && idBytes(agent)})`;
  const isWaiting = sql`account = ${account} and status = 0 and expires_at > ${now}`;
  const isListed = agent_id === undefined ? isWaiting : sql`${isWaiting} and ${isOfAgent}`;
  if (order === 'newest') {
    const index = sql.raw(agent_id === undefined ? 'permissions_by_status' : 'permissions_by_agent');
    return sql`select id from permissions indexed by ${index}
      where ${isListed} ${last ? sql`and id < ${idBytes(last)}` : sql``} order by id desc`;
  }
  const isAfter = last ? sql`and (expires_at, id) > (${Number(time)}, ${idBytes(last)})` : sql``;
  const ofAccount = sql`permissions indexed by permissions_waiting where ${isListed}`;
  if (agent_id === undefined) return sql`select id from ${ofAccount} ${isAfter} order by expires_at, id`;
  const ofAgent = sql`permissions indexed by permissions_by_agent where ${isListed}`;
  const pending = sql`permissions indexed by permissions_by_agent where status = 0 and ${isOfAgent}`;
  const count = sql`(select count(*) from (select 1 from ${pending} limit ${FEW + 1}))`;
  // As the outer loop of a join, a condition is checked once, and not for each row.
  return sql`select id, expires_at from (select 1 where ${count} <= ${FEW}) cross join ${ofAgent} ${isAfter}
    union all select id, expires_at from (select 1 where ${count} > ${FEW}) cross join ${ofAccount} ${isAfter}
    order by expires_at, id`;
}

/** How the member stands to the review of the row, as SQL; null without a review. */
function voterSql(member: Id<'member'> | null, now: number) {
  return sql<Pick<Voter, 'isEligible' | 'isOwner'> | null>`(
    select json_object('isEligible', ${isEligible(now)}, 'isOwner', ${isOwner}) from members
    where reviews.id is not null and members.account = permissions.account and members.id = ${member && idBytes(member)}
  )`
    .mapWith((text: string) => {
      const { isEligible, isOwner } = JSON.parse(text) as VoterState;
      return { isEligible: isEligible === 1, isOwner: isOwner === 1 };
    })
    .as('voter');
}

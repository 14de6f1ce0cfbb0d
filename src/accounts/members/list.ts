import { and, eq, type SQL, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { codeOf } from '../../db/columns';
import { mergeSorted } from '../../db/merge-sorted';
import { MEMBER_ROLES, MEMBER_STATUSES, members } from '../../db/schema';
import { userAccess } from '../../http/access';
import type { UserContext } from '../../http/context';
import { query } from '../../http/input';
import { defineList, loadPage, preloadPage } from '../../http/list';
import { answer, ok, operation } from '../../http/operation';
import { openPage, type Page, pageParameters } from '../../http/page';
import { pageOf } from '../../http/response-fields';
import { MemberRoleField } from '../../identity/roles';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { type Id, idBytes, parseId } from '../../lib/typeid';
import { Member, type MemberRow, MemberStatusField, memberRow, presentMember } from './member';

const MemberListQuery = lazy(() =>
  z.strictObject({
    ...pageParameters(20, 100),
    role: MemberRoleField().optional().meta({ description: 'Only members with this role.' }),
    status: MemberStatusField().optional().meta({
      description: 'Only members with this status; without it, all but the removed ones.',
    }),
  }),
);

const NOT_REMOVED = MEMBER_STATUSES.filter((status) => status !== 'removed');

type MemberListInput = LazyOutput<typeof MemberListQuery>;

const memberList = defineList({
  parameters: MemberListQuery,
  readPosition: (text: string) => parseId('member', text),
  select: (reader, { account }, input, { after, rowLimit }) =>
    reader
      .select(memberRow)
      .from(sql`(select id from (${selectIds(account, input, after)}) limit ${rowLimit}) as page`)
      .crossJoin(members)
      .where(and(eq(members.account, account), sql`${members.id} = page.id`)),
});

/**
 * Lists the account's members, newest first; removed ones only if the input asks for them.
 * @param preloaded the rows of the page, if they were preloaded
 */
export function listMembers(
  context: UserContext,
  input: MemberListInput,
  preloaded?: MemberRow[],
): Promise<Page<Member>> {
  return listMemberRows(context, input, presentMember, preloaded);
}

/** The same list of whatever `present` makes of a member's row. */
export async function listMemberRows<T>(
  context: UserContext,
  input: MemberListInput,
  present: (row: MemberRow) => T,
  preloaded?: MemberRow[],
): Promise<Page<T>> {
  const { account } = context.principal;
  const page = await openPage<Id<'member'>>(
    context,
    { list: 'members', caller: account.id },
    input,
  );
  const rows = preloaded ?? (await loadPage(memberList, context, input, page));
  // Sorted here, because SQLite would read each row again to sort the join.
  rows.sort((a, b) => (a.id < b.id ? 1 : -1));
  return page.make(rows, present);
}

/** The names of a member for other people. */
type MemberName = Pick<Member, 'id' | 'name' | 'email'>;

/** Loads the names of the newest members, of the removed ones or of all others. */
export async function loadMemberNames(
  { reader, principal }: UserContext,
  { limit, status }: { limit: number; status?: 'removed' | undefined },
): Promise<MemberName[]> {
  const { number } = principal.account;
  const ids = selectIds(number, { status }, undefined);
  const [rows] = await reader.load([
    reader
      .select({ id: members.id, name: members.name, email: members.email })
      .from(sql`(select id from (${ids}) limit ${limit}) as page`)
      .crossJoin(members)
      .where(and(eq(members.account, number), sql`${members.id} = page.id`)),
  ]);
  return rows;
}

/**
 * Makes the select of the ids of the matching members, newest first. It merges one range of an
 * index for each status, so it reads no removed members unless they are wanted.
 */
function selectIds(
  account: number | SQL<number>,
  { role, status }: Pick<MemberListInput, 'role' | 'status'>,
  after: Id<'member'> | undefined,
): SQL {
  const hasRole = role ? sql`and role = ${codeOf(MEMBER_ROLES, role)}` : sql``;
  const older = after ? sql`and id < ${idBytes(after)}` : sql``;
  const wanted = status ? [status] : NOT_REMOVED;
  const arms = wanted.map(
    (each) => sql`
      select id from members indexed by members_by_status
      where account = ${account} and status = ${codeOf(MEMBER_STATUSES, each)} ${hasRole} ${older}`,
  );
  return mergeSorted(arms, 'id', 'desc');
}

export const listMembersRoute = new Hono().get(
  '/v1/members',
  operation({
    id: 'listMembers',
    tag: 'Members',
    summary: 'List members',
    description: 'Newest first. Removed members are listed only with `status=removed`.',
    success: ok(pageOf(Member)),
  }),
  userAccess('account:read', preloadPage(memberList)),
  query(MemberListQuery),
  async (c) => answer(c, await listMembers(c.var.context, c.req.valid('query'), c.var.loaded.page)),
);

import { and, desc, eq, lt, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { codeOf } from '../../db/columns';
import { MEMBER_STATUSES, members } from '../../db/schema';
import { userAccess } from '../../http/access';
import type { UserContext } from '../../http/context';
import { query } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { openPage, type Page, pageParameters } from '../../http/page';
import { pageOf } from '../../http/response-fields';
import { MemberRoleField } from '../../http/roles';
import { lazy } from '../../lib/lazy';
import type { Id } from '../../lib/typeid';
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

type MemberListInput = z.output<ReturnType<typeof MemberListQuery>>;

/** Lists the account's members, newest first; removed ones only if the input asks for them. */
export function listMembers(context: UserContext, input: MemberListInput): Promise<Page<Member>> {
  return listMemberRows(context, input, presentMember);
}

/** The same list of whatever `present` makes of a member's row. */
export async function listMemberRows<T>(
  context: UserContext,
  input: MemberListInput,
  present: (row: MemberRow) => T,
): Promise<Page<T>> {
  const { reader, principal } = context;
  const { account } = principal;
  const { role, status } = input;
  const page = await openPage<Id<'member'>>(
    context,
    { list: 'members', caller: account.id },
    input,
  );
  const [rows] = await reader.load([
    reader
      .select(memberRow)
      .from(members)
      .where(
        and(
          eq(members.account, account.number),
          status
            ? eq(members.status, status)
            : sql`${members.status} <> ${codeOf(MEMBER_STATUSES, 'removed')}`,
          role && eq(members.role, role),
          page.after && lt(members.id, page.after),
        ),
      )
      .orderBy(desc(members.id))
      .limit(page.rowLimit),
  ]);
  return page.make(rows, present);
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
  userAccess('account:read'),
  query(MemberListQuery),
  async (c) => answer(c, await listMembers(c.var.context, c.req.valid('query'))),
);

import { and, desc, gt, lt } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { sessions } from '../../db/schema';
import { userAccess } from '../../http/access';
import type { UserContext } from '../../http/context';
import { query } from '../../http/input';
import { defineList, loadPage, preloadPage, type RowsOf } from '../../http/list';
import { answer, ok, operation } from '../../http/operation';
import { openPage, type Page, pageParameters } from '../../http/page';
import { pageOf } from '../../http/response-fields';
import { ownSessions, presentSession, Session } from '../../identity/sessions/session';
import { SESSION_IDLE_TIME, SESSION_LIFETIME } from '../../ledger/authority';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { type Id, parseId } from '../../lib/typeid';

const SessionListQuery = lazy(() => z.strictObject(pageParameters(20, 100)));

const sessionList = defineList({
  parameters: SessionListQuery,
  readPosition: (text: string) => parseId('session', text),
  select: (reader, caller, _, { after, rowLimit }) =>
    reader
      .select()
      .from(sessions)
      .where(
        and(
          ownSessions(caller),
          gt(sessions.lastSeenAt, caller.now - SESSION_IDLE_TIME),
          gt(sessions.createdAt, caller.now - SESSION_LIFETIME),
          after && lt(sessions.id, after),
        ),
      )
      .orderBy(desc(sessions.id))
      .limit(rowLimit),
});

/**
 * Lists the console sessions of the caller, newest first: see {@link ownSessions}.
 * @param preloaded the rows of the page, if they were preloaded
 */
export async function listSessions(
  context: UserContext,
  input: LazyOutput<typeof SessionListQuery>,
  preloaded?: RowsOf<typeof sessionList>,
): Promise<Page<Session>> {
  const { account, member } = context.principal;
  const page = await openPage<Id<'session'>>(
    context,
    { list: 'sessions', caller: member?.id ?? account.id },
    input,
  );
  const rows = preloaded ?? (await loadPage(sessionList, context, input, page));
  return page.make(rows, presentSession);
}

export const listSessionsRoute = new Hono().get(
  '/v1/me/sessions',
  operation({
    id: 'listSessions',
    tag: 'Account',
    summary: 'List your sessions',
    description:
      'The sessions of the console in which you are signed in; for a token of the account, those that were started with ' +
      "the account's own tokens. Newest first.",
    success: ok(pageOf(Session)),
  }),
  userAccess('account:read', preloadPage(sessionList)),
  query(SessionListQuery),
  async (c) =>
    answer(c, await listSessions(c.var.context, c.req.valid('query'), c.var.loaded.page)),
);

import { and, desc, eq, lt } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { connections } from '../db/schema';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { query } from '../http/input';
import { defineList, loadPage, preloadPage } from '../http/list';
import { answer, ok, operation } from '../http/operation';
import { openPage, type Page, pageParameters } from '../http/page';
import { pageOf } from '../http/response-fields';
import { type LazyOutput, lazy } from '../lib/lazy';
import { type Id, parseId } from '../lib/typeid';
import { Connection, type ConnectionRow, presentConnection } from './connection';

/** The query parameters of the list of connections. */
const ConnectionListQuery = lazy(() => z.strictObject(pageParameters(20, 100)));

/** The list of an account's connections, newest first. */
const connectionList = defineList({
  parameters: ConnectionListQuery,
  readPosition: (text: string) => parseId('conn', text),
  select: (reader, { account }, _, { after, rowLimit }) =>
    reader
      .select()
      .from(connections)
      .where(and(eq(connections.account, account), after && lt(connections.id, after)))
      .orderBy(desc(connections.id))
      .limit(rowLimit),
});

/** Preloads the page of connections that the query string asks for. */
const preloadConnections = preloadPage(connectionList);

/**
 * Lists the account's connections, newest first.
 * @param preloaded the rows of the page, if they were preloaded
 */
export async function listConnections(
  context: UserContext,
  input: LazyOutput<typeof ConnectionListQuery>,
  preloaded?: ConnectionRow[],
): Promise<Page<Connection>> {
  const { account } = context.principal;
  const page = await openPage<Id<'conn'>>(
    context,
    { list: 'connections', caller: account.id },
    input,
  );
  const rows = preloaded ?? (await loadPage(connectionList, context, input, page));
  return page.make(rows, presentConnection);
}

export const listConnectionsRoute = new Hono().get(
  '/v1/connections',
  operation({
    id: 'listConnections',
    tag: 'Connections',
    summary: 'List connections',
    description: 'Newest first.',
    success: ok(pageOf(Connection)),
  }),
  userAccess('connections:read', preloadConnections),
  query(ConnectionListQuery),
  async (c) =>
    answer(c, await listConnections(c.var.context, c.req.valid('query'), c.var.loaded.page)),
);

import { type SQL, sql } from 'drizzle-orm';
import type * as z from 'zod';
import { idSql } from '../db/columns';
import type { Reader } from '../db/database';
import type { Query } from '../db/statements';
import type { CallerSql } from '../identity/credentials';
import type { Context, RequestContext } from './context';
import { readQuery } from './input';
import { type ListQuery, type PageRange, uncheckedPosition } from './page';

/** The caller of a list as SQL, so that the query can run before the caller is known. */
export interface ListCaller {
  /** The number of the account. */
  account: SQL<number>;
  /** The id of the member; null if no member acts. */
  member: SQL;
  /** The id of the agent; no SQL at all for a user. */
  agent: SQL | null;
  /** The time of the request, in milliseconds since the epoch. */
  now: number;
}

/** How the rows of a list are selected, a page at a time. */
export interface List<S extends z.ZodType<ListQuery>, P extends string, Q extends Query> {
  /** The query parameters. */
  parameters: () => S;
  /** Returns the text if it is a position in the list, else null. */
  readPosition: (text: string) => P | null;
  /** Selects the rows of the caller's page. */
  select: (reader: Reader, caller: ListCaller, input: z.output<S>, range: PageRange<P>) => Q;
}

/** Defines a list: gives its parts their types. */
export function defineList<S extends z.ZodType<ListQuery>, P extends string, Q extends Query>(
  list: List<S, P, Q>,
): List<S, P, Q> {
  return list;
}

/** The rows of a page of a list. */
export type RowsOf<L extends { select: (...args: never[]) => Query }> = ReturnType<
  L['select']
>['_']['result'];

/**
 * Makes a preload of the page that the query string asks for, so that a list takes one round trip.
 *
 * The cursor is not checked yet, because it is bound to the caller. So rows are read for one that
 * was made for somebody else too, but only rows of the caller's own account, and `openPage` refuses
 * the request before it shows them.
 */
export function preloadPage<S extends z.ZodType<ListQuery>, P extends string, Q extends Query>(
  list: List<S, P, Q>,
) {
  return async (c: RequestContext, reader: Reader, caller: CallerSql) => {
    return { page: selectRequested(c, list, reader, caller) };
  };
}

/** Selects what {@link preloadPage} loads; null for an invalid query string or cursor. */
export function selectRequested<S extends z.ZodType<ListQuery>, P extends string, Q extends Query>(
  c: RequestContext,
  list: List<S, P, Q>,
  reader: Reader,
  { account, member, agent }: CallerSql,
): Q | null {
  const input = readQuery(c, list.parameters());
  if (!input) return null;
  const caller = { account, member, agent, now: c.var.runtime.now() };
  const rowLimit = input.limit + 1;
  if (input.cursor === undefined)
    return list.select(reader, caller, input, { after: undefined, rowLimit });
  const after = list.readPosition(uncheckedPosition(input.cursor) ?? '');
  if (!after) return null;
  return list.select(reader, caller, input, { after, rowLimit });
}

/** Loads the rows of a page that was not preloaded. */
export async function loadPage<S extends z.ZodType<ListQuery>, P extends string, Q extends Query>(
  list: List<S, P, Q>,
  context: Context,
  input: z.output<S>,
  range: PageRange<P>,
): Promise<Q['_']['result']> {
  const { reader } = context;
  const [rows] = await reader.load([list.select(reader, listCaller(context), input, range)]);
  return rows;
}

/** The caller of a list, once known. */
export function listCaller({
  principal,
  runtime,
}: Pick<Context, 'principal' | 'runtime'>): ListCaller {
  const member = principal.kind === 'user' ? principal.member : null;
  return {
    account: sql<number>`${principal.account.number}`,
    member: member ? idSql(member.id) : sql`null`,
    agent: principal.kind === 'agent' ? idSql(principal.agent.id) : null,
    now: runtime.now(),
  };
}

import { sql } from 'drizzle-orm';
import { loadNonNull, type Reader } from '../db/database';
import { actorOf } from '../http/activity';
import type { RequestContext, UserContext } from '../http/context';
import type { CallerSql } from '../identity/credentials';
import { type Id, idBytes, parseId } from '../lib/typeid';
import { preloadPermissionWithContents } from './contents';
import { selectDecision } from './reviews/preload-decision';
import { selectSigningPasskeys } from './reviews/statement';

/**
 * Preloads a permission with what somebody needs to decide it: the permission in the path with its
 * contents, how the caller stands to its review, and the caller's passkeys.
 */
export async function preloadDecidable(
  c: RequestContext,
  reader: Reader,
  { account, id: callerId }: Pick<CallerSql, 'account' | 'id'>,
) {
  const id = parseId('perm', c.req.param('id') ?? '');
  const { voter } = selectDecision(reader, {
    account,
    callerId,
    id,
    assertion: undefined,
    now: c.var.runtime.now(),
  });
  return {
    ...(await preloadPermissionWithContents(c, reader, { account })),
    voter,
    passkeys: selectSigningPasskeys(reader, account, callerId),
  };
}

/** Loads again what {@link preloadDecidable} loads, such as after a decision was refused. */
export async function loadDecidable(c: RequestContext, { principal, reader }: UserContext) {
  const account = sql<number>`${principal.account.number}`;
  const callerId = sql`${idBytes(actorOf(principal))}`;
  const { permission, voter, passkeys } = await preloadDecidable(c, reader, {
    account,
    id: callerId,
  });
  const [found, standing, keys] = await loadNonNull(reader, [permission, voter, passkeys]);
  return { permission: found, voter: standing, passkeys: keys };
}

/**
 * Loads what an unsigned decision on a permission depends on. Decisions whose states are loaded at
 * once with the reader of a page take one round trip.
 */
export async function loadDecision(
  { principal, reader, runtime }: UserContext,
  { id }: { id: Id<'perm'> },
) {
  const queries = selectDecision(reader, {
    account: sql<number>`${principal.account.number}`,
    callerId: sql`${idBytes(actorOf(principal))}`,
    id,
    assertion: undefined,
    now: runtime.now(),
  });
  const [permission, voter] = await loadNonNull(reader, [queries.permission, queries.voter]);
  return { permission, voter };
}

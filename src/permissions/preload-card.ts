import { sql } from 'drizzle-orm';
import { loadNonNull, type Reader } from '../db/database';
import { actorOf } from '../http/activity';
import type { RequestContext, UserContext } from '../http/context';
import type { CallerSql } from '../identity/credentials';
import { idBytes, parseId } from '../lib/typeid';
import { preloadPermissionWithContents } from './contents';
import { selectDecision } from './reviews/preload-decision';
import { selectSigningPasskeys } from './reviews/statement';

/**
 * Preloads what the card of the permission in the path shows: the permission with its contents, how
 * the caller stands to its review, and the caller's passkeys.
 */
export async function preloadCard(
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

/** Loads again what {@link preloadCard} loads, such as after a decision was refused. */
export async function reloadCard(c: RequestContext, { principal, reader }: UserContext) {
  const account = sql<number>`${principal.account.number}`;
  const callerId = sql`${idBytes(actorOf(principal))}`;
  const { permission, voter, passkeys } = await preloadCard(c, reader, {
    account,
    id: callerId,
  });
  const [found, standing, keys] = await loadNonNull(reader, [permission, voter, passkeys]);
  return { permission: found, voter: standing, passkeys: keys };
}

import { and, eq, sql } from 'drizzle-orm';
import { ConstraintError } from '../../../db/database';
import { members } from '../../../db/schema';
import type { RequestContext } from '../../../http/context';
import { createOwner } from '../../../http/oidc/create-owner';
import { readIdentity } from '../../../http/oidc/identity';
import type { Claims } from '../../../http/oidc/jwt';
import type { Challenge } from '../../session/challenge';
import { beginSession } from '../../session/session';
import { failSignIn } from './provider';

/**
 * Signs in the person whom the identity provider names. Somebody who is a member of no account gets one.
 * @returns the secret of the session's cookie
 * @throws Problem `account_inactive`, also for a suspended member; `unauthorized` if the challenge was used before, or the
 *   member was suspended or removed meanwhile; `unavailable`
 */
export async function signInWithIdentity(c: RequestContext, claims: Claims, challenge: Challenge): Promise<string> {
  const identity = await readIdentity(c, claims);
  const { database, shard, account, member } = identity.member ?? (await createOwner(c, identity, claims));
  const isMember = and(
    eq(members.account, account.number),
    eq(members.id, member.id),
    eq(members.identity, identity.key),
    eq(members.status, 'active'),
  );
  const accountIfAllowed = sql<number>`(select ${members.account} from ${members} where ${isMember})`;
  return beginSession(c, {
    ...{ database, shard, account: account.number, member: member.id, accountIfAllowed, challenge },
  }).catch((error: unknown) => {
    if (error instanceof ConstraintError) return failSignIn(c);
    throw error;
  });
}

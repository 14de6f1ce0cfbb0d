import { and, eq } from 'drizzle-orm';
import { members } from '../../db/schema';
import type { RequestContext } from '../../http/context';
import { hasRow } from '../../ledger/guard';
import { proveEmail } from '../prove-email';
import { beginSession, type Proof, SignInRefused } from '../sessions/begin';
import { failSignIn } from './authorization-code';
import { createOwner, readEmail } from './create-owner';
import { readIdentity } from './identity';
import type { Claims } from './jwt';

/**
 * Signs in the person whom the identity provider names. Somebody who is a member of no account gets
 * one.
 * @returns the secret of the session's cookie
 * @throws Problem `account_inactive`, also for a suspended member; `unauthorized` if the challenge
 *   was used before, or the member was suspended or removed meanwhile; `unavailable`
 */
export async function signInWithIdentity(
  c: RequestContext,
  claims: Claims,
  proof: Proof,
): Promise<string> {
  const identity = await readIdentity(c, claims);
  const { database, shard, account, member } =
    identity.member ?? (await createOwner(c, identity, claims));
  const isMember = and(
    eq(members.account, account.number),
    eq(members.id, member.id),
    eq(members.identity, identity.key),
    eq(members.status, 'active'),
  );
  const now = c.var.runtime.now();
  return beginSession(c, {
    database,
    shard,
    account: account.number,
    member: member.id,
    isAllowed: hasRow(members, isMember),
    proof,
    changes: (write) =>
      claims.email_verified === true ? [proveEmail(write, isMember, readEmail(claims), now)] : [],
  }).catch((error: unknown) => {
    if (error instanceof SignInRefused) return failSignIn(c);
    throw error;
  });
}

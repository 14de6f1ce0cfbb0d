import { and, eq, sql } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import { accounts, agents, MEMBER_STATUSES, members } from '../../db/schema';
import { Problem, unavailable } from '../../errors';
import { makeActivityRecord } from '../../http/activity';
import type { RequestContext } from '../../http/context';
import { forgetEntry, redirectIdentity } from '../../identity/oidc/change-entry';
import { provesEmail, readEmail } from '../../identity/oidc/create-owner';
import { JOINING_TIME, makeJoinedEntry } from '../../identity/oidc/directory';
import { type IdentityMember, readIdentity } from '../../identity/oidc/identity';
import type { Claims } from '../../identity/oidc/jwt';
import type { Proof } from '../../identity/sessions/begin';
import { SERVICE_AUTHORITY } from '../../ledger/authority';
import { Ledger } from '../../ledger/ledger';
import { isSameEmailAddress } from '../../lib/email-address';
import { acceptInvitation, type FoundInvitation } from './accept-invitation';
import { removeMemberStatements } from './remove';

/**
 * Accepts an invitation as the person whom the identity provider names, and links that identity to
 * the member.
 *
 * The identity, the person's own account and the invitation may be in three databases. In this
 * order no crash leaves a member active without a way to sign in, or the identity in two accounts:
 * 1. The person leaves their own account, if there is one. After a crash the identity is in no
 *    account; the next sign-in makes a new one, and the invitation can still be accepted.
 * 2. The directory leads to the new account, by an entry that never makes the person its owner.
 *    After a crash sign-ins are refused for {@link JOINING_TIME}; then the next one makes an
 *    account of the person's own. The invitation can be accepted all the time.
 * 3. The member becomes active with the identity, and is signed in: one transaction.
 * @param proof also how the person wants to be called; undefined for as the invitation says
 * @returns the secret of the session's cookie
 * @throws Problem `wrong_credential` unless the provider has verified the invited e-mail address;
 *   `conflict` if the identity belongs to another account that the person cannot leave;
 *   `account_inactive`; `not_found`; `unavailable`
 */
export async function joinWithIdentity(
  c: RequestContext,
  invitation: FoundInvitation,
  claims: Claims,
  proof: Proof & { name: string | undefined },
): Promise<string> {
  requireInvitedEmail(c, invitation, claims);
  const identity = await readIdentity(c, claims);
  const { row, shard } = invitation;
  if (identity.member?.account.id === row.accountId) {
    throw new Problem(
      'conflict',
      'You are a member of this account already. Go back to the console and sign in.',
    );
  }
  if (identity.member) await leaveOwnAccount(c, identity.member, identity.key);
  const entry = makeJoinedEntry({ account: row.accountId, shard }, c.var.runtime.now());
  await redirectIdentity(identity, entry);
  // Well before the entry may be given up.
  if (c.var.runtime.now() >= entry.createdAt + JOINING_TIME / 2) throw unavailable();
  try {
    return await acceptInvitation(c, invitation, {
      ...proof,
      identity: identity.key,
      provesEmail: provesEmail(claims, row.email),
    });
  } catch (error) {
    if (error instanceof Problem && error.code === 'not_found') await forgetEntry(identity, entry);
    throw error;
  }
}

/**
 * @throws Problem `wrong_credential` unless the provider says that the person has the invited
 *   e-mail address: one that it has verified, or about which it says nothing, if the operator
 *   trusts it
 */
function requireInvitedEmail(
  { var: { config } }: RequestContext,
  { row }: FoundInvitation,
  claims: Claims,
): void {
  const email = readEmail(claims);
  const isInvited = row.email !== null && email !== '' && isSameEmailAddress(email, row.email);
  const isLeftOut = claims.email_verified === undefined;
  const isVerified =
    claims.email_verified === true || (isLeftOut && config.oidc?.trustsEmails === true);
  if (isVerified && isInvited) return;
  const unverified = isLeftOut
    ? ', which it has not verified as far as it says'
    : ', which it has not verified';
  const isShown = email !== '' && !/\p{C}/u.test(email);
  const named = isShown
    ? `the address ${email}${isVerified ? '' : unverified}`
    : 'no e-mail address';
  const help =
    isInvited && isLeftOut
      ? 'Its answer lacks `email_verified`. The operator of this service can set OIDC_EMAIL_VERIFIED to "trust", if the ' +
        'provider gives nobody an address that is not theirs. Until then, open the invitation again and join with a passkey.'
      : 'Open the invitation again, and sign in there with the invited address, or join with a passkey.';
  throw new Problem(
    'wrong_credential',
    `The invitation is for ${row.email}, but the identity provider names ${named}. ${help}`,
  );
}

/**
 * Removes a person from an account that nobody else uses.
 * @throws Problem `conflict` if the account has agents or other members
 */
async function leaveOwnAccount(
  c: RequestContext,
  { account, member, database }: IdentityMember,
  key: Uint8Array,
): Promise<void> {
  const found = and(
    eq(members.account, account.number),
    eq(members.id, member.id),
    eq(members.identity, key),
    eq(members.status, 'active'),
  );
  const mayLeave = sql`exists (
    select 1 from ${members} join ${accounts} on ${accounts.number} = ${members.account}
    where ${found} and ${accounts.isActive}
      and not exists (select 1 from ${agents} where ${agents.account} = ${account.number})
      and not exists (
        select 1 from ${members} as other
        where other.account = ${account.number} and other.status <> ${codeOf(MEMBER_STATUSES, 'removed')}
          and other.id <> ${sql.param(member.id, members.id)}
      )
  )`;
  const activity = {
    actor: member.id,
    action: 'member.removed' as const,
    target: member.id,
    changes: [],
  };
  const now = c.var.runtime.now();
  await new Ledger(database, SERVICE_AUTHORITY).change({
    record: makeActivityRecord(c.var, { account: account.number, ...activity }),
    guards: [
      {
        name: 'account_is_only_of_this_person',
        holds: mayLeave,
        otherwise: () =>
          new Problem(
            'conflict',
            'Your identity belongs to another account, which has agents or other members, and it can belong to only one. ' +
              'Join with a passkey, or ask to be removed from the other account.',
          ),
      },
    ],
    changes: (write) => removeMemberStatements(write, account, { id: member.id, found, now }),
    answer: null,
  });
}

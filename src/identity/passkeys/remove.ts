import { and, eq, isNotNull, isNull, or, sql } from 'drizzle-orm';
import { members, passkeys } from '../../db/schema';
import { Problem } from '../../errors';
import { targetExists, userActivity } from '../../http/activity';
import type { UserContext } from '../../http/context';
import { requirePerson } from '../sessions/require-person';

/**
 * Removes a passkey of the member who is signed in: nobody can use it any more, and its row stays,
 * with `removed_at`.
 * @throws Problem as {@link requirePerson}; `not_found`; `conflict` for the last way to sign in
 */
export async function removePasskey(
  context: UserContext,
  { id }: { id: Uint8Array },
): Promise<void> {
  const { principal, runtime, ledger } = context;
  const { id: member } = requirePerson(principal);
  const account = principal.account.number;
  const found = and(
    eq(passkeys.account, account),
    eq(passkeys.id, id),
    eq(passkeys.member, member),
    isNull(passkeys.removedAt),
  );
  const hasOtherPasskey = sql`exists (
    select 1 from ${passkeys} as other indexed by passkeys_by_member
    where other.account = ${account} and other.member = ${sql.param(member, passkeys.member)} and other.removed_at is null
      and other.id <> ${id}
  )`;
  const hasIdentity = sql`exists (
    select 1 from ${members} where ${eq(members.account, account)} and ${eq(members.id, member)} and ${isNotNull(members.identity)}
  )`;
  const canSignInOtherwise = context.config.oidc?.client
    ? or(hasOtherPasskey, hasIdentity)
    : hasOtherPasskey;
  const canSignIn = sql`exists (select 1 where ${canSignInOtherwise})`;
  await ledger.change({
    record: userActivity(context, 'passkey.removed', member),
    guards: [
      targetExists('passkey', passkeys, found),
      {
        name: 'member_can_sign_in_otherwise',
        holds: canSignIn,
        otherwise: () =>
          new Problem('conflict', 'This is your last way to sign in. Add another passkey first.'),
      },
    ],
    changes: (write) => [write.update(passkeys).set({ removedAt: runtime.now() }).where(found)],
    answer: null,
  });
}
